// The beginning of what a line of a transcript says, without reading all of it: for windows, which
// show much and are read often. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace reef::recall {

struct Peek {
  std::string entry;
  std::string tool;
  std::string text;  // at most bytes_max, and one byte more when there is more
};

// nullopt: not a line this is made for, or a damaged one; read_line says what it holds.
std::optional<Peek> peek(std::string_view line, std::size_t bytes_max);

}  // namespace reef::recall
