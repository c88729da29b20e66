// Compares two lists, such as the lines of a text or the words of a line. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace reef::render {

enum class Change : char { keep = ' ', remove = '-', add = '+' };

// The steps that make `after` of `before`. Lines that stand once in both hold the rest in place, as
// people would read it; between them the way is the shortest one. Very different lists give a right
// answer that is not the shortest: time is bounded by about a thousand differences in a row.
std::vector<Change> compare(std::span<const std::string_view> before,
                            std::span<const std::string_view> after);

// The lines of a text, each with its newline.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace reef::render
