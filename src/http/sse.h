// Server-sent events, read by the rules of the WHATWG HTML standard: lines end in CR, LF or CRLF,
// a byte order mark may come first, comments and unknown fields mean nothing. Bytes may come in any
// cut. Loop thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::http::sse {

struct Event {
  std::string type;  // empty: not named, which the standard calls "message"
  std::string data;
};

// More than any event of a model's stream.
inline constexpr std::size_t kEventBytesMax = 16U << 20;

class Parser {
 public:
  explicit Parser(std::size_t event_bytes_max = kEventBytesMax) : bytes_max_(event_bytes_max) {}

  void feed(std::string_view bytes) { buffer_ += bytes; }
  // The next whole event, nullopt until more bytes come. `too_large` when an event or a line grows
  // beyond the bound; nothing can be read from then on.
  Result<std::optional<Event>> next();
  // The stream is over: an event that only lacks its blank line. The standard drops it; some
  // servers forget the line.
  std::optional<Event> rest();

  // For whoever takes the stream up again: the id of the last event, also of one without data, and
  // how long the server wants it to wait. Empty and none until said.
  const std::string& last_id() const { return last_id_; }
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

 private:
  void take_line(std::string_view line);
  std::optional<Event> dispatch();

  std::size_t bytes_max_;
  std::string buffer_;
  std::size_t start_ = 0;  // of the first line not taken yet
  std::size_t seen_ = 0;   // no line ends before this
  bool fresh_ = true;      // nothing was read yet: a byte order mark may stand here
  bool skip_lf_ = false;   // the last line ended in CR
  bool too_large_ = false;
  bool has_data_ = false;
  Event event_;
  std::string id_, last_id_;
  std::optional<std::chrono::milliseconds> retry_;
};

}  // namespace reef::http::sse
