// Breaks lines to a width. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "render/text.h"

namespace reef::render {

// Breaks at spaces, which are dropped there; behind hyphens and between ideographs; a longer word
// behind the signs that separate the parts of addresses and paths; and where nothing else fits,
// between any two characters. Nothing else is lost or added. A newline in a span ends a line.
// At least one line. `width` is at least 1; a character of two cells in one cell stands alone.
std::vector<Line> wrap(const Line& line, std::size_t width);

// Breaks wherever the width ends, and drops nothing: for code. At least one line.
std::vector<Line> cut(const Line& line, std::size_t width);

}  // namespace reef::render
