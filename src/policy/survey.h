// Asks the daemon about a session: facts and rules. Public operations only.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/task.h"
#include "client/client.h"
#include "policy/decide.h"

namespace reef::policy {

struct Survey {
  Facts facts;
  Rules rules;  // the node's, the agent's and the session's together
  std::string id, key, agent, sender;
  std::vector<std::string> problems;  // invalid overrides, which are ignored
};

inline constexpr std::chrono::milliseconds kAnswerPatience{30'000};

// `node` are the rules of config.toml. `client` and `id` outlive the task.
Task<Result<Survey>> survey(client::Client& client, const std::string& id, const Rules& node);
// Reads only the rules of `into.agent`; an agent that no longer exists has none.
Task<void> take_agent(client::Client& client, Survey& into);

}  // namespace reef::policy
