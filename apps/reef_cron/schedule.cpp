#include "schedule.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::cron {
namespace {

constexpr std::time_t kMinute = 60, kHour = 3600, kDay = 86'400;
constexpr std::time_t kHorizon = 4 * 366 * kDay;

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

struct Field {
  std::string_view name;
  int min, max;
};

// Reads "*", "5", "1-5", "*/15", "10-40/5" and lists of them.
template <std::size_t N>
Status read_field(std::string_view text, const Field& field, std::bitset<N>& into) {
  const auto refuse = [&](std::string_view part) -> Status {
    return Error(Errc::invalid, fmt::format("{}: '{}' is not a number, range or step from {} to {}",
                                            field.name, utf8::excerpt(part), field.min, field.max));
  };
  for (const auto part : split(text, ',')) {
    const auto slash = part.find('/');
    const auto range = part.substr(0, slash);
    int step = 1;
    if (slash != std::string_view::npos) {
      const auto given = number(part.substr(slash + 1));
      if (!given || *given < 1) return refuse(part);
      step = *given;
    }
    int from = field.min, to = field.max;
    if (range != "*") {
      const auto dash = range.find('-');
      const auto first = number(range.substr(0, dash));
      if (!first) return refuse(part);
      from = *first;
      to = slash == std::string_view::npos ? from : field.max;
      if (dash != std::string_view::npos) {
        const auto last = number(range.substr(dash + 1));
        if (!last) return refuse(part);
        to = *last;
      }
    }
    if (from < field.min || to > field.max || from > to) return refuse(part);
    for (int i = from; i <= to; i += step) into.set(static_cast<std::size_t>(i) % N);
  }
  return Ok{};
}

Result<std::time_t> read_interval(std::string_view text) {
  const auto refuse = Error(Errc::invalid, "@every needs a span like 90s, 5m, 2h or 1d");
  if (text.size() < 2) return refuse;
  const auto count = number(text.substr(0, text.size() - 1));
  std::time_t unit = 0;
  switch (text.back()) {
    case 's':
      unit = 1;
      break;
    case 'm':
      unit = kMinute;
      break;
    case 'h':
      unit = kHour;
      break;
    case 'd':
      unit = kDay;
      break;
    default:
      return refuse;
  }
  if (!count || *count < 1 || *count > kHorizon / unit) return refuse;
  return *count * unit;
}

std::string_view spelled_out(std::string_view text) {
  if (text == "@hourly") return "0 * * * *";
  if (text == "@daily") return "0 0 * * *";
  if (text == "@weekly") return "0 0 * * 0";
  if (text == "@monthly") return "0 0 1 * *";
  return text;
}

}  // namespace

Result<Schedule> Schedule::parse(std::string_view text) {
  Schedule out;
  out.text_ = std::string(text);
  constexpr std::string_view kEvery = "@every ";
  if (text.starts_with(kEvery)) {
    REEF_TRY(out.every_, read_interval(text.substr(kEvery.size())));
    return out;
  }
  constexpr std::string_view kUtc = "UTC ";
  out.utc_ = text.starts_with(kUtc);
  const auto rest = out.utc_ ? text.substr(kUtc.size()) : text;
  std::vector<std::string_view> fields;
  for (const auto field : split(spelled_out(rest), ' '))
    if (!field.empty()) fields.push_back(field);
  if (fields.size() != 5)
    return Error(
        Errc::invalid,
        fmt::format("'{}' must have five fields (minute, hour, day, month, weekday), or be "
                    "@hourly, @daily, @weekly, @monthly or @every SPAN",
                    utf8::excerpt(text)));
  REEF_CHECK(read_field(fields[0], {"minute", 0, 59}, out.minutes_));
  REEF_CHECK(read_field(fields[1], {"hour", 0, 23}, out.hours_));
  REEF_CHECK(read_field(fields[2], {"day", 1, 31}, out.days_));
  REEF_CHECK(read_field(fields[3], {"month", 1, 12}, out.months_));
  REEF_CHECK(read_field(fields[4], {"weekday", 0, 7}, out.weekdays_));
  out.any_day_ = fields[2] == "*";
  out.any_weekday_ = fields[4] == "*";
  return out;
}

// As in cron, when both days are restricted, one of them is enough.
bool Schedule::on_day(const std::tm& local) const {
  if (!months_.test(static_cast<std::size_t>(local.tm_mon) + 1)) return false;
  const bool day = days_.test(static_cast<std::size_t>(local.tm_mday));
  const bool weekday = weekdays_.test(static_cast<std::size_t>(local.tm_wday));
  if (any_day_ || any_weekday_) return (any_day_ || day) && (any_weekday_ || weekday);
  return day || weekday;
}

std::tm Schedule::broken_down(std::time_t at) const {
  std::tm out = {};
  if (utc_) {
    ::gmtime_r(&at, &out);
  } else {
    ::localtime_r(&at, &out);
  }
  return out;
}

std::optional<std::time_t> Schedule::next(std::time_t after) const {
  if (every_ > 0) return after + every_;
  const auto end = after + kHorizon;
  // Steps by minutes of real time, so that a changed clock needs no special case; days and hours
  // that do not fit are skipped in one step.
  for (auto at = after - after % kMinute + kMinute; at < end;) {
    const auto local = broken_down(at);
    if (!on_day(local)) {
      at += (60 - local.tm_min) * kMinute + (local.tm_hour < 22 ? (22 - local.tm_hour) * kHour : 0);
    } else if (!hours_.test(static_cast<std::size_t>(local.tm_hour))) {
      at += (60 - local.tm_min) * kMinute;
    } else if (!minutes_.test(static_cast<std::size_t>(local.tm_min))) {
      at += kMinute;
    } else {
      return at;
    }
  }
  return std::nullopt;
}

}  // namespace reef::cron
