// Parses a question as it was typed: what to look for, and where. Pure functions.
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

// A time mentioned in the question: "in March 2023", "on 13 March", "2023-03-13".
struct DateHint {
  int year = 0;  // 0 when any year fits
  unsigned month = 0;
  unsigned day = 0;
};
std::optional<DateHint> date_in(std::string_view text);
// How well a time fits the hint, from 0 to 1.
double fit(const DateHint& hint, TimePoint time);

struct Question {
  search::Query words;
  // role:tool matches any of several; -role:tool matches none of several.
  std::vector<Role> roles, not_roles;
  // The latest after: and the earliest before: in the question.
  std::optional<TimePoint> after, before;
  // in:ID matches any of several; -in:ID matches none of several.
  std::vector<session::SessionId> sessions, not_sessions;
  // Conditions on the session, each in the filter language of docs/organise.md.
  std::vector<std::string> filters;
  std::optional<DateHint> date;
  std::vector<std::uint32_t> speakers;  // speaker_number of every word, since it may be a name
};

// Adds text that turned out to be words, not a condition.
void look_for(Question& question, std::string_view text);
// Call it once all conditions are known. With conditions and nothing to look for, everything that
// meets them is found; with nothing but exclusions, these become words. `conditions` says whether
// there are any, here or as filters.
void settle(Question& question, bool conditions);

// Never fails: a condition that makes no sense is searched as words.
Question parse_question(std::string_view text, bool last_word_is_prefix);

}  // namespace reef::recall
