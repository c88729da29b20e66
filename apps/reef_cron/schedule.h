// Tells when a job is due. Pure functions; local time is the process's.
#pragma once

#include <array>
#include <bitset>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::cron {

// "*/5 9-17 * * 1-5" (minute, hour, day of month, month, day of week with 0 or 7 for Sunday),
// "@hourly", "@daily", "@weekly", "@monthly", or "@every 90s" (s, m, h, d). "UTC " before the
// fields makes them UTC.
class Schedule {
 public:
  // Errors name the field.
  static Result<Schedule> parse(std::string_view text);

  const std::string& text() const { return text_; }
  // The first moment after `after`; nullopt when there is none within four years (30 February).
  std::optional<std::time_t> next(std::time_t after) const;

 private:
  bool on_day(const std::tm& local) const;
  std::tm broken_down(std::time_t at) const;

  std::string text_;
  std::time_t every_ = 0;  // seconds; 0: the fields below count
  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<13> months_;
  std::bitset<7> weekdays_;
  bool any_day_ = false, any_weekday_ = false, utc_ = false;
};

}  // namespace reef::cron
