// Finds what a summary must not lose: open tasks, changed files, rules and facts that the user
// stated. They are found by pattern and kept word for word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "context/files.h"
#include "session/message.h"

namespace reef::context {

struct Fact {
  enum class Kind : unsigned char { task, file, rule };
  Kind kind = Kind::rule;
  std::string text;  // one line, as it was said
};

// Returns the known facts and those of one stretch of messages, oldest first, each once. A task
// that is ticked off later ("- [x] ...") is dropped.
std::vector<Fact> find_facts(const std::vector<session::MessagePtr>& messages, const Files& files,
                             std::vector<Fact> known = {});

// Facts as a compaction keeps them in its `details`, because a later summary may leave them out.
json::array to_json(const std::vector<Fact>& facts);
std::vector<Fact> facts_from_json(const json::array& in);

// Tells whether the summary still contains the fact: every number, path and name of it, and most of
// its other words.
bool says(std::string_view summary, const Fact& fact);

// The heading above the facts that are appended to a summary.
inline constexpr std::string_view kFactsHeading = "## Kept word for word";
// Returns the summary with the facts appended that it does not contain, using at most `bytes_max`
// bytes. When not all fit, rules come first, oldest first, then the newest of the others.
std::string with_missing(std::string summary, const std::vector<Fact>& facts,
                         std::size_t bytes_max);

}  // namespace reef::context
