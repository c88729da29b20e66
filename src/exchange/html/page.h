// What stands around every page: its head with style and script inside, the bar with the search
// box, the foot. Pure.
#pragma once

#include <string>
#include <string_view>

namespace reef::exchange::html {

// Up to the beginning of <main>; `find` is what the search box offers. The policy in it allows the
// page's own style, its own script and pictures that are in the page, and nothing else.
std::string page_head(std::string_view title, std::string_view find);
std::string page_foot();

}  // namespace reef::exchange::html
