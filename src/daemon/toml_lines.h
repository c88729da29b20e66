// TOML as text that is edited line by line. Used by the .cpp files of daemon/ only. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reef::daemon {

using Lines = std::vector<std::string>;

Lines split_lines(std::string_view text);
// Each with a newline behind it.
std::string join_lines(const Lines& lines);
// A text as TOML writes it.
std::string toml_quoted(std::string_view text);

}  // namespace reef::daemon
