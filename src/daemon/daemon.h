// Table of contents of daemon/, and the daemon itself: it turns the configuration into store,
// providers, runtime and transports, takes signals, reloads, and ends in order.
//
//   home.h      Home, own_home        where things lie; one daemon per home
//   config.h    Config, load_config   config.toml, agents/*.toml
//   config_edit.h                      changing config.toml for the user
//   config_changes.h ConfigChanges    one change at a time, in force or undone
//   setup.h     make_setup            turns the configuration into what runs
//   import_definitions.h               statuses and labels that come with an import
//   components.h Components            programs beside the daemon that serve MCP
//   mcp_config.h                       MCP servers of agents and of the node
//   listeners.h Listeners             where clients connect
//   systemd.h   notify_systemd        readiness
//   daemon.h    run_daemon            this file
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
