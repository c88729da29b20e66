// Shortens old tool results and later leaves them out, only in the request: the transcript keeps
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/message.h"

namespace reef::context {

struct PruneRules {
  bool on = true;
  double soft_share = 0.3;        // of the window; from here on old results are shortened
  double hard_share = 0.5;        // from here on they are left out
  double step_share = 0.1;        // results are shortened only if that frees this much
  int keep_replies = 3;           // the last replies and everything after them are never touched
  std::size_t long_chars = 4000;  // a result this long is shortened ...
  std::size_t head_chars = 1500;  // ... to its beginning
  std::size_t tail_chars = 1500;  // ... and its end
  std::vector<std::string> protected_tools = {};
};

// How far earlier requests of the session were pruned. Later requests repeat this until the window
// fills again, so that the provider's cache of the beginning stays valid.
struct PruneState {
  std::size_t shortened = 0;  // both count messages from the beginning
  std::size_t cleared = 0;
};

struct Pruned {
  std::vector<session::MessagePtr> messages;
  PruneState state;
  std::int64_t saved = 0;  // tokens, estimated
};

// `window` is in tokens; when it is 0, which means unknown, nothing is pruned.
Pruned prune(std::vector<session::MessagePtr> messages, std::int64_t window,
             const PruneRules& rules, PruneState state);

}  // namespace reef::context
