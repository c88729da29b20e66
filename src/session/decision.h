// What a person was asked to decide, as the transcript keeps it: `reef.decision` entries that tell
// when it was asked, answered or closed (docs/formats/transcript.md). Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/entry.h"

namespace reef::session {

inline constexpr std::string_view kDecisionType = "reef.decision";

// What lists know of a decision that waits.
struct Waiting {
  // The bound of one session; a hostile transcript may ask more.
  static constexpr std::size_t kMax = 64;
  static constexpr std::size_t kAboutChars = 120;

  std::string id;
  std::string kind;
  std::string about;  // the beginning of what is asked
  TimePoint asked;
  TimePoint expires;  // zero: never
  bool operator==(const Waiting&) const = default;
};

// <session>.<entry>, so that the session of a decision can be told from its id.
std::string decision_id(const SessionId& session, const EntryId& mark);
// The session an id names; nullopt when it names none.
std::optional<SessionId> session_of_decision(std::string_view id);

// The data of a reef.decision entry, else nullptr.
const json::object* decision_of(const Entry& entry);
Draft draft_decision(json::object data);
// Takes in the entry that follows in this session; constant time.
void fold_decision(std::vector<Waiting>& waiting, const SessionId& session, const Entry& entry);

// For the catalog.
json::array to_json(const std::vector<Waiting>& waiting);
std::vector<Waiting> waiting_from(const json::array& in);

}  // namespace reef::session
