// What is known of a word before bash has expanded it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shell/syntax.h"

namespace reef::shell {

struct Argument {
  std::optional<std::string> literal;  // the word is this
  std::string prefix;                  // it begins so; of a literal: all of it
  bool one = true;                     // exactly one word comes of it
  bool splits = false;                 // other words, of which nothing is known, may come of it
  bool number = false;                 // it is a whole number: $?, $#, ...

  bool is(std::string_view text) const { return literal && *literal == text; }
  // Nothing that comes of it begins with '-': it can be no option.
  bool is_operand() const { return !splits && !prefix.empty() && prefix.front() != '-'; }
};

using Arguments = std::vector<Argument>;

Argument argument_of(const Word& word);
Argument literal_argument(std::string text);
// One word of which nothing is known, or any number of them.
Argument unknown_argument(bool splits);

}  // namespace reef::shell
