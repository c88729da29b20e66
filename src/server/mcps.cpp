// MCP servers of agents: list, add or change, remove, test, and what happens to them.
#include "server/mcps.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "mcp/connections.h"
#include "oauth/accounts.h"
#include "runtime/runtime.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

using protocol::ServerMessage;

constexpr int kShownMax = 200;  // of a test's resources and prompts
constexpr std::size_t kShownBytesMax = 500;

Error no_agent(const std::string& name) {
  return Error(Errc::not_found, fmt::format("agent '{}' not found", utf8::excerpt(name)));
}

const Error& not_here() {
  static const Error error(Errc::unavailable, "there are no MCP servers in this daemon");
  return error;
}

protocol::McpStatus status_of(mcp::State state) {
  switch (state) {
    case mcp::State::unknown:
      return protocol::MCP_STATUS_UNKNOWN;
    case mcp::State::connecting:
      return protocol::MCP_STATUS_CONNECTING;
    case mcp::State::connected:
      return protocol::MCP_STATUS_CONNECTED;
    case mcp::State::disconnected:
      return protocol::MCP_STATUS_DISCONNECTED;
    case mcp::State::failed:
    case mcp::State::needs_login:
      return protocol::MCP_STATUS_FAILED;
  }
  return protocol::MCP_STATUS_UNKNOWN;
}

protocol::McpEventKind kind_of(mcp::State state) {
  switch (state) {
    case mcp::State::unknown:
      return protocol::MCP_EVENT_KIND_UNKNOWN;
    case mcp::State::connecting:
      return protocol::MCP_EVENT_KIND_CONNECTING;
    case mcp::State::connected:
      return protocol::MCP_EVENT_KIND_CONNECTED;
    case mcp::State::disconnected:
      return protocol::MCP_EVENT_KIND_DISCONNECTED;
    case mcp::State::failed:
    case mcp::State::needs_login:
      return protocol::MCP_EVENT_KIND_FAILED;
  }
  return protocol::MCP_EVENT_KIND_UNKNOWN;
}

// Secrets are masked.
void fill(protocol::McpInfo& out, const mcp::Listing& listing) {
  const auto shown = mcp::masked(listing.spec);
  out.set_name(shown.name);
  out.set_command(utf8::sanitize(shown.command));
  for (const auto& arg : shown.args) out.add_args(utf8::sanitize(arg));
  for (const auto& [name, value] : shown.env)
    (*out.mutable_env())[utf8::sanitize(name)] = utf8::sanitize(value);
  out.set_url(utf8::sanitize(shown.url));
  out.set_auth(utf8::sanitize(shown.auth));
  out.set_source(listing.agent);
  out.set_auto_restart(shown.auto_restart);
  out.set_source_kind(shown.component ? protocol::SOURCE_KIND_EXTERNAL
                                      : protocol::SOURCE_KIND_LOCAL);
  out.set_status(status_of(listing.state));
  out.set_error(utf8::sanitize(listing.error));
  out.set_tool_count(static_cast<std::uint32_t>(listing.tools.size()));
  out.set_needs_login(listing.state == mcp::State::needs_login);
  out.set_login(utf8::sanitize(listing.login));
  for (const auto& [key, value] : oauth::words_of(shown.oauth))
    (*out.mutable_oauth())[key] = utf8::sanitize(value);
}

ServerMessage info_of(const mcp::Connections& connections, const std::string& agent,
                      const std::string& name) {
  for (const auto& listing : connections.list(agent))
    if (listing.spec.name == name) {
      ServerMessage message;
      fill(*message.mutable_mcp_info(), listing);
      return message;
    }
  return protocol::make_error(
      Error(Errc::not_found, fmt::format("mcp '{}' missing from listing after upsert", name)));
}

Task<ServerMessage> info_when_done(mcp::Connections& connections, Task<Status> work,
                                   std::string agent, std::string name) {
  const auto done = co_await std::move(work);
  if (!done) co_return protocol::make_error(done.error());
  co_return info_of(connections, agent, name);
}

std::string shown(std::string_view text) {
  return utf8::excerpt(utf8::single_line(utf8::printable(text)), kShownBytesMax);
}

Task<void> look_at(mcp::Peer& peer, protocol::McpVerdict& verdict) {
  const auto tools = co_await peer.list_tools();
  if (!tools) {
    verdict.set_error(utf8::sanitize(tools.error().what));
    co_return;
  }
  for (const auto& tool : *tools) {
    auto& out = *verdict.add_tools();
    out.set_name(shown(tool.name));
    out.set_description(shown(tool.description));
    out.set_read_only(tool.read_only);
  }
  // A server that claims to have something and does not list it is not broken for that.
  if (peer.info().resources)
    if (const auto resources = co_await peer.list_resources())
      for (const auto& one : *resources)
        if (verdict.resources_size() < kShownMax) verdict.add_resources(shown(one.uri));
  if (peer.info().prompts)
    if (const auto prompts = co_await peer.list_prompts())
      for (const auto& one : *prompts)
        if (verdict.prompts_size() < kShownMax) verdict.add_prompts(shown(one.name));
  verdict.set_ok(true);
}

// `agent` is the owner of the server; empty when nobody has it yet.
Task<ServerMessage> test(mcp::Connections& connections, mcp::Spec spec, std::string agent) {
  ServerMessage message;
  auto& verdict = *message.mutable_mcp_verdict();
  const auto account = connections.account_of(spec);
  const auto name = spec.name;
  const auto loop = co_await boost::asio::this_coro::executor;
  const auto begin = steady_now(loop);
  const auto peer = co_await connections.connect_alone(std::move(spec));
  const auto took = steady_now(loop) - begin;
  verdict.set_connect_ms(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  if (!peer) {
    const bool login = peer.error().code == Errc::unauthorized && account && account->needs_login();
    verdict.set_needs_login(login);
    auto why = peer.error().what;
    if (login && !agent.empty()) why += ": " + mcp::login_command(agent, name);
    if (login && agent.empty()) why += ": `reef mcp add` it, then `reef mcp login`";
    verdict.set_error(utf8::sanitize(why));
    co_return message;
  }
  const auto& info = (*peer)->info();
  verdict.set_server(shown(info.server));
  verdict.set_protocol(info.version);
  verdict.set_transport(info.transport);
  co_await look_at(**peer, verdict);
  co_await (*peer)->close();
  co_return message;
}

class McpEvents final : public protocol::MessageStream {
 public:
  explicit McpEvents(std::shared_ptr<mcp::Feed> feed) : feed_(std::move(feed)) {}

  Task<std::optional<ServerMessage>> next() override {
    const auto event = co_await feed_->next();
    ServerMessage message;
    auto& out = *message.mutable_mcp_event();
    out.set_kind(kind_of(event.state));
    out.set_name(event.server);
    out.set_agent(event.agent);
    out.set_error(utf8::sanitize(event.error));
    out.set_needs_login(event.state == mcp::State::needs_login);
    out.set_timestamp(format_iso(event.time));
    for (const auto& tool : event.tools) out.add_tools(shown(tool));
    co_return message;
  }

 private:
  std::shared_ptr<mcp::Feed> feed_;
};

protocol::Answer answer_list_mcps(McpsNeeds needs, const protocol::ListMcps& request) {
  if (!needs.mcps.connections) return protocol::answer_with(not_here());
  if (!request.agent().empty() && !needs.runtime.setup().agents.contains(request.agent()))
    return protocol::answer_with(no_agent(request.agent()));
  ServerMessage message;
  auto& list = *message.mutable_mcp_list();
  for (const auto& listing : needs.mcps.connections->list(request.agent()))
    fill(*list.add_mcps(), listing);
  return protocol::answer_with(std::move(message));
}

protocol::Answer answer_upsert_mcp(McpsNeeds needs, const protocol::UpsertMcp& request) {
  if (!needs.mcps.connections) return protocol::answer_with(not_here());
  if (request.agent().empty())
    return protocol::answer_with(Error(Errc::invalid, "agent name is required for upsert_mcp"));
  if (!needs.runtime.setup().agents.contains(request.agent()))
    return protocol::answer_with(no_agent(request.agent()));
  const auto spec = needs.mcps.read(request.config());
  if (!spec) return protocol::answer_with(spec.error());
  return protocol::answer_with(info_when_done(*needs.mcps.connections,
                                              needs.mcps.save(request.agent(), request.config()),
                                              request.agent(), spec->name));
}

protocol::Answer answer_delete_mcp(McpsNeeds needs, const protocol::DeleteMcp& request) {
  if (!needs.mcps.connections) return protocol::answer_with(not_here());
  if (request.agent().empty())
    return protocol::answer_with(Error(Errc::invalid, "agent name is required for delete_mcp"));
  if (!needs.runtime.setup().agents.contains(request.agent()))
    return protocol::answer_with(no_agent(request.agent()));
  return protocol::answer_with(
      protocol::pong_when_done(needs.mcps.remove(request.agent(), request.name())));
}

protocol::Answer answer_reconnect_mcp(McpsNeeds needs, const protocol::ReconnectMcp& request) {
  if (!needs.mcps.connections) return protocol::answer_with(not_here());
  const auto spec = find_mcp(needs.runtime.setup(), request.agent(), request.name());
  if (!spec) return protocol::answer_with(spec.error());
  const auto agent = needs.runtime.setup().find(request.agent());
  return protocol::answer_with(info_when_done(
      *needs.mcps.connections, needs.mcps.connections->reconnect(agent->name, spec->name),
      agent->name, spec->name));
}

protocol::Answer answer_test_mcp(McpsNeeds needs, const protocol::TestMcp& request) {
  if (!needs.mcps.connections) return protocol::answer_with(not_here());
  if (!request.config().empty()) {
    auto spec = needs.mcps.read(request.config());
    if (!spec) return protocol::answer_with(spec.error());
    return protocol::answer_with(test(*needs.mcps.connections, *std::move(spec), {}));
  }
  auto spec = find_mcp(needs.runtime.setup(), request.agent(), request.name());
  if (!spec) return protocol::answer_with(spec.error());
  const auto agent = needs.runtime.setup().find(request.agent());
  return protocol::answer_with(test(*needs.mcps.connections, *std::move(spec), agent->name));
}

}  // namespace

McpsNeeds McpsNeeds::of(const Node& node) {
  return {node.runtime, *node.mcps};
}

Result<mcp::Spec> find_mcp(const runtime::Setup& setup, const std::string& agent,
                           const std::string& name) {
  REEF_TRY(const auto found, setup.find(agent));
  for (const auto& spec : found.servers.all())
    if (spec.name == name) return spec;
  return Error(Errc::not_found,
               fmt::format("agent '{}' has no server '{}'", found.name, utf8::excerpt(name)));
}

namespace {

protocol::Answer answer_subscribe_mcp_events(McpsNeeds needs) {
  if (!needs.mcps.connections) return protocol::answer_with(not_here());
  return std::make_unique<McpEvents>(needs.mcps.connections->subscribe());
}

}  // namespace

Operations mcps_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kReconnectMcp, Right::admin, Messages::one, Naming::ledger,
       answered<&M::reconnect_mcp, answer_reconnect_mcp>},
      {M::kListMcps, Right::read, Messages::one, Naming::none,
       answered<&M::list_mcps, answer_list_mcps>},
      {M::kUpsertMcp, Right::admin, Messages::one, Naming::ledger,
       answered<&M::upsert_mcp, answer_upsert_mcp>},
      {M::kDeleteMcp, Right::admin, Messages::one, Naming::ledger,
       answered<&M::delete_mcp, answer_delete_mcp>},
      {M::kTestMcp, Right::admin, Messages::one, Naming::ledger,
       answered<&M::test_mcp, answer_test_mcp>},
      {M::kSubscribeMcpEvents, Right::read, Messages::many, Naming::none,
       answered<answer_subscribe_mcp_events>},
  };
  return kRows;
}

}  // namespace reef::server
