// Agents: list, get, create, update, rename, delete.
#include <fmt/format.h>

#include "base/utf8.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

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
ServerMessage info_of(Node& node, const std::string& name) {
  const auto& setup = node.runtime.setup();
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

Task<ServerMessage> info_when_done(Node& node, Task<Status> work, std::string name) {
  const auto done = co_await std::move(work);
  if (!done) co_return protocol::make_error(done.error());
  co_return info_of(node, name);
}

protocol::Answer answer_list_agents(Node& node) {
  ServerMessage message;
  auto& list = *message.mutable_agent_list();
  std::size_t bytes = 0;
  for (const auto& [name, agent] : node.runtime.setup().agents) {
    auto& info = *list.add_agents();
    fill(info, agent);
    bytes += info.ByteSizeLong();
    if (bytes > kListBytesMax) info.clear_config();
  }
  return protocol::answer_with(std::move(message));
}

protocol::Answer answer_get_agent(Node& node, const protocol::GetAgent& request) {
  const auto found = node.runtime.setup().find(request.name());
  return protocol::answer_with(info_of(node, found ? found->name : request.name()));
}

protocol::Answer answer_create_agent(Node& node, const protocol::CreateAgent& request) {
  return protocol::answer_with(
      info_when_done(node, node.agents.create(request.name(), request.config(), request.prompt()),
                     request.name()));
}

protocol::Answer answer_update_agent(Node& node, const protocol::UpdateAgent& request) {
  return protocol::answer_with(
      info_when_done(node, node.agents.update(request.name(), request.config(), request.prompt()),
                     request.name()));
}

protocol::Answer answer_rename_agent(Node& node, const protocol::RenameAgent& request) {
  return protocol::answer_with(info_when_done(
      node, node.agents.rename(request.old_name(), request.new_name()), request.new_name()));
}

protocol::Answer answer_delete_agent(Node& node, const protocol::DeleteAgent& request) {
  return protocol::answer_with(pong_when_done(node.agents.remove(request.name())));
}

}  // namespace

Operations agents_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListAgents, Right::read, Answers::once,
       [](const Asked& asked) { return answer_list_agents(asked.node); }},
      {M::kGetAgent, Right::read, Answers::once, answered<&M::get_agent, answer_get_agent>},
      {M::kCreateAgent, Right::admin, Answers::once,
       answered<&M::create_agent, answer_create_agent>},
      {M::kUpdateAgent, Right::admin, Answers::once,
       answered<&M::update_agent, answer_update_agent>},
      {M::kRenameAgent, Right::admin, Answers::once,
       answered<&M::rename_agent, answer_rename_agent>},
      {M::kDeleteAgent, Right::admin, Answers::once,
       answered<&M::delete_agent, answer_delete_agent>},
  };
  return kRows;
}

}  // namespace reef::server
