// Blocks as lines of a width, for faces made of cells. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "render/markdown.h"

namespace reef::render {

// The lines of a block, without a blank line before or behind it. Each is at most `width` cells
// wide, but where lists and quotes within each other leave fewer than eight cells for words, or a
// character takes more room than there is. `width` is at least 1.
// Code is broken where it does not fit, so that nothing of it is lost; a table whose columns do not
// fit wraps its cells, and one that is still too wide is shown a row under the other.
std::vector<Line> lay_out(const Block& block, std::size_t width);

// The same for blocks that follow each other, with a blank line between those that want one.
std::vector<Line> lay_out(const std::vector<Block>& blocks, std::size_t width);

}  // namespace reef::render
