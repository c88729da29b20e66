#include "shell/parser.h"

namespace reef::shell {
namespace {

int digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

}  // namespace

// Reads $'...' after its opening quote.
std::string Parser::ansi_c() {
  std::string made;
  const auto number = [this](int base, int most) {
    unsigned value = 0;
    for (int i = 0; i < most && digit(peek()) < base; ++i, ++at_)
      value = value * static_cast<unsigned>(base) + static_cast<unsigned>(digit(peek()));
    return value;
  };
  while (!done()) {
    const char c = peek();
    ++at_;
    if (c == '\'') return made;
    if (c != '\\') {
      made += c;
      continue;
    }
    const char escape = peek();
    constexpr std::string_view kNames = "abefnrtv\\'\"?E";
    constexpr std::string_view kMeaning = "\a\b\033\f\n\r\t\v\\'\"?\033";
    unsigned value = 0;
    if (const auto known = kNames.find(escape); escape != '\0' && known != std::string_view::npos) {
      made += kMeaning[known];
      ++at_;
      continue;
    }
    if (escape >= '0' && escape <= '7') {
      value = number(8, 3) & 0xffU;
      made += static_cast<char>(value);
    } else if (escape == 'x' && digit(peek(1)) < 16) {
      ++at_;
      value = number(16, 2);
      made += static_cast<char>(value);
    } else {
      // \u, \U, \c and unknown escapes are refused, because letters can be written plainly.
      fail("an escape in $'...' that is not judged");
      break;
    }
    if (value == 0) fail("a NUL in $'...'");
  }
  fail("a $' is not closed");
  return made;
}

}  // namespace reef::shell
