// Options of programs that also have harmful ones: only listed options are let through.
#pragma once

#include <string>
#include <string_view>

#include "shell/arguments.h"

namespace reef::shell {

// Why a command is not known to be harmless; empty when it is.
using Objection = std::string;

struct Options {
  std::string_view flags = "";        // letters without a value
  std::string_view valued = "";       // letters with a value, attached or as the next word
  std::string_view long_flags = "";   // separated by blanks; a value may be attached with '='
  std::string_view long_valued = "";  // '=' or the next word
  bool numbers = false;               // -20
  bool plain_values = false;          // a value in a word of its own must not look like an option
  std::size_t operands_max = 1000;    // a program may write to operands beyond these
  bool permute = true;                // options may follow operands
};

struct Sorted {
  Objection objection;
  Arguments operands;
  Arguments options;                              // as written
  std::vector<std::pair<char, Argument>> values;  // of one-letter options
};

// Sorts the words after the program's name by the rules of getopt. Words that may become options
// when expanded, and abbreviated long names, are objected to.
Sorted sort_options(std::string_view program, const Options& known, const Argument* first,
                    const Argument* last);

// Whether `word` is one of the blank-separated `list`.
bool is_listed(std::string_view word, std::string_view list);

}  // namespace reef::shell
