// When a conversation gets a new session. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace reef::runtime {

struct Expiry {
  int idle_minutes = 0;              // 0: never
  std::optional<int> daily_minutes;  // after midnight, local time; none: never
};

// Whether a session last used at `used` has expired for a message that comes at `now`.
bool is_expired(const Expiry& rule, TimePoint used, TimePoint now);

// "/new" or "/reset", alone or before other words: the words that follow, else nullopt.
std::optional<std::string> after_reset_command(std::string_view content);

}  // namespace reef::runtime
