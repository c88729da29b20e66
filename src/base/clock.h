// The time of day comes in through an interface so that tests own it. What waits counts by the time
// of its loop (base/loop_time.h). Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reef {

// Wall time with the precision transcripts keep.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

constexpr std::int64_t unix_millis(TimePoint time) {
  return time.time_since_epoch().count();
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
};

// ISO 8601 in UTC with milliseconds: 2026-01-02T03:04:05.678Z
std::string format_iso(TimePoint time);
// The same without taking memory, for many of them.
class IsoText {
 public:
  explicit IsoText(TimePoint time);
  std::string_view text() const { return {bytes_, size_}; }

 private:
  char bytes_[32];
  std::size_t size_;
};
// Accepts what format_iso writes and what others write: fraction of any length or none, Z or
// ±hh:mm.
std::optional<TimePoint> parse_iso(std::string_view text);

}  // namespace reef
