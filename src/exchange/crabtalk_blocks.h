// Messages as CrabTalk keeps them since 0.0.22, with lists of blocks, as the flat ones it kept
// before: one line may become several, for each tool's result has one of its own. Pure.
#pragma once

#include <vector>

#include "base/json.h"

namespace reef::exchange {

std::vector<json::object> flat_lines(json::object line);

}  // namespace reef::exchange
