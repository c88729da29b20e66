// JSON-RPC 2.0 as MCP uses it: reading messages, making ours, and splitting bytes into lines. The
// input is foreign and never trusted. Pure, except for Lines, which belongs to one reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace reef::mcp {

// Larger than any answer that we could use.
inline constexpr std::size_t kMessageBytesMax = 16U << 20;

inline constexpr std::int64_t kMethodNotFound = -32601;
inline constexpr std::int64_t kInvalidParams = -32602;
inline constexpr std::int64_t kInternalError = -32603;
inline constexpr std::int64_t kHeaderMismatch = -32020;
inline constexpr std::int64_t kMissingCapability = -32021;
inline constexpr std::int64_t kUnsupportedVersion = -32022;

struct RpcError {
  std::int64_t code = 0;
  std::string message;
  json::value data = nullptr;
};

struct Message {
  enum class Kind : std::uint8_t { request, notification, answer };
  Kind kind = Kind::notification;
  json::value id = nullptr;  // a number or a string; null in an answer to an unreadable request
  std::string method;        // for a request or notification
  json::object params;
  json::object result;            // for an answer
  std::optional<RpcError> error;  // for an answer that reports an error
};

// Fails with `invalid` when the text is not a message. No revision we speak has batches, so a batch
// fails. An answer whose result is not an object counts as an error.
Result<Message> message_from(std::string_view text);

json::object make_request(std::int64_t id, std::string_view method, json::object params);
json::object make_notification(std::string_view method, json::object params);
json::object make_result(const json::value& id, json::object result);
json::object make_error(const json::value& id, std::int64_t code, std::string_view message);

// Splits bytes into lines, wherever the pieces were cut. A line beyond the limit is dropped and
// counted, and reading goes on after it.
class Lines {
 public:
  explicit Lines(std::size_t line_bytes_max = kMessageBytesMax) : bytes_max_(line_bytes_max) {}

  void feed(std::string_view bytes) { buffer_ += bytes; }
  // Returns the next line that is not blank, without its end; nullopt until more bytes come.
  std::optional<std::string> next();
  std::size_t dropped() const { return dropped_; }

 private:
  std::size_t bytes_max_;
  std::string buffer_;
  std::size_t start_ = 0;
  std::size_t seen_ = 0;   // no line ends before this
  bool dropping_ = false;  // inside a line that is too long
  std::size_t dropped_ = 0;
};

}  // namespace reef::mcp
