// A question as it was typed: what to look for, and where. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "recall/document.h"
#include "search/query.h"

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
  std::optional<Role> role;      // role:tool
  std::optional<Role> not_role;  // -role:tool
  std::optional<TimePoint> after, before;
  std::string session;  // in:ID
  // Terms about the session, in the filter language of docs/organise.md.
  std::string filter;
  std::optional<DateHint> date;
  std::vector<std::uint32_t> speakers;  // names it mentions, as numbers
};

// Never fails: what makes no sense as a condition is looked for as words.
Question parse_question(std::string_view text, bool last_word_is_prefix);

}  // namespace reef::recall
