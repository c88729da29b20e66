// Components: programs beside the daemon that serve MCP over HTTP on this machine and say where in
// run/NAME.port. Watched, so that one that comes, goes or moves is known at once. Loop thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/task_group.h"
#include "mcp/pool.h"

namespace reef::daemon {

// What a port file says: the port in decimal digits and, in a second line, the token a component
// wants to see. Nothing for any other text.
struct PortText {
  int port = 0;
  std::string token = {};  // may be empty
  bool operator==(const PortText&) const = default;
};
std::optional<PortText> port_from(std::string_view text);

class Components {
 public:
  // `changed` is told the names of those that came, went or moved.
  Components(Executor loop, std::string folder,
             std::function<void(const std::string& name)> changed);
  ~Components();

  // Looks, and goes on looking. Without a watch (none to be had) it only looked once: the log says
  // so.
  void start();
  Task<void> stop();

  // Where one is, and its token; nothing when it is not there.
  std::optional<mcp::Pool::House::Place> place_of(const std::string& name) const;

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
