// Writes text for systemd. It installs nothing: that folder is the user's.
#pragma once

#include <string>
#include <vector>

#include "component/component.h"

namespace reef::component {

// A user unit that keeps `command` running.
std::string systemd_unit(const Service& service, const std::vector<std::string>& command);

}  // namespace reef::component
