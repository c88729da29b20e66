// Labels that are found in a user's words. Linear time whatever the pattern (RE2). Pure functions;
// a rule may be used by several threads at once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace reef::organise {

class Labels;

struct Rule {
  std::string label;
  std::string pattern;
  std::string value;  // $1 ... $9 are groups, $$ is a dollar; empty: group 1 if there is one
  std::shared_ptr<const re2::RE2> compiled;
};

inline constexpr std::size_t kRuleMatchesMax = 10;            // of all rules, a message
inline constexpr std::size_t kRuleTextBytesMax = 256U << 10;  // of a message are looked at

// Refuses a pattern RE2 does not take, and a value with groups the pattern does not have.
Result<Rule> make_rule(std::string label, std::string pattern, std::string value);

// The text without fenced code and inline code.
std::string without_code(std::string_view text);

// The entries (`id` or `id::value`) the rules find in a message, each once. A value its label does
// not take is left out.
std::vector<std::string> labels_in(const Labels& labels, std::string_view message);

}  // namespace reef::organise
