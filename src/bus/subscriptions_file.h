// events/subscriptions.toml: who is to be started by which events. Pure functions.
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
  // Since the daemon started; not written.
  std::uint64_t delivered = 0;
  std::uint64_t dropped = 0;
};

struct Subscriptions {
  std::uint64_t last_id = 0;  // ids are not given twice
  std::vector<Subscription> list;
};

// The error names line and key.
Result<Subscriptions> parse_subscriptions(std::string_view text, std::string_view file);
std::string write_subscriptions(const Subscriptions& subscriptions);

// What there is after somebody edited the file, which had `base` when it was last read or written:
// what changed in `theirs` and what changed in `ours` both count, and what `ours` counted stays. An
// id that both gave away is the one of `ours`.
Subscriptions with_hand_edits(const Subscriptions& ours, const std::vector<Subscription>& base,
                              Subscriptions theirs);

}  // namespace reef::bus
