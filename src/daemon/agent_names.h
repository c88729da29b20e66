// Remembers earlier names of agents in agents/renamed.jsonl, a line each, oldest first. A rename
// does not reach sessions in the trash, which need them. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace reef::daemon {

struct Renamed {
  std::string from, to;
  TimePoint at;
};

inline constexpr std::size_t kRenamedMax = 1'000;  // beyond this the oldest are dropped

// Invalid lines are left out, because nothing depends on all of them.
std::vector<Renamed> parse_renamed(std::string_view text);
std::string write_renamed(const std::vector<Renamed>& renamed);

// The id CrabTalk 0.0.24 gives an agent: made of the agent's first name, so that a rename keeps it,
// and different for another agent that takes the old name. 26 letters, like a ULID.
std::string id_of(const std::vector<Renamed>& renamed, const std::string& agent);

// The present name of the agent that was called `agent` at that time.
std::string name_now(const std::vector<Renamed>& renamed, std::string agent, TimePoint then);

}  // namespace reef::daemon
