// Tells a model about the machine its tools work on.
#pragma once

#include <string>

#include "base/clock.h"

namespace reef::hooks::os {

// Names the system, shell, folder and day. It has no time of day, so that the prompt stays the same
// for a while and backends can cache it. An empty folder means the conversation's own.
std::string environment_block(const std::string& folder, TimePoint now);

}  // namespace reef::hooks::os
