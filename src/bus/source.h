// Names of events and patterns of them: parts between colons, `agent:scout:done`; in a pattern a
// part may be `*`, which stands for exactly one. Pure functions.
#pragma once

#include <string_view>

#include "base/result.h"

namespace reef::bus {

inline constexpr std::size_t kSourceBytesMax = 200;
inline constexpr std::size_t kPartsMax = 16;

// invalid says what is wrong.
Status check_source(std::string_view source);  // of an event: no `*`
Status check_pattern(std::string_view pattern);

bool matches(std::string_view pattern, std::string_view source);

}  // namespace reef::bus
