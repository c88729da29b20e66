// MCP servers in config.toml and agents/*.toml, and in the JSON of clients. Used by the .cpp files
// of daemon/ only. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "daemon/toml_table.h"
#include "mcp/spec.h"
#include "runtime/agent.h"

namespace reef::daemon {

// Reads a server as clients write it (docs/mcp.md), with `name` among the fields. Unknown fields
// are refused by name.
Result<mcp::Spec> mcp_spec_from(const json::object& fields);
Result<mcp::Spec> mcp_spec_from(std::string_view text);

// Reads [mcps.NAME] of config.toml: servers that agents use by name.
void read_node_mcps(Table& root, std::map<std::string, mcp::Spec>& into);

// Reads `mcps` of an agent: a list of names and of tables with a name, or a table of tables. Keeps
// the order in which they are written; a mere name becomes a Spec with nothing else.
void read_agent_mcps(Table& root, runtime::Agent& agent);

// Replaces names by the node's servers of those names; names without a server become components.
void resolve_mcps(std::map<std::string, runtime::Agent, std::less<>>& agents,
                  const std::map<std::string, mcp::Spec>& node, std::vector<std::string>& warnings);

// The patch of an agent's file (agent_edit.h) that adds this server or replaces the one of its
// name, or that removes one. `config` is the file as JSON.
Result<json::object> patch_with_mcp(const json::object& config, const json::object& server);
Result<json::object> patch_without_mcp(const json::object& config, std::string_view name);

}  // namespace reef::daemon
