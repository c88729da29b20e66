#include "runtime/reset.h"

#include <ctime>

#include "base/text.h"

namespace reef::runtime {
namespace {

// The last time before `now` that the local clock showed this minute of the day.
TimePoint latest_daily(int minutes, TimePoint now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm local = {};
  ::localtime_r(&seconds, &local);
  local.tm_hour = minutes / 60;
  local.tm_min = minutes % 60;
  local.tm_sec = 0;
  local.tm_isdst = -1;
  auto then = std::mktime(&local);
  if (then > seconds) {
    local.tm_mday -= 1;
    local.tm_isdst = -1;
    then = std::mktime(&local);
  }
  return TimePoint(std::chrono::seconds(then));
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

bool is_expired(const Expiry& rule, TimePoint used, TimePoint now) {
  if (rule.idle_minutes > 0 && now - used > std::chrono::minutes(rule.idle_minutes)) return true;
  return rule.daily_minutes && used < latest_daily(*rule.daily_minutes, now);
}

std::optional<std::string> after_reset_command(std::string_view content) {
  const auto text = trim(content);
  for (const std::string_view command : {"/new", "/reset"}) {
    if (text.size() < command.size()) continue;
    bool same = true;
    for (std::size_t i = 0; i < command.size(); ++i) same = same && lower(text[i]) == command[i];
    if (!same) continue;
    const auto rest = text.substr(command.size());
    if (rest.empty() || is_space(rest.front())) return std::string(trim(rest));
  }
  return std::nullopt;
}

}  // namespace reef::runtime
