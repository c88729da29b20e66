// What fills a model's window, and how old tool results are left out of it. Plain values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "context/prune.h"
#include "runtime/event.h"
#include "session/ids.h"

namespace reef::runtime {

struct WindowReport {
  struct Part {
    std::string kind;
    std::int64_t tokens = 0;  // estimated
    std::size_t count = 0;
  };
  std::string model;  // as it is configured
  ContextUsage usage;
  std::vector<Part> parts;
  std::int64_t prunable = 0;    // of old tool results that the next call leaves out
  std::optional<double> error;  // mean error of the estimates for this model
};

// How far the requests of each session were pruned, so that the next ones begin alike. Forgotten
// for a session whose context begins elsewhere, and for all when there are too many: that costs one
// miss of a provider's cache.
class Prunings {
 public:
  context::PruneState find(const session::SessionId& id, const session::EntryId& begin) const;
  void keep(const session::SessionId& id, const session::EntryId& begin,
            const context::PruneState& state);

 private:
  static constexpr std::size_t kSessionsMax = 4096;
  struct Kept {
    session::EntryId begin;
    context::PruneState state;
  };
  std::map<session::SessionId, Kept> sessions_;
};

}  // namespace reef::runtime
