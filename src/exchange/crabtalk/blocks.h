// Turns messages with lists of blocks, as CrabTalk keeps them since 0.0.22, into the flat lines it
// kept before. One line may become several, because each tool result gets its own. Pure.
#pragma once

#include <vector>

#include "base/json.h"

namespace reef::exchange {

std::vector<json::object> flat_lines(json::object line);

}  // namespace reef::exchange
