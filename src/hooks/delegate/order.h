// One task of a delegate call, as the model wrote it. Pure functions, except where_to_work, which
// blocks.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/provider.h"

namespace reef::hooks {

inline constexpr std::string_view kWorker = "worker";

struct Order {
  std::string agent;  // empty: a worker
  std::string message;
  std::string cwd;            // empty: the caller's
  std::string system_prompt;  // empty: the agent's own
};

model::Tool delegate_tool();
// Errors are words for the model.
Result<std::vector<Order>> orders_from(const json::object& arguments);

// The folder a task works in: `wanted`, seen from `base`. It must lie below `base` unless
// `anywhere`.
Result<std::string> where_to_work(const std::string& base, const std::string& wanted,
                                  bool anywhere);

}  // namespace reef::hooks
