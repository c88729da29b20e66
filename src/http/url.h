// Text in URLs. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace reef::http {

// By RFC 3986: everything but letters, digits and -._~ as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace reef::http
