// events/subscriptions.toml: who is to be started by which events. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace reef::bus {

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

}  // namespace reef::bus
