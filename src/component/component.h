// Table of contents of component/: what it takes to write a program that brings tools to agents and
// lives beside the daemon: it crashes alone and is swapped without a restart (docs/components.md).
//
//   component.h    Service, Tool, run   this file
//   mcp_server.h   answer               one request of a client, as MCP has it; no sockets
//   http_server.h  HttpServer           requests on loopback
//   port_file.h    PortFile             how the daemon finds it
//   unit.h         systemd_unit         how it is kept running
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
  json::object structured = {};  // the same for programs; may be empty
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
  std::string name;  // letters, digits, '-', '_'; of the port file
  std::string description;
  std::string version;
  std::string instructions;  // for models: when to use the tools
  std::vector<Tool> tools;
};

struct Options {
  std::string home;  // the daemon's
  // Runs beside the server on the same loop; cancelled when the component is stopped.
  std::function<Task<void>()> work = {};
};

// Serves until SIGTERM or SIGINT; the port file is there as long as requests are answered. Returns
// the exit code; what prevented a start is printed to stderr.
int run(Service service, Options options);

// Whether it can name a port file.
bool is_service_name(std::string_view name);

}  // namespace reef::component
