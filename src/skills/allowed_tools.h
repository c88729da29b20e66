// Parses the field allowed-tools: names of tools; bash may also name how a command must begin:
// `read grep bash(git:*)`. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace reef::skills {

// Splits at spaces and commas outside of brackets.
std::vector<std::string> split_allowed(std::string_view text);
// Says why an item allows nothing; empty when it is fine.
std::string problem_of(std::string_view item);

// Tells whether a call is allowed. Names are compared without case: Read is read. If a beginning is
// given, the command must be one simple command.
bool allows(std::span<const std::string> allowed, std::string_view tool,
            const json::object& arguments);

}  // namespace reef::skills
