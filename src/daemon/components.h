// Components: programs beside the daemon that serve MCP over HTTP on this machine and name their
// port in run/NAME.port. The folder is watched, so that changes are known at once. Loop thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/task_group.h"
#include "mcp/connections.h"

namespace reef::daemon {

// The content of a port file: the port in decimal digits and, on a second line, the token a
// component wants to see. port_from returns nullopt for any other text.
struct PortText {
  int port = 0;
  std::string token = {};  // may be empty
  bool operator==(const PortText&) const = default;
};
std::optional<PortText> port_from(std::string_view text);

class Components {
 public:
  // `changed` is called with the name of each component that came, went or moved.
  Components(Executor loop, std::string folder,
             std::function<void(const std::string& name)> changed);
  ~Components();

  // Looks now, and again at every change. When no watch can be had, it looks only once, and the log
  // says so.
  void start();
  Task<void> stop();

  // The address of a component and its token; nullopt when it is not there.
  std::optional<mcp::Connections::Needs::Place> place_of(const std::string& name) const;

 private:
  struct Watch;
  void look();
  Task<void> keep_looking();

  Executor loop_;
  std::string folder_;
  std::function<void(const std::string&)> changed_;
  std::map<std::string, PortText> ports_;
  std::unique_ptr<Watch> watch_;
  TaskGroup tasks_;
};

}  // namespace reef::daemon
