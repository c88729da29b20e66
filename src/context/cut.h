// Where a compaction cuts a branch: what is before goes into the summary, what is after stays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "session/entry.h"

namespace reef::context {

// Places in the branch.
struct Cut {
  std::size_t begin = 0;       // what the summary has to cover starts here
  std::size_t first_kept = 0;  // the branch's size: nothing is kept
  // Of the turn the cut goes through; first_kept when it goes between two.
  std::size_t turn_start = 0;
};

struct CutLimits {
  std::int64_t keep_recent = 20'000;  // tokens, about
  // What may be kept at most: a last message larger than the window must not be.
  std::int64_t keep_max = INT64_MAX;
};

// From the user's last words to the end; at least 1.
std::int64_t tokens_of_last_turn(std::span<const session::Entry* const> branch);

// nullopt when there is nothing a summary could replace. pi's rules, but that no call is ever cut
// off from its result and that a tail too large to keep goes into the summary as well.
std::optional<Cut> choose_cut(std::span<const session::Entry* const> branch, CutLimits limits);

}  // namespace reef::context
