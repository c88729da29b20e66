// Turns what somebody wrote, usually Markdown, into harmless HTML: no tags of its own, links only
// to where a person may want to go, no pictures from elsewhere. Pure.
#pragma once

#include <string>
#include <string_view>

namespace reef::exchange::html {

enum class Breaks : std::uint8_t {
  soft,  // a line goes on in the next, as Markdown says
  hard,  // every line is one, as people type
};

// Text that is too long or too deeply nested is shown as it is.
std::string rich_text(std::string_view markdown, Breaks breaks);

}  // namespace reef::exchange::html
