// What a model is told of the machine its tools work on.
#pragma once

#include <string>

#include "base/clock.h"

namespace reef::hooks::os {

// System, shell, folder and day; the day alone, so that a prompt stays the same for a while and
// backends can keep it. An empty folder means that of the conversation itself.
std::string environment_block(const std::string& folder, TimePoint now);

}  // namespace reef::hooks::os
