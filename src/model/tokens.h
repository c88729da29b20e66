// Rough token counts for backends that report none: four bytes per token. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/provider.h"

namespace reef::model {

std::int64_t estimate_tokens(std::string_view text);
std::int64_t estimate_tokens(const Request& request);

}  // namespace reef::model
