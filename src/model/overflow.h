// Few backends have an error of its own for a conversation that is too long; most say so in words,
// and proxies pass on the words of whoever is behind them. Pure function.
#pragma once

#include <string_view>

namespace reef::model {

bool says_too_long(std::string_view message);

}  // namespace reef::model
