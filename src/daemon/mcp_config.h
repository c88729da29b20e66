// MCP servers in config.toml and agents/*.toml, and as JSON of clients. Used by the .cpp files of
// daemon/ only. Pure functions.
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

// As clients write it (docs/mcp.md), `name` among the fields. What is not known is refused by name.
Result<mcp::Spec> mcp_spec_from(const json::object& fields);
Result<mcp::Spec> mcp_spec_from(std::string_view text);

// [mcps.NAME] of config.toml: servers agents use by name.
void read_node_mcps(Table& root, std::map<std::string, mcp::Spec>& into);

// `mcps` of an agent: a list of names and of tables with a name, or a table of tables. In the order
// they are written; one that is only a name is a Spec with nothing else.
void read_agent_mcps(Table& root, runtime::Agent& agent);

// Names become the node's servers of these names; others are components.
void resolve_mcps(std::map<std::string, runtime::Agent, std::less<>>& agents,
                  const std::map<std::string, mcp::Spec>& node, std::vector<std::string>& warnings);

// The patch of an agent's file (agent_edit.h) that gives it this server, in the place of the one
// with its name, or takes one away. `config` is the file as JSON.
Result<json::object> patch_with_mcp(const json::object& config, const json::object& server);
Result<json::object> patch_without_mcp(const json::object& config, std::string_view name);

}  // namespace reef::daemon
