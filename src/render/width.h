// How many cells text takes on a terminal, one character as people see it (a grapheme) at a time.
// Pure functions; text is valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reef::render {

// People see this as one character: a letter with its accents, an emoji with its joiners.
struct Grapheme {
  std::string_view bytes;
  std::size_t cells = 0;  // 0, 1 or 2
};

// The first one of a text that is not empty.
Grapheme first_grapheme(std::string_view text);

std::size_t width(std::string_view text);
// The longest beginning that takes at most so many cells, in whole graphemes.
std::string_view prefix_of_width(std::string_view text, std::size_t cells);
// The same text, or a beginning of it and "…", in at most so many cells.
std::string fitted(std::string_view text, std::size_t cells);

}  // namespace reef::render
