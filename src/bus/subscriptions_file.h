// events/subscriptions.toml says which events start which agents. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace reef::bus {

inline constexpr std::string_view kSubscriptionsName = "events/subscriptions.toml";
inline constexpr std::size_t kSubscriptionsMax = 1000;

struct Subscription {
  std::uint64_t id = 0;
  std::string source;  // a pattern
  std::string target_agent;
  bool once = false;
  // Counted since the daemon started; not written.
  std::uint64_t delivered = 0;
  std::uint64_t dropped = 0;
};

struct Subscriptions {
  std::uint64_t last_id = 0;  // no id is given twice
  std::vector<Subscription> list;
};

// The error names line and key.
Result<Subscriptions> parse_subscriptions(std::string_view text, std::string_view file);
std::string write_subscriptions(const Subscriptions& subscriptions);

// Merges edits by hand into a file that held `base` when it was last read or written: changes in
// `theirs` and changes in `ours` both count, and the counters of `ours` stay. When both gave away
// the same id, `ours` keeps it.
Subscriptions with_hand_edits(const Subscriptions& ours, const std::vector<Subscription>& base,
                              Subscriptions theirs);

}  // namespace reef::bus
