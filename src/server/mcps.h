// MCP servers of agents: the functions of the daemon that the operations call, and what logins need
// of them, too.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "mcp/spec.h"

namespace reef::mcp {
class Connections;
}
namespace reef::oauth {
class Accounts;
}
namespace reef::runtime {
class Runtime;
struct Setup;
}  // namespace reef::runtime

namespace reef::server {

struct Node;

// A change that returns Ok is durable and in force.
struct Mcps {
  mcp::Connections* connections = nullptr;
  oauth::Accounts* accounts = nullptr;
  std::function<Result<mcp::Spec>(const std::string& config)> read;
  std::function<Task<Status>(std::string agent, std::string config)> save;
  std::function<Task<Status>(std::string agent, std::string name)> remove;
};

struct McpsNeeds {
  runtime::Runtime& runtime;
  const Mcps& mcps;
  static McpsNeeds of(const Node& node);
};

// Finds an MCP server of an agent, or of the default agent.
Result<mcp::Spec> find_mcp(const runtime::Setup& setup, const std::string& agent,
                           const std::string& name);

}  // namespace reef::server
