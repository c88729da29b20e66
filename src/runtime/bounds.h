// What delegated work may reach, kept with its session: whoever speaks there later, it stays
// within. Pure functions.
#pragma once

#include "base/json.h"
#include "runtime/agent.h"

namespace reef::runtime {

// Of a session's metadata.
inline constexpr std::string_view kBoundsField = "bounds";

// The bounds of an agent that was narrowed (scope.h).
json::object bounds_of(const Agent& agent);
// As configured, within these bounds. What cannot be read of them lets nothing through.
Agent within(Agent agent, const json::object& bounds);

}  // namespace reef::runtime
