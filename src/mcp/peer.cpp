#include "mcp/peer.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "mcp/backoff.h"

namespace reef::mcp {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kModern = "2026-07-28";
constexpr std::string_view kLatestHandshake = "2025-11-25";
constexpr std::string_view kHandshakes[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::string_view kMeta = "io.modelcontextprotocol/";

// A server that does not know `server/discover` may not answer at all.
constexpr milliseconds kProbePatience{5'000};
constexpr milliseconds kHandshakePatience{30'000};
constexpr milliseconds kSettingPatience{10'000};
// The limit for a call, however much progress it reports.
constexpr milliseconds kCallMax = std::chrono::hours(2);
constexpr int kRoundsMax = 10;
constexpr std::size_t kAsksMax = 32;  // questions from the server that may wait at once
constexpr int kPagesMax = 200;
constexpr std::size_t kListedMax = 5'000;
constexpr std::size_t kLoggedMax = 200;
constexpr std::size_t kSaidBytesMax = 500;
constexpr std::size_t kInstructionsBytesMax = 8U << 10;
// The pauses before a broken subscription is made again.
constexpr milliseconds kListenAgainMin{1'000}, kListenAgainMax{60'000};

json::object client_info() {
  return {{"name", "reef"}, {"title", "Reef"}, {"version", REEF_VERSION}};
}

json::object client_capabilities() {
  return {{"roots", json::object()},
          {"elicitation", json::object{{"form", json::object()}, {"url", json::object()}}}};
}

bool lists(const json::object& in, std::string_view key, std::string_view version) {
  const auto* versions = json::find_array(in, key);
  return versions && std::any_of(versions->begin(), versions->end(), [&](const auto& one) {
           return one.is_string() && std::string_view(one.get_string()) == version;
         });
}

std::string name_and_version(const json::object& info) {
  std::string out(json::find_string(info, "name").value_or(""));
  if (const auto version = json::find_string(info, "version"); version && !version->empty())
    out += " " + std::string(*version);
  return utf8::excerpt(out, 200);
}

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

// The owner of running calls. Its tasks answer the server's questions: a question need not name its
// call, so it lives as long as any of the owner's calls.
struct Peer::Owner {
  explicit Owner(const Executor& loop) : questions(loop, "mcp questions") {}

  std::size_t asking = 0;  // questions that wait for the user
  TaskGroup questions;
};

// A request waiting for its answer.
struct Peer::Pending : rpc::Call {
  Pending(const Executor& loop, std::int64_t id, rpc::Patience patience, CallOptions with,
          std::shared_ptr<Owner> whose)
      : Call(loop, id, patience), options(std::move(with)), owner(std::move(whose)) {}

  const CallOptions options;
  const std::shared_ptr<Owner> owner;
};

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

// ---- finding out the server's revision ----

Task<Status> Peer::open() {
  const bool program = !server_.spec.command.empty();
  const auto start = [this, program]() -> Task<Status> {
    if (!program) {
      transport_ = make_http(needs_.loop, needs_.http, server_, receiver());
      co_return Ok{};
    }
    REEF_CO_TRY(transport_, co_await start_stdio(needs_.loop, server_, receiver()));
    co_return Ok{};
  };
  REEF_CO_CHECK(co_await start());
  auto probe = co_await discover(kProbePatience);
  if (probe && *probe == Probe::modern) {
    begin_listening();
    co_return Ok{};
  }
  if (!probe && program && closed_) {
    // Some programs exit at a request they do not know, so it is started again and not probed.
    co_await transport_->close();
    before_.push_back(std::move(transport_));
    closed_.reset();
    REEF_CO_CHECK(co_await start());
  } else if (!probe) {
    co_return std::move(probe).error();
  }
  auto shaken = co_await shake_hands();
  if (!shaken && probe && *probe == Probe::silent && !closed_) {
    // The server was slow, not old.
    const auto again = co_await discover(kHandshakePatience);
    if (again && *again == Probe::modern) {
      begin_listening();
      co_return Ok{};
    }
  }
  REEF_CO_CHECK(std::move(shaken));
  begin_listening();
  co_return Ok{};
}

Task<Result<Peer::Probe>> Peer::discover(milliseconds patience) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    modern_ = true;
    version_ = kModern;
    auto answer = co_await exchange("server/discover", {}, {}, patience);
    if (answer.result && json::find_array(*answer.result, "supportedVersions")) {
      if (lists(*answer.result, "supportedVersions", kModern)) {
        transport_->use_version(version_);
        learn(*answer.result);
        co_return Probe::modern;
      }
      break;  // newer or older than we are; the handshake may find a common revision
    }
    if (answer.refusal && answer.refusal->code == rpc::kUnsupportedVersion &&
        answer.refusal->data.is_object() &&
        lists(answer.refusal->data.get_object(), "supported", kModern))
      continue;
    if (answer.failure) {
      const auto code = answer.failure->code;
      const bool another_era = code == Errc::unsupported || code == Errc::invalid;
      modern_ = false;
      version_.clear();
      if (code == Errc::timeout) co_return Probe::silent;
      if (!another_era) co_return *answer.failure;
    }
    break;
  }
  modern_ = false;
  version_.clear();
  co_return Probe::legacy;
}

Task<Status> Peer::shake_hands() {
  auto done = co_await initialize();
  const bool by_http = !server_.spec.url.empty();
  if (done || !by_http || done.error().code != Errc::unsupported) co_return done;
  // It speaks neither; it may be as old as HTTP+SSE.
  auto sse = co_await open_sse(needs_.loop, needs_.http, server_, receiver());
  if (!sse) co_return done;
  co_await transport_->close();
  before_.push_back(std::exchange(transport_, *std::move(sse)));
  co_return co_await initialize();
}

Task<Status> Peer::initialize() {
  json::object params{{"protocolVersion", kLatestHandshake},
                      {"capabilities", client_capabilities()},
                      {"clientInfo", client_info()}};
  auto answer = co_await exchange("initialize", std::move(params), {}, kHandshakePatience);
  if (answer.refusal)
    co_return Error(Errc::unavailable,
                    fmt::format("the server refused the handshake: {}",
                                utf8::excerpt(answer.refusal->message, kSaidBytesMax)));
  if (answer.failure) co_return *answer.failure;
  const auto version = json::find_string(*answer.result, "protocolVersion").value_or("");
  if (std::find(std::begin(kHandshakes), std::end(kHandshakes), version) == std::end(kHandshakes))
    co_return Error(Errc::unavailable, fmt::format("the server speaks revision '{}', which is not "
                                                   "known here",
                                                   utf8::excerpt(version)));
  version_ = version;
  transport_->use_version(version_);
  learn(*answer.result);
  Outgoing out{rpc::make_notification("notifications/initialized", {})};
  REEF_CO_CHECK(co_await send_within(std::move(out), kSettingPatience));
  transport_->listen();
  co_return Ok{};
}

void Peer::learn(const json::object& result) {
  if (const auto* capabilities = json::find_object(result, "capabilities"))
    capabilities_ = *capabilities;
  info_.version = version_;
  info_.transport = transport_->kind();
  info_.tools = capabilities_.contains("tools");
  info_.resources = capabilities_.contains("resources");
  info_.prompts = capabilities_.contains("prompts");
  const auto instructions = json::find_string(result, "instructions").value_or("");
  info_.instructions = utf8::prefix(instructions, kInstructionsBytesMax);
  const auto* about = json::find_object(result, "serverInfo");
  if (const auto* meta = json::find_object(result, "_meta"))
    if (const auto* there = json::find_object(*meta, std::string(kMeta) + "serverInfo"))
      about = there;
  if (about) info_.server = name_and_version(*about);
}

void Peer::begin_listening() {
  if (modern_) {
    const auto* tools = json::find_object(capabilities_, "tools");
    // Only if somebody wants to know, because the subscription keeps the connection open.
    if (watch_.on_tools_changed && tools && json::find_bool(*tools, "listChanged") == true)
      background_.spawn(keep_subscribed(shared_from_this()));
  } else if (capabilities_.contains("logging")) {
    background_.spawn([](std::shared_ptr<Peer> self) -> Task<void> {
      co_await yield_to_loop();
      json::object params{{"level", "warning"}};
      // The result does not matter.
      static_cast<void>(
          co_await self->exchange("logging/setLevel", std::move(params), {}, kSettingPatience));
    }(shared_from_this()));
  }
}

// In 2026-07-28 changes are announced on a request that stays open.
Task<void> Peer::keep_subscribed(std::shared_ptr<Peer> self) {
  co_await yield_to_loop();
  Backoff backoff{kListenAgainMin, kListenAgainMax};
  while (!self->closed_) {
    const auto began = steady_now(self->needs_.loop);
    json::object params{{"notifications", json::object{{"toolsListChanged", true}}}};
    const auto answer =
        co_await self->exchange("subscriptions/listen", std::move(params), {}, milliseconds(0));
    if (answer.refusal || (answer.failure && answer.failure->code == Errc::unsupported)) co_return;
    if (steady_now(self->needs_.loop) - began > kListenAgainMax) backoff.succeed();
    co_await sleep_for(backoff.fail(0));
    // Changes in between were not announced, so there may have been some.
    if (!self->closed_ && self->watch_.on_tools_changed) self->watch_.on_tools_changed();
  }
}

// ---- requests ----

json::object Peer::meta() const {
  const std::string prefix(kMeta);
  return {{prefix + "protocolVersion", version_},
          {prefix + "clientInfo", client_info()},
          {prefix + "clientCapabilities", client_capabilities()}};
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

// ---- incoming messages ----

void Peer::hear(Incoming incoming) {
  switch (incoming.message.kind) {
    case rpc::Message::Kind::answer:
      return take_answer(std::move(incoming.message));
    case rpc::Message::Kind::notification:
      return take_notification(incoming.message);
    case rpc::Message::Kind::request:
      return take_request(std::move(incoming.message), incoming.during);
  }
}

void Peer::take_answer(rpc::Message message) {
  // Nobody waits for it when the request was given up, or never existed.
  static_cast<void>(pending_.settle(std::move(message)));
}

void Peer::take_notification(const rpc::Message& message) {
  if (message.method == "notifications/progress") {
    const auto token = json::find_int(message.params, "progressToken");
    const auto pending = token ? pending_.find(*token) : nullptr;
    if (!pending || !pending->options.progress) return;
    pending->renew();
    pending->options.progress(
        {json::find_number(message.params, "progress").value_or(0),
         json::find_number(message.params, "total").value_or(0),
         utf8::excerpt(json::find_string(message.params, "message").value_or(""), kSaidBytesMax)});
  } else if (message.method == "notifications/tools/list_changed") {
    if (watch_.on_tools_changed) watch_.on_tools_changed();
  } else if (message.method == "notifications/message") {
    if (++logged_ > kLoggedMax) return;
    const auto* data = message.params.if_contains("data");
    const auto text = !data               ? std::string()
                      : data->is_string() ? std::string(data->get_string())
                                          : json::write(*data);
    log::info("mcp {}: {}: {}", server_.spec.name,
              utf8::excerpt(json::find_string(message.params, "level").value_or("info")),
              utf8::excerpt(server_.scrub(text), kSaidBytesMax));
  }
}

// Returns the call that a question of the server belongs to; nullptr when that is unclear.
std::shared_ptr<Peer::Pending> Peer::asked_in(std::optional<std::int64_t> during) const {
  if (during) return pending_.find(*during);
  std::shared_ptr<Pending> out;
  for (const auto& [id, pending] : pending_) {
    if (!pending->options.elicit) continue;
    if (out && out->options.owner != pending->options.owner) return nullptr;
    out = pending;
  }
  return out;
}

std::shared_ptr<Peer::Owner> Peer::owner_of(const CallOptions& options) {
  if (!options.elicit) return nullptr;
  std::erase_if(owners_, [](const auto& owner) { return owner.second.expired(); });
  auto& known = owners_[options.owner];
  auto owner = known.lock();
  if (!owner) known = owner = std::make_shared<Owner>(needs_.loop);
  return owner;
}

void Peer::take_request(rpc::Message message, std::optional<std::int64_t> during) {
  const auto pending = message.method == "elicitation/create" ? asked_in(during) : nullptr;
  const auto owner = pending ? pending->owner : nullptr;
  auto& group = owner ? owner->questions : background_;
  // Limits a server that asks without end.
  if (group.size() >= kAsksMax) return;
  auto options = owner ? pending->options : CallOptions();
  group.spawn(answer_request(shared_from_this(), std::move(options), owner, std::move(message)));
}

Task<void> Peer::answer_request(std::shared_ptr<Peer> self, CallOptions options,
                                std::weak_ptr<Owner> owner, rpc::Message message) {
  co_await yield_to_loop();
  // The time that a user takes to answer does not count as the server's.
  struct Asking {
    Peer& peer;
    std::weak_ptr<Owner> owner;
    Asking(Peer& of, std::weak_ptr<Owner> who) : peer(of), owner(std::move(who)) {
      if (const auto it = owner.lock()) ++it->asking;
    }
    ~Asking() {
      const auto it = owner.lock();
      if (!it) return;
      --it->asking;
      for (const auto& [id, pending] : peer.pending_)
        if (pending->owner == it) pending->resume();
    }
  } const asking(*self, std::move(owner));
  auto answer = co_await self->answer_to(message.method, std::move(message.params), options);
  Outgoing out;
  if (answer) {
    out.message = rpc::make_result(message.id, *std::move(answer));
  } else {
    const bool unknown = answer.error().code == Errc::unsupported;
    out.message = rpc::make_error(message.id, {unknown ? rpc::kMethodNotFound : rpc::kInvalidParams,
                                               std::move(answer).error().what});
  }
  if (self->closed_ || !self->transport_) co_return;
  if (const auto sent = co_await self->transport_->send(std::move(out)); !sent)
    log::debug("mcp {}: {}", self->server_.spec.name, sent.error().what);
}

Task<Result<json::object>> Peer::answer_to(std::string method, json::object params,
                                           const CallOptions& options) {
  if (method == "ping") co_return json::object();
  if (method == "roots/list") {
    json::array roots;
    if (!server_.spec.cwd.empty())
      roots.push_back(
          json::object{{"uri", "file://" + server_.spec.cwd}, {"name", server_.spec.cwd}});
    co_return json::object{{"roots", std::move(roots)}};
  }
  if (method != "elicitation/create")
    co_return Error(Errc::unsupported, fmt::format("'{}' is not supported", utf8::excerpt(method)));
  if (!options.elicit) co_return json::object{{"action", "cancel"}};
  Elicitation question;
  question.message = json::find_string(params, "message").value_or("");
  if (json::find_string(params, "mode") == "url") {
    question.url = json::find_string(params, "url").value_or("");
    if (question.url.empty()) co_return Error(Errc::invalid, "an elicitation without its url");
  } else if (const auto* schema = json::find_object(params, "requestedSchema")) {
    question.schema = *schema;
  }
  const bool is_form = question.url.empty();
  const auto elicited = co_await options.elicit(std::move(question));
  switch (elicited.action) {
    case Elicited::Action::accept: {
      json::object out{{"action", "accept"}};
      if (is_form) out["content"] = elicited.content;
      co_return out;
    }
    case Elicited::Action::decline:
      co_return json::object{{"action", "decline"}};
    case Elicited::Action::cancel:
      break;
  }
  co_return json::object{{"action", "cancel"}};
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
