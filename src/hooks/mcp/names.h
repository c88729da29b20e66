// Names for the tools of an agent's servers: server__tool, in letters every model's backend takes,
// each name once. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mcp/connections.h"

namespace reef::hooks {

struct NamedTool {
  std::string name;  // the name the agent uses
  std::string server;
  mcp::Tool tool;
};
// Keeps the order in which the servers were declared. When two tools would get the same name, the
// first keeps it and the other gets a number; `clashes` tells which were renamed.
std::vector<NamedTool> named_tools(const std::vector<mcp::Listing>& servers,
                                   std::vector<std::string>& clashes);

// Letters, digits, dashes and underscores; at most 64. A longer name is cut and ends in a hash.
std::string tool_name(std::string_view server, std::string_view tool);

}  // namespace reef::hooks
