#include "rpc/lines.h"

#include <utility>

namespace reef::rpc {
namespace {

// Consumed bytes are removed once there are enough to be worth moving the rest.
constexpr std::size_t kShrinkBytes = 64U << 10;

}  // namespace

std::optional<std::string> Lines::next() {
  for (;;) {
    const auto end = buffer_.find('\n', seen_);
    if (end == std::string::npos) {
      seen_ = buffer_.size();
      if (dropping_) start_ = seen_;
      if (seen_ - start_ > bytes_max_) {
        dropping_ = true;
        ++dropped_;
        start_ = seen_;
      }
      if (start_ >= kShrinkBytes || start_ == buffer_.size()) {
        buffer_.erase(0, start_);
        seen_ -= std::exchange(start_, 0);
      }
      return std::nullopt;
    }
    auto line = std::string_view(buffer_).substr(start_, end - start_);
    start_ = seen_ = end + 1;
    if (std::exchange(dropping_, false)) continue;
    if (line.size() > bytes_max_) {
      ++dropped_;
      continue;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    return std::string(line);
  }
}

}  // namespace reef::rpc
