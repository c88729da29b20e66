// Parses server-sent events by the rules of the WHATWG HTML standard: lines end in CR, LF or CRLF,
// a byte order mark may come first, comments and unknown fields are ignored. The bytes may arrive
// in pieces of any size. Loop thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::http::sse {

struct Event {
  std::string type;  // empty when not named, which the standard calls "message"
  std::string data;
};

// Larger than any event of a model's stream.
inline constexpr std::size_t kEventBytesMax = 16U << 20;

class Parser {
 public:
  explicit Parser(std::size_t event_bytes_max = kEventBytesMax) : bytes_max_(event_bytes_max) {}

  void feed(std::string_view bytes) { buffer_ += bytes; }
  // Returns the next whole event; nullopt until more bytes come. Fails with `too_large` when an
  // event or a line exceeds the bound; every later call fails, too.
  Result<std::optional<Event>> next();
  // Call it at the end of the stream: returns an event that lacks only its blank line. The standard
  // drops such an event, but some servers forget the line.
  std::optional<Event> rest();

  // For resuming the stream: the id of the last event, also of one without data, and how long the
  // server wants the client to wait. Empty and nullopt until the server says so.
  const std::string& last_id() const { return last_id_; }
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

 private:
  void take_line(std::string_view line);
  std::optional<Event> dispatch();

  std::size_t bytes_max_;
  std::string buffer_;
  std::size_t start_ = 0;  // where the first unread line begins
  std::size_t seen_ = 0;   // no line ends before this
  bool fresh_ = true;      // nothing was read yet, so a byte order mark may come
  bool skip_lf_ = false;   // the last line ended in CR
  bool too_large_ = false;
  bool has_data_ = false;
  Event event_;
  std::string id_, last_id_;
  std::optional<std::chrono::milliseconds> retry_;
};

}  // namespace reef::http::sse
