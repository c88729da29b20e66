// TOML as text that is edited line by line, so that what a person wrote around it stays. Pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reef {

using Lines = std::vector<std::string>;

Lines split_lines(std::string_view text);
// Joins lines, with a newline after each.
std::string join_lines(const Lines& lines);
// The text as a quoted TOML string.
std::string toml_quoted(std::string_view text);

}  // namespace reef
