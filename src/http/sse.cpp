#include "http/sse.h"

#include <charconv>

#include <fmt/format.h>

namespace reef::http::sse {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// Consumed bytes are removed once there are enough to be worth moving the rest.
constexpr std::size_t kShrinkBytes = 4096;
constexpr std::size_t kIdBytesMax = 4096;

}  // namespace

Result<std::optional<Event>> Parser::next() {
  if (fresh_ && !buffer_.empty()) {
    const auto head = std::string_view(buffer_).substr(0, kByteOrderMark.size());
    if (head.size() < kByteOrderMark.size() && kByteOrderMark.starts_with(head))
      return std::optional<Event>();
    if (head == kByteOrderMark) start_ = seen_ = head.size();
    fresh_ = false;
  }
  for (;;) {
    if (too_large_)
      return Error(Errc::too_large,
                   fmt::format("an event of the stream is larger than {} bytes", bytes_max_));
    if (skip_lf_ && start_ < buffer_.size()) {
      if (buffer_[start_] == '\n') seen_ = ++start_;
      skip_lf_ = false;
    }
    const auto end = buffer_.find_first_of("\r\n", seen_);
    if (end == std::string::npos) {
      seen_ = buffer_.size();
      if (start_ >= kShrinkBytes || start_ == buffer_.size()) {
        buffer_.erase(0, start_);
        seen_ -= std::exchange(start_, 0);
      }
      if (buffer_.size() - start_ > bytes_max_) {
        too_large_ = true;
        continue;
      }
      return std::optional<Event>();
    }
    const auto line = std::string_view(buffer_).substr(start_, end - start_);
    skip_lf_ = buffer_[end] == '\r';
    start_ = seen_ = end + 1;
    if (!line.empty()) {
      take_line(line);
    } else if (auto event = dispatch()) {
      return event;
    }
  }
}

std::optional<Event> Parser::rest() {
  if (too_large_) return std::nullopt;
  const auto line = std::string_view(buffer_).substr(start_);
  if (!line.empty()) take_line(line);
  buffer_.clear();
  start_ = seen_ = 0;
  return dispatch();
}

void Parser::take_line(std::string_view line) {
  const auto colon = line.find(':');
  const auto field = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    event_.type = value;
  } else if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (field == "id") {
    // The standard ignores an id with a NUL; a huge one would have to be sent back in a header.
    if (value.size() <= kIdBytesMax && value.find('\0') == std::string_view::npos) id_ = value;
  } else if (field == "retry") {
    std::int64_t wait = 0;
    const auto* end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, wait);
    if (!value.empty() && value[0] != '-' && read.ec == std::errc() && read.ptr == end)
      retry_ = std::chrono::milliseconds(wait);
  }
  if (event_.data.size() + event_.type.size() > bytes_max_) too_large_ = true;
}

std::optional<Event> Parser::dispatch() {
  auto event = std::exchange(event_, Event());
  last_id_ = id_;
  if (!std::exchange(has_data_, false)) return std::nullopt;
  return event;
}

}  // namespace reef::http::sse
