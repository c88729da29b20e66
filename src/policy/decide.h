// Applies the rules to a session and gives reasons with numbers. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/rules.h"

namespace reef::policy {

// The facts about a session after a turn.
struct Facts {
  std::int64_t tokens = 0;  // of its context
  std::int64_t window = 0;  // of its model; 0: not known
  std::uint64_t compactions = 0;
  std::optional<std::uint64_t> flushed_at;  // how many compactions there were at the last flush
  std::uint64_t messages = 0;
  bool titled = false;
  std::string model;
  std::string permission_mode;  // safe, ask, allow-all
  bool may_remember = true;     // the agent can reach the tool
  bool sends = true;            // no send policy forbids words
  std::int64_t refused_at = 0;  // tokens when a compaction was last refused; 0: never
};

// The token counts at which a context is compacted and flushed.
struct Limits {
  std::int64_t compact = 0;
  std::int64_t flush = 0;
  std::int64_t reserve = 0;
};
Limits limits(const Rules& rules, std::int64_t window);

struct Verdict {
  bool act = false;
  std::string why;  // with its numbers
};
struct Plan {
  Verdict title, flush, compact;
};
Plan decide(const Rules& rules, const Facts& facts);

}  // namespace reef::policy
