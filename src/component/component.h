// Table of contents of component/: for programs that bring tools to agents and run beside the
// daemon. Such a program crashes alone and is replaced without a restart (docs/components.md).
//
//   component.h    Service, Tool, run   this file
//   mcp_server.h   answer               one request of a client, as MCP has it; no sockets
//   door.h         open_door            HTTP on loopback, and its token
//   port_file.h    PortFile             how the daemon finds the program
//   unit.h         systemd_unit         how systemd keeps it running
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/task.h"

namespace reef::component {

struct ToolAnswer {
  std::string text;
  json::object structured = {};  // the same answer for programs; may be empty
  bool is_error = false;
};

struct Tool {
  std::string name;
  std::string description;
  json::object input_schema;  // JSON Schema of an object
  bool read_only = false;     // changes nothing: agents may use it in safe mode
  std::function<Task<ToolAnswer>(json::object arguments)> call;
};

struct Service {
  std::string name;  // letters, digits, '-', '_'; also names the port file
  std::string description;
  std::string version;
  std::string instructions;  // for models: when to use the tools
  std::vector<Tool> tools;
};

struct Options {
  std::string home;  // the daemon's home
  // Runs beside the server on the same loop; cancelled when the component is stopped.
  std::function<Task<void>()> work = {};
};

// Serves until SIGTERM or SIGINT; the port file exists as long as requests are answered. Returns
// the exit code; prints to stderr what prevented a start.
int run(Service service, Options options);

// Whether a service of this name can have a port file.
bool is_service_name(std::string_view name);

}  // namespace reef::component
