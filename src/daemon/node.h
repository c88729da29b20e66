// The requests of clients to the daemon itself, for the operations of server/. Loop thread.
#pragma once

#include <functional>

#include "daemon/agent_changes.h"
#include "daemon/config_changes.h"
#include "daemon/engine.h"
#include "daemon/in_force.h"
#include "server/server.h"

namespace reef::daemon {

// All of it outlives the node.
struct NodeNeeds {
  Engine& engine;
  InForce& in_force;
  ConfigChanges& config_changes;
  AgentChanges& agent_changes;
  const Home& home;
  std::function<void()> shutdown;
  std::function<void(protocol::Stats&)> fill_stats;
};
server::Node make_node(NodeNeeds needs);

}  // namespace reef::daemon
