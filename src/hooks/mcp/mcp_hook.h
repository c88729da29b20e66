// Gives agents the tools, resources and prompts of MCP servers (docs/mcp.md).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hooks/mcp/names.h"
#include "mcp/connections.h"
#include "runtime/hook.h"

namespace reef::hooks {

class McpHook final : public runtime::Hook {
 public:
  // `changed` is called for an agent whose tools changed.
  McpHook(mcp::Connections& connections, std::function<void(const std::string& agent)> changed);

  Task<void> ready(const runtime::Agent& agent) const override;
  std::vector<model::Tool> tools(const runtime::Agent& agent) const override;
  // The instructions the servers give.
  std::string prompt(const runtime::Agent& agent) const override;
  void on_register_agent(const runtime::Agent& agent) override;
  void on_unregister_agent(const std::string& name) override;
  runtime::Intent intent(const std::string& tool, const json::object& arguments,
                         const runtime::Caller& caller) const override;
  Task<runtime::ToolAnswer> call(std::string tool, json::object arguments,
                                 runtime::Caller caller) override;

 private:
  // The tools of one agent, until they change.
  struct Space {
    std::vector<NamedTool> tools;
    bool readable = false;  // some server has resources or prompts
  };
  const Space& space_of(const std::string& agent) const;
  const NamedTool* find(const std::string& agent, const std::string& tool) const;
  mcp::CallOptions options_for(const std::string& server, const runtime::Caller& caller) const;
  Task<runtime::ToolAnswer> list(json::object arguments, runtime::Caller caller);
  Task<runtime::ToolAnswer> read(json::object arguments, runtime::Caller caller);
  Task<runtime::ToolAnswer> fetch_prompt(json::object arguments, runtime::Caller caller);

  mcp::Connections& connections_;
  std::function<void(const std::string&)> changed_;
  mutable std::map<std::string, Space, std::less<>> spaces_;
};

}  // namespace reef::hooks
