// Text in URLs. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace reef::http {

// Encodes everything but letters, digits and -._~ as %XX (RFC 3986).
std::string percent_encoded(std::string_view text);

}  // namespace reef::http
