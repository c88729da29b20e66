// Chooses where a compaction cuts a branch: the summary replaces the entries before the cut.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "session/entry.h"

namespace reef::context {

// Indices in the branch.
struct Cut {
  std::size_t begin = 0;       // the first entry that the summary covers
  std::size_t first_kept = 0;  // the branch's size when nothing is kept
  // Start of the turn that the cut splits; first_kept when it splits none.
  std::size_t turn_start = 0;
};

struct CutLimits {
  std::int64_t keep_recent = 20'000;  // tokens, about
  // The most that may be kept: a last message larger than the window must not be kept.
  std::int64_t keep_max = INT64_MAX;
};

// Counts from the user's last message to the end; at least 1.
std::int64_t tokens_of_last_turn(std::span<const session::Entry* const> branch);

// Returns nullopt when a summary could replace nothing. Follows pi's rules, except that a call is
// never cut off from its result and that a tail too large to keep goes into the summary, too.
std::optional<Cut> choose_cut(std::span<const session::Entry* const> branch, CutLimits limits);

}  // namespace reef::context
