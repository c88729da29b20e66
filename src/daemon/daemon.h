// Table of contents of daemon/, and the daemon itself: it turns the configuration into store,
// providers, runtime and transports, takes signals, reloads, and ends in order.
//
//   daemon.h    run_daemon            this file; what begins and ends when
//   engine.h    Engine                what a running daemon consists of, put together
//   in_force.h  InForce               the configuration in force: start, reload
//   node.h      make_node             what clients may ask of the daemon itself
//   listeners.h Listeners             where clients connect
//   home.h      Home, own_home        where things lie; one daemon per home
//   config.h    Config, load_config   config.toml, agents/*.toml
//   config_edit.h                      changing config.toml for the user
//   config_changes.h ConfigChanges    one change at a time, in force or undone
//   agent_changes.h AgentChanges      agents that clients make, change, rename and remove
//   setup.h     make_setup            turns the configuration into what runs
//   import_definitions.h               what comes with an import beside sessions
//   components.h Components            programs beside the daemon that serve MCP
//   mcp_config.h                       MCP servers of agents and of the node
//   memory_keeper.h MemoryKeeper      gives memory back that is no longer needed
//   last_resort.h LastResort          ends a daemon that does not end
//   own_process.h prepare_process     what the process is to the kernel
//   readiness.h tell_ready            for whoever started us
#pragma once

#include <string>

namespace reef::daemon {

struct Options {
  std::string home;        // empty: see find_home
  int ready_fd = -1;       // gets "ready\n" once clients can connect
  bool no_policy = false;  // overrides config.toml
};

// Runs until a signal or a Shutdown request; returns the exit code. A reason not to start is
// printed to stderr as one line.
int run_daemon(const Options& options);

}  // namespace reef::daemon
