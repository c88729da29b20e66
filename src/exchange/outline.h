// A transcript in the order people read it: the current branch from its root to its leaf, and
// behind every entry others follow as well, those branches, folded. Pure; the transcript must
// outlive it.
#pragma once

#include <string>
#include <vector>

#include "session/transcript.h"

namespace reef::exchange {

struct Step {
  enum class Kind : std::uint8_t {
    item,   // something said
    open,   // a branch that was left begins
    close,  // and ends
  };
  Kind kind = Kind::item;
  const session::Entry* entry = nullptr;       // of an item, and the first one of a branch
  std::vector<const session::Entry*> results;  // of the tool calls in this item
  std::size_t items = 0;                       // of a branch: how much there is in it
};

// Branches stand in branches at most this deep; those further in follow as if they were beside.
inline constexpr std::size_t kBranchDepthMax = 8;

std::vector<Step> outline(const session::Transcript& transcript);

}  // namespace reef::exchange
