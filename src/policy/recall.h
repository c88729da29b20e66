// Automatic recall: what is remembered of a person's words, told to the model in their turn. Done
// by the client that speaks, before it does; public operations only.
#pragma once

#include <string>

#include "base/task.h"
#include "client/client.h"
#include "policy/rules.h"

namespace reef::policy {

// For `turn.context`; empty when the rules do not want it or nothing fits. `node` are the rules of
// config.toml. All outlive the task.
Task<std::string> recall_for(client::Client& client, const client::Turn& turn, const Rules& node);

}  // namespace reef::policy
