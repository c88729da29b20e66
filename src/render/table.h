// A table of Markdown in cells. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "render/markdown.h"

namespace reef::render {

std::vector<Line> table_lines(const Block& table, std::size_t width);

}  // namespace reef::render
