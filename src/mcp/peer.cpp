// Requests to a server, and the end of a connection.
#include "mcp/peer.h"

#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "mcp/peer_parts.h"

namespace reef::mcp {
namespace {

using std::chrono::milliseconds;

// The limit for a call, however much progress it reports.
constexpr milliseconds kCallMax = std::chrono::hours(2);
constexpr int kRoundsMax = 10;
constexpr int kPagesMax = 200;
constexpr std::size_t kListedMax = 5'000;

// Returns the valid items.
template <class T>
std::vector<T> all_from(const json::array& items, std::optional<T> (*from)(const json::value&)) {
  std::vector<T> out;
  for (const auto& item : items)
    if (auto one = from(item)) out.push_back(*std::move(one));
  return out;
}

Errc code_of(const rpc::Refusal& error) {
  switch (error.code) {
    case rpc::kMethodNotFound:
      return Errc::unsupported;
    case rpc::kInvalidParams:
      return Errc::invalid;
    case -32002:
      return Errc::not_found;
    default:
      return Errc::internal;
  }
}

}  // namespace

Peer::Peer(Needs needs, Resolved server, Watch watch)
    : needs_(needs),
      server_(std::move(server)),
      watch_(std::move(watch)),
      pending_(needs_.loop),
      background_(needs_.loop, "mcp peer") {}

Peer::~Peer() = default;

std::size_t Peer::calls() const {
  return pending_.size();
}

Task<Result<std::shared_ptr<Peer>>> Peer::connect(Needs needs, Resolved server, Watch watch) {
  auto peer = std::make_shared<Peer>(needs, std::move(server), std::move(watch));
  auto opened = co_await peer->open();
  if (opened) co_return peer;
  peer->watch_ = {};
  co_await peer->close();
  auto error = std::move(opened).error();
  error.what = peer->server_.scrub(std::move(error.what));
  co_return error;
}

Receiver Peer::receiver() {
  // `this` is safe: we own the transport, and it calls nothing once it is gone.
  return {[this](Incoming incoming) { hear(std::move(incoming)); },
          [this](Error why) { end(std::move(why)); }};
}

http::Headers Peer::headers_for(std::string_view method, const json::object& params) const {
  http::Headers out;
  if (!modern_) return out;
  out.emplace_back("MCP-Protocol-Version", version_);
  out.emplace_back("Mcp-Method", std::string(method));
  std::optional<std::string_view> name;
  if (method == "tools/call" || method == "prompts/get") name = json::find_string(params, "name");
  if (method == "resources/read") name = json::find_string(params, "uri");
  if (name) out.emplace_back("Mcp-Name", header_value(*name));
  return out;
}

Task<void> Peer::send_soon(std::shared_ptr<Peer> self, std::shared_ptr<Pending> pending,
                           Outgoing out) {
  co_await yield_to_loop();
  if (!self->transport_) co_return;
  auto sent = co_await self->transport_->send(std::move(out));
  if (sent) co_return;
  auto error = std::move(sent).error();
  error.what = self->server_.scrub(std::move(error.what));
  pending->settle({.failure = std::move(error)});
}

Task<void> Peer::notify_soon(std::shared_ptr<Peer> self, Outgoing out) {
  co_await yield_to_loop();
  if (self->closed_ || !self->transport_) co_return;
  if (const auto sent = co_await self->transport_->send(std::move(out)); !sent)
    log::debug("mcp {}: {}", self->server_.spec.name, sent.error().what);
}

// Waits, because the next message must not overtake this one, but not for ever on a server that
// does not take it.
Task<Status> Peer::send_within(Outgoing out, milliseconds patience) {
  struct Sent {
    explicit Sent(const Executor& loop) : changed(loop) {}
    std::optional<Status> how;
    Notify changed;
  };
  const auto sent = std::make_shared<Sent>(needs_.loop);
  const auto send = [](std::shared_ptr<Peer> self, std::shared_ptr<Sent> into,
                       Outgoing what) -> Task<void> {
    co_await yield_to_loop();
    into->how = co_await self->transport_->send(std::move(what));
    into->changed.notify_all();
  };
  TaskGroup sending(needs_.loop, "mcp notification");
  sending.spawn(send(shared_from_this(), sent, std::move(out)));
  const auto taken = [sent] { return sent->how.has_value(); };
  if (!co_await sent->changed.wait_for(patience, taken))
    co_return Error(Errc::timeout, "the server does not take the end of the handshake");
  co_return *sent->how;
}

void Peer::notify(std::string_view method, json::object params) {
  if (closed_) return;
  Outgoing out{rpc::make_notification(method, std::move(params)), {}, headers_for(method, {})};
  background_.spawn(notify_soon(shared_from_this(), std::move(out)));
}

// Nobody waits for this request any more, so the server may stop working on it. In 2026-07-28 over
// HTTP, closing the stream tells it that.
void Peer::give_up(std::int64_t id) {
  if (!pending_.close(id) || closed_ || !transport_) return;
  if (modern_ && transport_->kind() != "stdio") return;
  notify("notifications/cancelled", {{"requestId", id}, {"reason", "no longer wanted"}});
}

Task<rpc::Outcome> Peer::exchange(std::string method, json::object params, CallOptions options,
                                  milliseconds timeout, http::Headers headers) {
  if (closed_) co_return rpc::Outcome{.failure = *closed_};
  const auto self = shared_from_this();
  auto owner = owner_of(options);
  const rpc::Patience patience{timeout, kCallMax};
  const auto pending = pending_.open(patience, std::move(options), std::move(owner));
  const auto id = pending->id();
  struct GiveUp {
    Peer& peer;
    std::int64_t id;
    ~GiveUp() { peer.give_up(id); }
  } const give_up{*this, id};

  if (modern_ || pending->options.progress) {
    json::object about;
    if (const auto* given = json::find_object(params, "_meta")) about = *given;
    if (modern_)
      for (auto& [key, value] : meta()) about[key] = std::move(value);
    if (pending->options.progress) about["progressToken"] = id;
    params["_meta"] = std::move(about);
  }
  Outgoing out;
  out.id = id;
  out.headers = headers_for(method, params);
  for (auto& header : headers) out.headers.push_back(std::move(header));
  out.message = rpc::make_request(id, method, std::move(params));

  TaskGroup sending(needs_.loop, "mcp request");
  sending.spawn(send_soon(self, pending, std::move(out)));
  // The time that a user takes to answer does not count as the server's.
  const std::function<bool()> waits_for_user = [pending] {
    return pending->owner && pending->owner->asking > 0;
  };
  auto answer = co_await pending->wait(waits_for_user);
  if (answer) co_return *std::move(answer);
  co_return rpc::Outcome{
      .failure = Error(Errc::timeout,
                       fmt::format("no answer to {} in {} s", method, timeout.count() / 1000))};
}

Result<json::object> Peer::result_of(rpc::Outcome answer) const {
  if (answer.failure) return *std::move(answer.failure);
  if (answer.refusal)
    return Error(code_of(*answer.refusal),
                 fmt::format("{} (code {})",
                             utf8::excerpt(server_.scrub(answer.refusal->message), kSaidBytesMax),
                             answer.refusal->code));
  return *std::move(answer.result);
}

Task<Result<json::object>> Peer::request(std::string method, json::object params,
                                         CallOptions options, http::Headers headers) {
  auto given = params;
  for (int round = 0; round < kRoundsMax; ++round) {
    auto answer =
        co_await exchange(method, std::move(given), options, server_.spec.timeout, headers);
    auto result = result_of(std::move(answer));
    if (!result) co_return result;
    const auto type = json::find_string(*result, "resultType").value_or("complete");
    if (!modern_ || type == "complete") co_return result;
    if (type != "input_required")
      co_return Error(Errc::invalid, fmt::format("the server's result is of a kind that is not "
                                                 "known: {}",
                                                 utf8::excerpt(type)));
    given = params;
    REEF_CO_TRY(auto supplied, co_await supply(*result, options));
    if (!supplied.empty()) given["inputResponses"] = std::move(supplied);
    // Returned as received, and only when received.
    if (const auto* state = result->if_contains("requestState")) given["requestState"] = *state;
  }
  co_return Error(Errc::invalid, "the server asks and asks, and does not answer");
}

Task<Result<json::object>> Peer::supply(const json::object& wanted, const CallOptions& options) {
  json::object out;
  const auto* requests = json::find_object(wanted, "inputRequests");
  if (!requests) co_return out;
  if (requests->size() > kAsksMax)
    co_return Error(Errc::too_large, "the server asks too many questions at once");
  const auto copy = *requests;
  for (const auto& [key, value] : copy) {
    const auto* one = value.if_object();
    const std::string method(one ? json::find_string(*one, "method").value_or("") : "");
    const auto* params = one ? json::find_object(*one, "params") : nullptr;
    auto asked = params ? *params : json::object();
    REEF_CO_TRY(auto answer, co_await answer_to(method, std::move(asked), options));
    out[key] = std::move(answer);
  }
  co_return out;
}

Task<Result<json::array>> Peer::list(std::string method, std::string key) {
  json::array out;
  std::set<std::string> cursors;
  std::string cursor;
  for (int page = 0; page < kPagesMax; ++page) {
    json::object params;
    if (page > 0) params["cursor"] = cursor;
    REEF_CO_TRY(auto result, co_await request(method, std::move(params), {}));
    if (const auto* items = json::find_array(result, key))
      for (const auto& item : *items) {
        if (out.size() >= kListedMax) co_return out;
        out.push_back(item);
      }
    const auto next = json::find_string(result, "nextCursor");
    if (!next) co_return out;
    // A cursor seen before means that the server is going in circles.
    cursor = *next;
    if (!cursors.insert(cursor).second) co_return out;
  }
  co_return out;
}

Task<Result<std::vector<Tool>>> Peer::list_tools() {
  std::vector<Tool> out;
  if (!info_.tools && !modern_) co_return out;
  REEF_CO_TRY(const auto items, co_await list("tools/list", "tools"));
  known_tools_.clear();
  for (const auto& item : items) {
    auto tool = tool_from(item);
    if (!tool) {
      log::warn("mcp {}: a tool is left out: {}", server_.spec.name, tool.error().what);
      continue;
    }
    if (!known_tools_.emplace(tool->name, *tool).second) continue;
    out.push_back(*std::move(tool));
  }
  co_return out;
}

Task<Result<CallResult>> Peer::call_tool(std::string name, json::object arguments,
                                         CallOptions options) {
  http::Headers headers;
  if (const auto known = known_tools_.find(name); modern_ && known != known_tools_.end())
    headers = mirrored(known->second, arguments);
  json::object params{{"name", name}, {"arguments", std::move(arguments)}};
  REEF_CO_TRY(const auto result, co_await request("tools/call", std::move(params),
                                                  std::move(options), std::move(headers)));
  co_return call_result_from(result);
}

Task<Result<std::vector<Resource>>> Peer::list_resources() {
  REEF_CO_TRY(const auto items, co_await list("resources/list", "resources"));
  co_return all_from(items, resource_from);
}

Task<Result<std::vector<Resource>>> Peer::list_templates() {
  REEF_CO_TRY(const auto items, co_await list("resources/templates/list", "resourceTemplates"));
  co_return all_from(items, resource_from);
}

Task<Result<json::object>> Peer::read_resource(std::string uri, CallOptions options) {
  json::object params{{"uri", uri}};
  co_return co_await request("resources/read", std::move(params), std::move(options));
}

Task<Result<std::vector<Prompt>>> Peer::list_prompts() {
  REEF_CO_TRY(const auto items, co_await list("prompts/list", "prompts"));
  co_return all_from(items, prompt_from);
}

Task<Result<json::object>> Peer::get_prompt(std::string name, json::object arguments,
                                            CallOptions options) {
  json::object params{{"name", name}};
  if (!arguments.empty()) params["arguments"] = std::move(arguments);
  co_return co_await request("prompts/get", std::move(params), std::move(options));
}

Task<Status> Peer::ping() {
  // Without a session there is no ping, but server/discover is always allowed.
  auto answer = co_await exchange(modern_ ? "server/discover" : "ping", {}, {}, kSettingPatience);
  auto result = result_of(std::move(answer));
  if (!result) co_return std::move(result).error();
  co_return Ok{};
}

// ---- the end ----

void Peer::end(Error why) {
  if (closed_) return;
  why.what = server_.scrub(std::move(why.what));
  closed_ = why;
  pending_.fail_all(why);
  if (watch_.on_closed) watch_.on_closed(std::move(why));
}

Task<void> Peer::close() {
  const auto self = shared_from_this();
  watch_ = {};
  end(Error(Errc::unavailable, "the connection was closed"));
  background_.cancel();
  co_await background_.join();
  if (transport_) co_await transport_->close();
}

}  // namespace reef::mcp
