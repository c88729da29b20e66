#include <algorithm>

#include "shell/parser.h"

namespace reef::shell {

std::size_t Parser::assignment_length() const {
  const auto left = rest();
  if (left.empty() || !is_name_start(left.front())) return 0;
  std::size_t at = 1;
  while (at < left.size() && is_name_char(left[at])) ++at;
  if (at < left.size() && left[at] == '[') {
    const auto end = left.find_first_of("]\n", at);
    if (end == std::string_view::npos || left[end] != ']') return 0;
    at = end + 1;
  }
  if (at < left.size() && left[at] == '+') ++at;
  return at < left.size() && left[at] == '=' ? at + 1 : 0;
}

void Parser::assignment(Command& command) {
  const auto left = text_.substr(at_, assignment_length());
  at_ += left.size();
  Assignment made;
  if (!left.ends_with("=") || left.find_first_of("[+") != std::string_view::npos || peek() == '(')
    only_bash("an array");
  const auto end = std::ranges::find_if_not(left, is_name_char) - left.begin();
  made.name = left.substr(0, static_cast<std::size_t>(end));
  if (const auto open = left.find('['); open != std::string_view::npos) {
    const auto inside = left.substr(open + 1, left.find(']') - open - 1);
    if (inside.empty() || !std::ranges::all_of(inside, is_name_char))
      return fail("an array's index that is not plain");
    if (!std::ranges::all_of(inside, is_digit)) made.risk = "an array's index can run commands";
  }
  if (!take("(")) {
    if (!ends_word(peek()) || starts("<(") || starts(">(")) made.values.push_back(word());
    command.assignments.push_back(std::move(made));
    return;
  }
  for (skip_newlines(); !failed() && peek() != ')'; skip_newlines()) {
    if (done() || (ends_word(peek()) && !starts("<(") && !starts(">(")))
      return fail("an array does not end");
    if (peek() == '[') made.risk = "an array's index can run commands";
    made.values.push_back(word());
  }
  take(")");
  command.assignments.push_back(std::move(made));
}

}  // namespace reef::shell
