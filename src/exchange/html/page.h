// The frame of every page: its head with style and script inside, the bar with the search box, the
// foot. Pure.
#pragma once

#include <string>
#include <string_view>

namespace reef::exchange::html {

// The page up to the beginning of <main>; `find` is the text in the search box. The page's content
// security policy allows its own style and script and pictures that are in it, and nothing else.
std::string page_head(std::string_view title, std::string_view find);
std::string page_foot();

}  // namespace reef::exchange::html
