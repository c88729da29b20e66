// Agents: list, get, create, update, rename, delete.
#include "server/agents.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "runtime/runtime.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

struct AgentsNeeds {
  runtime::Runtime& runtime;
  const Agents& agents;
  static AgentsNeeds of(const Node& node) { return {node.runtime, *node.agents}; }
};

using protocol::ServerMessage;

// A list is one message; configurations that do not fit must be asked for one by one.
constexpr std::size_t kListBytesMax = 12U << 20;

void fill(protocol::AgentInfo& out, const runtime::Agent& agent) {
  out.set_name(agent.name);
  out.set_id(agent.id);
  out.set_compact_tool_max_len(static_cast<std::uint32_t>(agent.compact_tool_max_len));
  out.set_description(agent.description);
  out.set_config(json::write(agent.config.value_or(json::object())));
  out.set_model(agent.model);
  out.set_max_iterations(static_cast<std::uint32_t>(agent.steps_max));
  out.set_thinking(agent.thinking != model::ThinkingLevel::off);
  for (const auto& skill : agent.skills) out.add_skills(skill);
  for (const auto& mcp : agent.mcps) out.add_mcps(mcp);
  for (const auto& tool : agent.tools) out.add_tools(tool);
}

// Finds the agent under exactly this name, so that a change is never another agent's.
ServerMessage info_of(AgentsNeeds needs, const std::string& name) {
  const auto& setup = needs.runtime.setup();
  const auto found = setup.agents.find(name);
  const bool built_in = found == setup.agents.end() && setup.worker && setup.worker->name == name;
  if (found == setup.agents.end() && !built_in)
    return protocol::make_error(
        Error(Errc::not_found, fmt::format("agent '{}' not found", utf8::excerpt(name))));
  const auto& agent = built_in ? *setup.worker : found->second;
  ServerMessage message;
  auto& info = *message.mutable_agent_info();
  fill(info, agent);
  info.set_prompt(utf8::sanitize(agent.prompt));
  return message;
}

Task<ServerMessage> info_when_done(AgentsNeeds needs, Task<Status> work, std::string name) {
  const auto done = co_await std::move(work);
  if (!done) co_return protocol::make_error(done.error());
  co_return info_of(needs, name);
}

protocol::Answer answer_list_agents(AgentsNeeds needs) {
  ServerMessage message;
  auto& list = *message.mutable_agent_list();
  std::size_t bytes = 0;
  for (const auto& [name, agent] : needs.runtime.setup().agents) {
    auto& info = *list.add_agents();
    fill(info, agent);
    bytes += info.ByteSizeLong();
    if (bytes > kListBytesMax) info.clear_config();
  }
  return protocol::answer_with(std::move(message));
}

protocol::Answer answer_get_agent(AgentsNeeds needs, const protocol::GetAgent& request) {
  const auto found = needs.runtime.setup().find(request.name());
  return protocol::answer_with(info_of(needs, found ? found->name : request.name()));
}

protocol::Answer answer_create_agent(AgentsNeeds needs, const protocol::CreateAgent& request) {
  return protocol::answer_with(
      info_when_done(needs, needs.agents.create(request.name(), request.config(), request.prompt()),
                     request.name()));
}

protocol::Answer answer_update_agent(AgentsNeeds needs, const protocol::UpdateAgent& request) {
  return protocol::answer_with(
      info_when_done(needs, needs.agents.update(request.name(), request.config(), request.prompt()),
                     request.name()));
}

protocol::Answer answer_rename_agent(AgentsNeeds needs, const protocol::RenameAgent& request) {
  return protocol::answer_with(info_when_done(
      needs, needs.agents.rename(request.old_name(), request.new_name()), request.new_name()));
}

protocol::Answer answer_delete_agent(AgentsNeeds needs, const protocol::DeleteAgent& request) {
  return protocol::answer_with(protocol::pong_when_done(needs.agents.remove(request.name())));
}

}  // namespace

Operations agents_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListAgents, Right::read, Messages::one, Naming::none, answered<answer_list_agents>},
      {M::kGetAgent, Right::read, Messages::one, Naming::none,
       answered<&M::get_agent, answer_get_agent>},
      {M::kCreateAgent, Right::admin, Messages::one, Naming::ledger,
       answered<&M::create_agent, answer_create_agent>},
      {M::kUpdateAgent, Right::admin, Messages::one, Naming::ledger,
       answered<&M::update_agent, answer_update_agent>},
      {M::kRenameAgent, Right::admin, Messages::one, Naming::ledger,
       answered<&M::rename_agent, answer_rename_agent>},
      {M::kDeleteAgent, Right::admin, Messages::one, Naming::ledger,
       answered<&M::delete_agent, answer_delete_agent>},
  };
  return kRows;
}

}  // namespace reef::server
