// Rules that find labels in a user's words, in linear time whatever the pattern (RE2). Pure
// functions; several threads may use a rule at once.
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

inline constexpr std::size_t kRuleMatchesMax = 10;            // for all rules on one message
inline constexpr std::size_t kRuleTextBytesMax = 256U << 10;  // of a message are searched

// Refuses a pattern that RE2 rejects, and a value with groups that the pattern lacks.
Result<Rule> make_rule(std::string label, std::string pattern, std::string value);

// Returns the text without fenced code and inline code.
std::string without_code(std::string_view text);

// Returns the entries (`id` or `id::value`) that the rules find in a message, each once. Values of
// the wrong type are left out.
std::vector<std::string> labels_in(const Labels& labels, std::string_view message);

}  // namespace reef::organise
