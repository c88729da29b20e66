// SHA-256. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace reef {

// 32 bytes.
std::string sha256(std::string_view bytes);

}  // namespace reef
