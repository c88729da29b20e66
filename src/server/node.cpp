#include <fmt/format.h>

#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

constexpr std::string_view kFeatures[] = {"request_id", "sessions", "shutdown", "organise",
                                          "cursors"};

Task<protocol::ServerMessage> reload(Node& node) {
  const auto done = co_await node.reload();
  if (!done) co_return protocol::make_error(done.error());
  co_return protocol::make_pong();
}

Task<protocol::ServerMessage> stats(Node& node) {
  protocol::ServerMessage message;
  auto& out = *message.mutable_stats();
  const auto& setup = node.runtime.setup();
  out.set_active_conversations(static_cast<std::uint32_t>(node.runtime.active()));
  out.set_registered_agents(static_cast<std::uint32_t>(setup.agents.size()));
  if (const auto agent = setup.find("")) out.set_active_model(agent->model);
  out.set_version(REEF_VERSION);
  out.set_protocol_version(protocol::kVersion);
  out.set_sessions(node.sessions.size());
  const auto defined = co_await node.definitions.look();
  for (const auto& problem : defined->problems) out.add_problems(problem);
  if (node.bus && !node.bus->problem().empty()) out.add_problems(node.bus->problem());
  node.fill_stats(out);
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

protocol::Answer answer_stats(Node& node) {
  return protocol::answer_with(stats(node));
}

protocol::Answer answer_reload(Node& node) {
  return protocol::answer_with(reload(node));
}

protocol::Answer answer_shutdown(Node& node) {
  node.shutdown();
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
      {M::kPing, Right::none, Answers::once,
       [](const Asked&) { return protocol::answer_with(protocol::make_pong()); }},
      {M::kHello, Right::none, Answers::once,
       [](const Asked& asked) { return answer_hello(asked.message.hello()); }},
      {M::kGetStats, Right::none, Answers::once,
       [](const Asked& asked) { return answer_stats(asked.node); }},
      {M::kReload, Right::admin, Answers::once,
       [](const Asked& asked) { return answer_reload(asked.node); }},
      {M::kShutdown, Right::admin, Answers::once,
       [](const Asked& asked) { return answer_shutdown(asked.node); }},
      {M::kInstallPlugin, Right::admin, Answers::once,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kUninstallPlugin, Right::admin, Answers::once,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kListPlugins, Right::admin, Answers::once,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kSearchPlugins, Right::admin, Answers::once,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kStartService, Right::admin, Answers::once,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kStopService, Right::admin, Answers::once,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kServiceLogs, Right::admin, Answers::once,
       [](const Asked& asked) { return answer_gone(asked.message); }},
      {M::kGetConfig, Right::admin, Answers::once,
       [](const Asked& asked) { return answer_gone(asked.message); }},
  };
  return kRows;
}

}  // namespace reef::server
