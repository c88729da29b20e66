// SubscribeEvents: sends what happens in all turns, as it happens.
#include <algorithm>

#include <fmt/format.h>

#include "base/overload.h"
#include "base/utf8.h"
#include "runtime/runtime.h"
#include "server/decisions.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/turns.h"

namespace reef::server {
namespace {

struct EventsNeeds {
  runtime::Runtime& runtime;
  static EventsNeeds of(const Node& node) { return {node.runtime}; }
};

using protocol::AgentEventKind;
using runtime::Happening;

constexpr std::string_view kCut = "…[truncated]";
constexpr std::size_t kLabelBytesMax = 200;

// nullopt for events that are not told: they are the asking client's business, or CrabTalk's
// clients know no word for them.
std::optional<AgentEventKind> kind_of(const runtime::Event& event) {
  using Kind = std::optional<AgentEventKind>;
  return std::visit(
      Overload{
          [](const runtime::Chunk&) -> Kind { return protocol::AGENT_EVENT_KIND_TEXT_DELTA; },
          [](const runtime::Thinking&) -> Kind {
            return protocol::AGENT_EVENT_KIND_THINKING_DELTA;
          },
          [](const runtime::ToolStart&) -> Kind { return protocol::AGENT_EVENT_KIND_TOOL_START; },
          [](const runtime::ToolResult&) -> Kind { return protocol::AGENT_EVENT_KIND_TOOL_RESULT; },
          [](const runtime::ToolsComplete&) -> Kind {
            return protocol::AGENT_EVENT_KIND_TOOLS_COMPLETE;
          },
          [](const runtime::ContextCompacted&) -> Kind {
            return protocol::AGENT_EVENT_KIND_COMPACTED;
          },
          [](const runtime::Decided&) -> Kind { return protocol::AGENT_EVENT_KIND_DECISION; },
          [](const runtime::End&) -> Kind { return protocol::AGENT_EVENT_KIND_DONE; },
          [](const runtime::TextStart&) -> Kind { return protocol::AGENT_EVENT_KIND_TEXT_START; },
          [](const runtime::TextEnd&) -> Kind { return protocol::AGENT_EVENT_KIND_TEXT_END; },
          [](const runtime::ThinkingStart&) -> Kind {
            return protocol::AGENT_EVENT_KIND_THINKING_START;
          },
          [](const runtime::ThinkingEnd&) -> Kind {
            return protocol::AGENT_EVENT_KIND_THINKING_END;
          },
          [](const auto&) -> Kind { return std::nullopt; },
      },
      event);
}

// "bash(ls -l)" with the first line of the command; for other tools the name.
std::string label_of(const runtime::ToolStart::Call& call) {
  if (call.name != "bash") return call.name;
  const auto arguments = json::parse(call.arguments);
  const auto* fields = arguments ? arguments->if_object() : nullptr;
  const auto command = fields ? json::find_string(*fields, "command") : std::nullopt;
  if (!command) return call.name;
  return fmt::format("bash({})",
                     utf8::excerpt(command->substr(0, command->find('\n')), kLabelBytesMax));
}

std::string short_count(std::int64_t tokens) {
  if (tokens < 1000) return fmt::format("{}", tokens);
  if (tokens < 1'000'000) return fmt::format("{:.1f}k", static_cast<double>(tokens) / 1e3);
  return fmt::format("{:.1f}M", static_cast<double>(tokens) / 1e6);
}

// "MODEL 1.2k in (800 cached) / 35 out", and the error.
std::string summary_of(const runtime::End& end) {
  const auto& usage = end.usage;
  const auto input = usage.input + usage.cache_read + usage.cache_write;
  std::string out;
  if (!end.model.empty()) {
    out = fmt::format("{} {} in", end.model, short_count(input));
    if (usage.cache_read > 0) out += fmt::format(" ({} cached)", short_count(usage.cache_read));
    out += fmt::format(" / {} out", short_count(usage.output));
  }
  if (!end.error.empty()) out += (out.empty() ? "" : ": ") + end.error;
  return out;
}

void fill(protocol::AgentEvent& out, const runtime::Event& event) {
  std::visit(Overload{
                 [&](const runtime::Chunk& e) { out.set_content(e.text); },
                 [&](const runtime::Thinking& e) { out.set_content(e.text); },
                 [&](const runtime::ToolStart& e) {
                   std::string labels;
                   for (const auto& call : e.calls) {
                     labels += (labels.empty() ? "" : ", ") + label_of(call);
                     auto& info = *out.add_tool_calls();
                     info.set_name(call.name);
                     info.set_arguments(call.arguments);
                     info.set_call_id(call.id);
                   }
                   out.set_content(labels);
                 },
                 [&](const runtime::ToolResult& e) {
                   out.set_content(fmt::format("{}ms", e.duration.count()));
                   constexpr auto kMax = runtime::Subscription::kOutputBytesMax;
                   auto shown = std::string(utf8::prefix(e.output, kMax));
                   if (e.output.size() > kMax) shown += kCut;
                   out.set_tool_output(utf8::sanitize(shown));
                   out.set_tool_is_error(e.is_error);
                 },
                 [&](const runtime::End& e) {
                   out.set_content(summary_of(e));
                   if (e.context) server::fill(*out.mutable_context(), *e.context);
                   out.set_failed(!e.error.empty());
                   out.set_hidden(e.hidden);
                 },
                 [&](const runtime::Decided& e) {
                   server::fill(*out.mutable_decision(), *e.decision);
                   out.set_content(std::string(runtime::name_of(e.decision->state)));
                 },
                 [&](const runtime::ContextCompacted& e) {
                   out.set_content(
                       fmt::format("about {} tokens became {}", e.tokens_before, e.tokens_after));
                   auto& compacted = *out.mutable_compacted();
                   compacted.set_session_id(out.session_id());
                   compacted.set_tokens_before(e.tokens_before);
                   compacted.set_tokens_after(e.tokens_after);
                   compacted.set_messages(e.messages);
                   compacted.set_archive(e.archive);
                   compacted.set_estimated(true);
                 },
                 [](const auto&) {},
             },
             event);
}

// Never ends by itself; survives reloads.
class EventStream final : public protocol::MessageStream {
 public:
  explicit EventStream(std::shared_ptr<runtime::Subscription> subscription)
      : subscription_(std::move(subscription)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    const auto happening = co_await subscription_->next();
    protocol::ServerMessage message;
    auto& out = *message.mutable_agent_event();
    out.set_agent(happening.scene.agent);
    out.set_sender(happening.scene.sender);
    out.set_kind(*kind_of(happening.event));
    out.set_timestamp(format_iso(happening.time));
    out.set_session_id(happening.scene.session);
    out.set_key(happening.scene.key);
    out.set_guest(happening.scene.guest);
    out.set_ephemeral(happening.scene.ephemeral);
    out.set_missed(happening.missed);
    fill(out, happening.event);
    co_return message;
  }

 private:
  std::shared_ptr<runtime::Subscription> subscription_;
};

protocol::Answer answer_subscribe_events(EventsNeeds needs,
                                         const protocol::SubscribeEvents& request) {
  for (const int kind : request.kinds())
    if (!protocol::AgentEventKind_IsValid(kind))
      return protocol::answer_with(
          Error(Errc::invalid, fmt::format("there is no kind {} of events", kind)));
  std::vector<int> kinds(request.kinds().begin(), request.kinds().end());
  auto filter = [agent = request.agent(), sender = request.sender(), key = request.key(),
                 kinds = std::move(kinds)](const runtime::Scene& scene,
                                           const runtime::Event& event) {
    const auto kind = kind_of(event);
    return kind && (agent.empty() || scene.agent == agent) &&
           (sender.empty() || scene.sender == sender) && (key.empty() || scene.key == key) &&
           // CrabTalk's clients, which name no kinds, do not know this one.
           (kinds.empty() ? *kind != protocol::AGENT_EVENT_KIND_COMPACTED &&
                                *kind != protocol::AGENT_EVENT_KIND_DECISION
                          : std::find(kinds.begin(), kinds.end(), *kind) != kinds.end());
  };
  return std::make_unique<EventStream>(needs.runtime.broadcast().subscribe(std::move(filter)));
}

}  // namespace

Operations events_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kSubscribeEvents, Right::read, Messages::many, Naming::none,
       answered<&M::subscribe_events, answer_subscribe_events>},
  };
  return kRows;
}

}  // namespace reef::server
