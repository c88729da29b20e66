// What must not get lost when a conversation is summarised: tasks that are open, files that were
// changed, rules and facts the user stated. Found by pattern, kept word for word.
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

// Those known before and those of one stretch of messages, oldest first, each once. A task that is
// ticked off later ("- [x] ...") is no longer one.
std::vector<Fact> find_facts(const std::vector<session::MessagePtr>& messages, const Files& files,
                             std::vector<Fact> known = {});

// As the `details` of a compaction keep them: a later summary may leave out what this one said.
json::array to_json(const std::vector<Fact>& facts);
std::vector<Fact> facts_from_json(const json::array& in);

// Does the summary still say it? Every number, path and name of it, and most of its other words.
bool says(std::string_view summary, const Fact& fact);

// The heading under which what a summary left out is appended to it.
inline constexpr std::string_view kFactsHeading = "## Kept word for word";
// The summary with what it does not say. At most `bytes_max` bytes are added: when there is no room
// for all, the rules come first, oldest first, then the newest of the rest.
std::string with_missing(std::string summary, const std::vector<Fact>& facts,
                         std::size_t bytes_max);

}  // namespace reef::context
