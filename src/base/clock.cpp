#include "base/clock.h"

#include <charconv>

#include <fmt/format.h>

namespace reef {
namespace chrono = std::chrono;

TimePoint SystemClock::now() const {
  return chrono::floor<chrono::milliseconds>(chrono::system_clock::now());
}

namespace {

// Writes over the zeros that end at `end`.
void put_digits(char* end, unsigned number) {
  for (; number > 0; number /= 10) *--end = static_cast<char>('0' + number % 10);
}

}  // namespace

IsoText::IsoText(TimePoint time) {
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss<chrono::milliseconds> clock(time - day);
  // Every line of a transcript has a time, and fmt takes ten times as long.
  if (const int year = int(date.year()); year >= 0 && year <= 9999) {
    constexpr std::string_view kZeros = "0000-00-00T00:00:00.000Z";
    size_ = kZeros.copy(bytes_, sizeof bytes_);
    put_digits(bytes_ + 4, unsigned(year));
    put_digits(bytes_ + 7, unsigned(date.month()));
    put_digits(bytes_ + 10, unsigned(date.day()));
    put_digits(bytes_ + 13, unsigned(clock.hours().count()));
    put_digits(bytes_ + 16, unsigned(clock.minutes().count()));
    put_digits(bytes_ + 19, unsigned(clock.seconds().count()));
    put_digits(bytes_ + 23, unsigned(clock.subseconds().count()));
    return;
  }
  const auto end = fmt::format_to_n(
      bytes_, sizeof bytes_, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int(date.year()),
      unsigned(date.month()), unsigned(date.day()), clock.hours().count(), clock.minutes().count(),
      clock.seconds().count(), clock.subseconds().count());
  size_ = static_cast<std::size_t>(end.out - bytes_);
}

std::string format_iso(TimePoint time) {
  return std::string(IsoText(time).text());
}

namespace {

// Takes exactly `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  const auto* end = text.data() + digits;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<TimePoint> parse_iso(std::string_view text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day || (!take(text, 'T') && !take(text, ' '))) return std::nullopt;
  const auto hour = take_number(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second) return std::nullopt;

  int millis = 0;
  if (take(text, '.')) {
    int scale = 100;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      millis += (text.front() - '0') * scale;
      scale /= 10;
      text.remove_prefix(1);
    }
  }

  chrono::minutes offset{0};
  if (!take(text, 'Z')) {
    const bool ahead = take(text, '+');
    if (!ahead && !take(text, '-')) return std::nullopt;
    const auto offset_hours = take_number(text, 2);
    if (!offset_hours) return std::nullopt;
    take(text, ':');
    const auto offset_minutes = take_number(text, 2);
    if (!offset_minutes) return std::nullopt;
    offset = chrono::hours(*offset_hours) + chrono::minutes(*offset_minutes);
    if (!ahead) offset = -offset;
  }
  if (!text.empty()) return std::nullopt;

  const chrono::year_month_day date{chrono::year(*year), chrono::month(unsigned(*month)),
                                    chrono::day(unsigned(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return TimePoint(chrono::sys_days(date)) + chrono::hours(*hour) + chrono::minutes(*minute) +
         chrono::seconds(*second) + chrono::milliseconds(millis) - offset;
}

}  // namespace reef
