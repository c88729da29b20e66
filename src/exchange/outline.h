// A transcript in the order people read it: the current branch from its root to its leaf, and after
// each entry that has other branches, those branches, folded. Pure; the transcript must outlive it.
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
  const session::Entry* entry = nullptr;       // the item, or the first entry of a branch
  std::vector<const session::Entry*> results;  // of the tool calls in this item
  std::size_t items = 0;                       // of a branch: how many items it holds
};

// Branches nest at most this deep; deeper ones follow beside the branch they left.
inline constexpr std::size_t kBranchDepthMax = 8;

std::vector<Step> outline(const session::Transcript& transcript);

}  // namespace reef::exchange
