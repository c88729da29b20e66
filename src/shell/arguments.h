// The facts about a word that are known before bash has expanded it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shell/syntax.h"

namespace reef::shell {

struct Argument {
  std::optional<std::string> literal;  // the word is exactly this
  std::string prefix;                  // it begins with this; for a literal: all of it
  bool one = true;                     // it becomes exactly one word
  bool splits = false;                 // it may become any number of unknown words
  bool number = false;                 // it is a whole number: $?, $#, ...

  bool is(std::string_view text) const { return literal && *literal == text; }
  // None of its words begins with '-', so it cannot be an option.
  bool is_operand() const { return !splits && !prefix.empty() && prefix.front() != '-'; }
};

using Arguments = std::vector<Argument>;

Argument argument_of(const Word& word);
Argument literal_argument(std::string text);
// One unknown word or, when it splits, any number of them.
Argument unknown_argument(bool splits);

}  // namespace reef::shell
