// Colours for code: comments, strings, numbers, words of the language. Not a parser: it is never
// wrong about what the text says, only sometimes about its colour. Pure, linear time.
#pragma once

#include <string>
#include <string_view>

namespace reef::exchange::html {

// Escaped, in spans of class c (comment), s (string), n (number), k (keyword), f (function), and
// for differences a (added), d (removed), h (heading). A language that is not known is only
// escaped.
std::string highlighted(std::string_view language, std::string_view code);

}  // namespace reef::exchange::html
