// test, [ and [[ ]] are harmless, except where they evaluate arithmetic, which can run commands.
#include <algorithm>

#include "shell/programs.h"

namespace reef::shell {
namespace {

constexpr std::string_view kUnary =
    "-a -b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S -o";
constexpr std::string_view kBinary = "= == != < > -nt -ot -ef";
constexpr std::string_view kNumeric = "-eq -ne -lt -le -gt -ge";

bool is_integer(const Argument& word) {
  if (word.number) return true;
  if (!word.literal) return false;
  std::string_view digits = *word.literal;
  if (digits.starts_with("-")) digits.remove_prefix(1);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_in(const Argument& word, std::string_view list) {
  return word.literal && is_listed(*word.literal, list);
}

}  // namespace

// The number of its words decides how `test` reads them.
Objection objection_to_test(Call call) {
  const auto object = Objection("a test whose words are computed can run commands");
  if (!std::ranges::all_of(call, [](const Argument& word) { return word.one; })) return object;
  if (std::ranges::all_of(call, [](const Argument& word) { return word.literal.has_value(); }))
    return std::ranges::any_of(call,
                               [](const Argument& word) { return word.is("-v") || word.is("-R"); })
               ? object
               : Objection();
  if (!call.empty() && call.front().is("!") && call.size() > 1) call = call.subspan(1);
  if (call.size() == 1) return {};
  if (call.size() == 2 && is_in(call[0], kUnary)) return {};
  if (call.size() == 3 && (is_in(call[1], kBinary) || is_in(call[1], kNumeric))) return {};
  return object;
}

// In [[ ]] words are never split, and only literal words are operators.
Objection objection_to_condition(Call words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_in(words[i], "-v -R")) return "'[[ -v' can run commands";
    if (is_in(words[i], kNumeric) &&
        (i == 0 || i + 1 == words.size() || !is_integer(words[i - 1]) || !is_integer(words[i + 1])))
      return "arithmetic on variables can run commands";
  }
  return {};
}

}  // namespace reef::shell
