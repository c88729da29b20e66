// The limits of delegated work, kept with its session: they hold for whoever speaks there later.
// Pure functions.
#pragma once

#include "base/json.h"
#include "runtime/agent.h"

namespace reef::runtime {

// A field of a session's metadata.
inline constexpr std::string_view kBoundsField = "bounds";

// The bounds of an agent that was narrowed (scope.h).
json::object bounds_of(const Agent& agent);
// Puts a configured agent within these bounds. Bounds that cannot be read let nothing through.
Agent within(Agent agent, const json::object& bounds);

}  // namespace reef::runtime
