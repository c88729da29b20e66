// Finds the sessions of other programs on this machine, and measures them. Any thread.
#pragma once

#include <atomic>
#include <map>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

struct Place {
  Kind kind;
  std::string path;
  std::uint64_t bytes = 0;
};

// The size of the files a reader of the kind would look at.
std::uint64_t bytes_in(Files& files, Kind kind, const std::string& path,
                       const std::atomic<bool>& cancelled);

// The environment variables that lead to these places.
inline constexpr std::string_view kPlaceVariables[] = {
    "HOME",
    "CRABTALK_HOME",
    "CRAFT_CONFIG_DIR",
    "CLAWDBOT_STATE_DIR",
    "OPENCLAW_STATE_DIR",
    "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR",
};
// The well-known places that exist. `environment` is that of the person who asks.
std::vector<Place> find_places(Files& files, const std::map<std::string, std::string>& environment);

}  // namespace reef::exchange
