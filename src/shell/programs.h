// Programs known to look and not to touch, and which of their command lines do.
#pragma once

#include <span>

#include "shell/options.h"

namespace reef::shell {

using Call = std::span<const Argument>;  // the words after the program's name

// Empty: harmless, whatever the variables in it hold. Also for a program nobody knows.
Objection objection_to(std::string_view program, Call call);

// One file each.
Objection objection_to_awk(Call call);
Objection objection_to_git(Call call);
Objection objection_to_sed(Call call);
Objection objection_to_test(Call call);
Objection objection_to_condition(Call words);  // [[ ]]
// Only the paths and tests; what -exec runs is for the caller to judge.
struct FindCall {
  Objection objection;
  std::vector<Arguments> runs;  // programs with their words, of -exec and its like
};
FindCall read_find(Call call);

// May a variable of this name be set without changing what programs do? `exported`: for a program
// that is started with it.
bool is_harmless_variable(std::string_view name);
bool is_harmless_export(std::string_view name, const Argument& value);

}  // namespace reef::shell
