// How a connection begins: which revision the server speaks, the handshake where there is one, and
// hearing of changes.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "mcp/backoff.h"
#include "mcp/peer_parts.h"

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

}  // namespace

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

// Goes with every request of 2026-07-28.
json::object Peer::meta() const {
  const std::string prefix(kMeta);
  return {{prefix + "protocolVersion", version_},
          {prefix + "clientInfo", client_info()},
          {prefix + "clientCapabilities", client_capabilities()}};
}

}  // namespace reef::mcp
