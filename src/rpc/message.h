// One message of JSON-RPC 2.0: reading those of others, which are never trusted, and making ours.
// Parameters and results are objects, as in every protocol of ours. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace reef::rpc {

// Larger than any answer that we could use.
inline constexpr std::size_t kMessageBytesMax = 16U << 20;

inline constexpr std::int64_t kParseError = -32700;
inline constexpr std::int64_t kInvalidRequest = -32600;
inline constexpr std::int64_t kMethodNotFound = -32601;
inline constexpr std::int64_t kInvalidParams = -32602;
inline constexpr std::int64_t kInternalError = -32603;
// The codes that MCP adds.
inline constexpr std::int64_t kHeaderMismatch = -32020;
inline constexpr std::int64_t kMissingCapability = -32021;
inline constexpr std::int64_t kUnsupportedVersion = -32022;

struct Refusal {
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
  json::object result;           // for an answer
  std::optional<Refusal> error;  // for an answer that reports an error
};

// Fails with `invalid` when it is not one message (received.h reads batches). An answer whose
// result is not an object counts as an error; parameters that are not an object are left out.
Result<Message> message_from_value(json::value value);
// The same for text, also for text that is broken in its characters only.
Result<Message> message_from(std::string_view text);

// Whether a value may be the id of a request.
bool is_id(const json::value& id);

json::object make_request(std::int64_t id, std::string_view method, json::object params);
json::object make_notification(std::string_view method, json::object params);
json::object make_result(const json::value& id, json::object result);
json::object make_error(const json::value& id, Refusal refusal);

}  // namespace reef::rpc
