// Recognises the error of a conversation that is too long. Few backends have a code for it; most
// say so in words, and proxies pass on the words of the backend behind them. Pure function.
#pragma once

#include <string_view>

namespace reef::model {

bool says_too_long(std::string_view message);

}  // namespace reef::model
