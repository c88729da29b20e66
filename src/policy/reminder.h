// The reminder of what is known (the setting `recall`): finds what is remembered that fits a
// person's words, and tells the model in that person's turn. The client that sends the turn does it
// first; public operations only.
#pragma once

#include <string>

#include "base/task.h"
#include "client/client.h"
#include "policy/rules.h"

namespace reef::policy {

// Returns text for `turn.context`; empty when the rules do not want it or nothing fits. `node` are
// the rules of config.toml. All arguments outlive the task.
Task<std::string> reminder_for(client::Client& client, const client::TurnRequest& turn,
                               const Rules& node);

}  // namespace reef::policy
