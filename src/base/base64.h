// RFC 4648 with padding. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace reef {

std::string to_base64(std::string_view bytes);
// nullopt when `text` is not base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace reef
