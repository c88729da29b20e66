// Which agents had another name before: agents/renamed.jsonl, a line each, oldest first. For what a
// rename does not reach, sessions in the trash. Pure functions.
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

inline constexpr std::size_t kRenamedMax = 1'000;  // the oldest go

// Lines that make no sense are left out: they are a help, not a record.
std::vector<Renamed> parse_renamed(std::string_view text);
std::string write_renamed(const std::vector<Renamed>& renamed);

// What CrabTalk 0.0.24 calls an agent: made of the name it had first, so that it stays when the
// name changes, and another one that takes the old name gets another. 26 letters, as a ULID has.
std::string id_of(const std::vector<Renamed>& renamed, const std::string& agent);

// What the one who was called `agent` at that time is called now.
std::string name_now(const std::vector<Renamed>& renamed, std::string agent, TimePoint then);

}  // namespace reef::daemon
