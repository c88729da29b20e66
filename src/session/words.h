// The two word lists session ids are made of. Ours; append only, order does not matter.
#pragma once

#include <span>
#include <string_view>

namespace reef::session {

std::span<const std::string_view> adjectives();
std::span<const std::string_view> nouns();

}  // namespace reef::session
