// The ends of a piece of text. Pure functions.
#pragma once

#include <string_view>

namespace reef {

inline constexpr std::string_view kWhiteSpace = " \t\r\n";
// These characters may stand around the words of one line.
inline constexpr std::string_view kBlanks = " \t\r";

// The text without the characters of `blanks` at both ends.
constexpr std::string_view trim(std::string_view text, std::string_view blanks = kWhiteSpace) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace reef
