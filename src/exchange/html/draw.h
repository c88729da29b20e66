// What render/ makes of words, code and changes, as HTML: no tags but ours, links only to where a
// person may want to go, no pictures from elsewhere. Pure.
#pragma once

#include <string>
#include <string_view>

#include "render/markdown.h"

namespace reef::exchange::html {

// Text that is too long or too deeply nested is shown as it is.
std::string rich_text(std::string_view markdown, render::Breaks breaks);

// Escaped, in spans of class c (comment), s (string), n (number), k (keyword), t (type),
// f (function), and for differences a (added), d (removed), h (heading). A language that is not
// known is only escaped.
std::string highlighted(std::string_view language, std::string_view code);

// A unified diff as tables of numbered lines, a file each, with the changed words marked; empty
// when the text is none.
std::string drawn_diff(std::string_view unified);

}  // namespace reef::exchange::html
