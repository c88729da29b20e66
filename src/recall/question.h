// A question as it was typed: what to look for, and where. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "recall/document.h"
#include "search/query.h"
#include "session/ids.h"

namespace reef::recall {

// A time the question speaks of: "in March 2023", "on 13 March", "2023-03-13".
struct DateHint {
  int year = 0;  // 0: any
  unsigned month = 0;
  unsigned day = 0;
};
std::optional<DateHint> date_in(std::string_view text);
// How well a time fits it, 0 to 1.
double fit(const DateHint& hint, TimePoint time);

struct Question {
  search::Query words;
  // role:tool; of several any. -role:tool; of several none.
  std::vector<Role> roles, not_roles;
  // The latest after: and the earliest before: that were said.
  std::optional<TimePoint> after, before;
  // in:ID; of several any. -in:ID; of several none.
  std::vector<session::SessionId> sessions, not_sessions;
  // Terms about the session, each in the filter language of docs/organise.md.
  std::vector<std::string> filters;
  std::optional<DateHint> date;
  std::vector<std::uint32_t> speakers;  // names it mentions, as numbers
};

// Adds what is looked for as words after all.
void look_for(Question& question, std::string_view text);
// When all of it is known: of conditions alone everything is found that fulfils them, of exclusions
// alone words are made. `conditions`: there are any, here or as filters.
void settle(Question& question, bool conditions);

// Never fails: what makes no sense as a condition is looked for as words.
Question parse_question(std::string_view text, bool last_word_is_prefix);

}  // namespace reef::recall
