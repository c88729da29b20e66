// Translates CrabTalk's schedules into reef-cron's. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::exchange {

// Turns "sec min hour dom mon dow [year]", in UTC and with Sunday as 1, into "UTC min hour dom mon
// dow". Half-minutes and years have no counterpart and are invalid.
Result<std::string> crabtalk_schedule(std::string_view text);

}  // namespace reef::exchange
