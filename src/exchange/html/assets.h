// page.css and page.js, which are embedded when Reef is built.
#pragma once

#include <string_view>

namespace reef::exchange::html {

extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

}  // namespace reef::exchange::html
