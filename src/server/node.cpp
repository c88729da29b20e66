#include <fmt/format.h>

#include "bus/bus.h"
#include "organise/definitions.h"
#include "runtime/runtime.h"
#include "server/operations.h"
#include "server/server.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct NodeNeeds {
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  organise::Definitions& definitions;
  bus::Bus& bus;
  const std::function<Task<Status>()>& reload;
  const std::function<void()>& shutdown;
  const std::function<void(protocol::Stats&)>& fill_stats;
  static NodeNeeds of(const Node& node) {
    return {node.runtime, node.sessions, node.definitions, node.bus,
            node.reload,  node.shutdown, node.fill_stats};
  }
};

constexpr std::string_view kFeatures[] = {"request_id", "sessions", "shutdown",
                                          "organise",   "cursors",  "follow_decisions"};

Task<protocol::ServerMessage> reload(NodeNeeds needs) {
  const auto done = co_await needs.reload();
  if (!done) co_return protocol::make_error(done.error());
  co_return protocol::make_pong();
}

Task<protocol::ServerMessage> stats(NodeNeeds needs) {
  protocol::ServerMessage message;
  auto& out = *message.mutable_stats();
  const auto& setup = needs.runtime.setup();
  out.set_active_conversations(static_cast<std::uint32_t>(needs.runtime.active()));
  out.set_registered_agents(static_cast<std::uint32_t>(setup.agents.size()));
  if (const auto agent = setup.find("")) out.set_active_model(agent->model);
  out.set_version(REEF_VERSION);
  out.set_protocol_version(protocol::kVersion);
  out.set_sessions(needs.sessions.size());
  const auto defined = co_await needs.definitions.look();
  for (const auto& problem : defined->problems) out.add_problems(problem);
  if (!needs.bus.problem().empty()) out.add_problems(needs.bus.problem());
  needs.fill_stats(out);
  co_return message;
}

std::string_view replacement_for(protocol::ClientMessage::MsgCase operation) {
  using M = protocol::ClientMessage;
  switch (operation) {
    case M::kStartService:
    case M::kStopService:
    case M::kServiceLogs:
      return "components run under your service manager (systemctl --user, journalctl --user)";
    case M::kGetConfig:
      return "read config.toml in the home directory, or use GetStats";
    default:
      return "install skills into skills/ and declare MCP servers on the agent";
  }
}

protocol::Answer answer_hello(const protocol::Hello&) {
  protocol::ServerMessage message;
  auto& hello = *message.mutable_hello();
  hello.set_server_version(REEF_VERSION);
  hello.set_protocol_version(protocol::kVersion);
  for (const auto feature : kFeatures) hello.add_features(std::string(feature));
  return protocol::answer_with(std::move(message));
}

protocol::Answer answer_stats(NodeNeeds needs) {
  return protocol::answer_with(stats(needs));
}

protocol::Answer answer_reload(NodeNeeds needs) {
  return protocol::answer_with(reload(needs));
}

protocol::Answer answer_shutdown(NodeNeeds needs) {
  needs.shutdown();
  return protocol::answer_with(protocol::make_pong());
}

protocol::Answer answer_gone(const protocol::ClientMessage& request) {
  return protocol::answer_with(
      Error(Errc::gone, fmt::format("operation '{}' is gone: {}", protocol::operation_name(request),
                                    replacement_for(request.msg_case()))));
}

}  // namespace

Operations node_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kPing, Right::none, Messages::one, Naming::none,
       [](const Asked&) { return protocol::answer_with(protocol::make_pong()); }},
      {M::kHello, Right::none, Messages::one, Naming::none,
       [](const Asked& asked) { return answer_hello(asked.message.hello()); }},
      {M::kGetStats, Right::none, Messages::one, Naming::none, answered<answer_stats>},
      {M::kReload, Right::admin, Messages::one, Naming::ledger, answered<answer_reload>},
      {M::kShutdown, Right::admin, Messages::one, Naming::ledger, answered<answer_shutdown>},
      {M::kInstallPlugin, Right::admin, Messages::one, Naming::ledger,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kUninstallPlugin, Right::admin, Messages::one, Naming::ledger,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kListPlugins, Right::admin, Messages::one, Naming::ledger,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kSearchPlugins, Right::admin, Messages::one, Naming::ledger,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kStartService, Right::admin, Messages::one, Naming::ledger,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kStopService, Right::admin, Messages::one, Naming::ledger,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kServiceLogs, Right::admin, Messages::one, Naming::ledger,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kGetConfig, Right::admin, Messages::one, Naming::ledger,
       [](const Asked& asked) { return answer_gone(asked.message); }},
  };
  return kRows;
}

}  // namespace reef::server
