// Names of events are parts between colons: `agent:scout:done`. In a pattern a part may be `*`,
// which stands for exactly one. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::bus {

inline constexpr std::size_t kSourceBytesMax = 200;
inline constexpr std::size_t kPartsMax = 16;

// The error, `invalid`, says what is wrong.
Status check_source(std::string_view source);  // for the name of an event: no `*`
Status check_pattern(std::string_view pattern);

// Renames the agent in a name or pattern that begins with agent:NAME:.
std::string with_agent_renamed(const std::string& source, std::string_view from,
                               std::string_view to);

bool matches(std::string_view pattern, std::string_view source);

}  // namespace reef::bus
