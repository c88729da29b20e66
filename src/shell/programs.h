// Knows the programs that only read, and the command lines of others that do.
#pragma once

#include <span>

#include "shell/options.h"

namespace reef::shell {

using Call = std::span<const Argument>;  // the words after the program's name

// Empty when the call is harmless for any values of its variables. An unknown program is objected
// to, too.
Objection objection_to(std::string_view program, Call call);

// Each has a file of its own.
Objection objection_to_awk(Call call);
Objection objection_to_git(Call call);
Objection objection_to_sed(Call call);
Objection objection_to_test(Call call);
Objection objection_to_condition(Call words);  // [[ ]]
// Judges only the paths and tests; the caller judges what -exec runs.
struct FindCall {
  Objection objection;
  std::vector<Arguments> runs;  // programs with their words, of -exec and its like
};
FindCall read_find(Call call);

// Whether a variable of this name can be set without changing what programs do; for an export, what
// a program started with it does.
bool is_harmless_variable(std::string_view name);
bool is_harmless_export(std::string_view name, const Argument& value);

}  // namespace reef::shell
