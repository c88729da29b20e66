// The field allowed-tools: names of tools, of bash also with how a command must begin:
// `read grep bash(git:*)`. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace reef::skills {

// At spaces and commas that are not in brackets.
std::vector<std::string> split_allowed(std::string_view text);
// Why an item lets nothing through; empty: it may.
std::string problem_of(std::string_view item);

// Whether a call is let through. Names are compared without case: Read is read. A command for which
// a beginning is demanded must be one simple command.
bool allows(std::span<const std::string> allowed, std::string_view tool,
            const json::object& arguments);

}  // namespace reef::skills
