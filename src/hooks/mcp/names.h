// What an agent calls the tools of its servers: server__tool, in letters every model's backend
// takes, each name once. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mcp/pool.h"

namespace reef::hooks {

struct NamedTool {
  std::string name;  // the agent's word
  std::string server;
  mcp::Tool tool;
};
// In the order the servers were declared: of two tools that would have one name the first keeps it,
// the other gets a number. What was renamed so is told in `clashes`.
std::vector<NamedTool> named_tools(const std::vector<mcp::Listing>& servers,
                                   std::vector<std::string>& clashes);

// Letters, digits, dashes and underscores; at most 64, where a long one ends in a mark of its own.
std::string tool_name(std::string_view server, std::string_view tool);

}  // namespace reef::hooks
