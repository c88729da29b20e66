// Makes any text safe inside a page. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace reef::exchange::html {

// Safe as content and in attributes in double quotes: no mark-up, no control characters, valid
// UTF-8.
std::string escaped(std::string_view text);
// The same on one line, cut after so many characters.
std::string escaped_line(std::string_view text, std::size_t chars_max);
// A program's output without the codes that colour it on a terminal.
std::string escaped_output(std::string_view text);

}  // namespace reef::exchange::html
