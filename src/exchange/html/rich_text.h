// What somebody wrote, Markdown as a rule, as HTML that can do nothing: no tags of its own, links
// only to where a person may want to go, no pictures from elsewhere. Pure.
#pragma once

#include <string>
#include <string_view>

namespace reef::exchange::html {

enum class Breaks : std::uint8_t {
  soft,  // a line goes on in the next, as Markdown says
  hard,  // every line is one, as people type
};

// Text too long or too tangled to be worth it is shown as it is.
std::string rich_text(std::string_view markdown, Breaks breaks);

}  // namespace reef::exchange::html
