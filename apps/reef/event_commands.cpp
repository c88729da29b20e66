#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/utf8.h"
#include "command_rows.h"
#include "session_view.h"

namespace reef::cli {

class EventCommands final : public CommandGroup {
 public:
  EventCommands(CLI::App& app, bool& json);
  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  struct Options {
    CLI::App* group = nullptr;
    CLI::App *watch = nullptr, *publish = nullptr, *subscribe = nullptr, *ls = nullptr,
             *rm = nullptr;
    std::string agent, sender, key;
    std::vector<std::string> kinds;
    std::string source, target;
    std::optional<std::string> payload;
    bool once = false;
    std::uint64_t id = 0;
  };
  int run_watch(const Context& context) const;

  Options options_;
};

namespace {

using protocol::AgentEvent;

constexpr std::pair<const char*, protocol::AgentEventKind> kKinds[] = {
    {"text", protocol::AGENT_EVENT_KIND_TEXT_DELTA},
    {"thinking", protocol::AGENT_EVENT_KIND_THINKING_DELTA},
    {"tool_start", protocol::AGENT_EVENT_KIND_TOOL_START},
    {"tool_result", protocol::AGENT_EVENT_KIND_TOOL_RESULT},
    {"tools_complete", protocol::AGENT_EVENT_KIND_TOOLS_COMPLETE},
    {"done", protocol::AGENT_EVENT_KIND_DONE},
    {"text_start", protocol::AGENT_EVENT_KIND_TEXT_START},
    {"text_end", protocol::AGENT_EVENT_KIND_TEXT_END},
    {"thinking_start", protocol::AGENT_EVENT_KIND_THINKING_START},
    {"thinking_end", protocol::AGENT_EVENT_KIND_THINKING_END},
    {"compacted", protocol::AGENT_EVENT_KIND_COMPACTED},
};

std::string_view name_of(protocol::AgentEventKind kind) {
  for (const auto& [name, value] : kKinds)
    if (value == kind) return name;
  return "unknown";
}

json::object to_json(const AgentEvent& event) {
  json::object out{{"time", event.timestamp()}, {"kind", name_of(event.kind())},
                   {"agent", event.agent()},    {"sender", event.sender()},
                   {"key", event.key()},        {"session", event.session_id()},
                   {"guest", event.guest()},    {"content", event.content()}};
  if (event.missed() > 0) out["missed"] = event.missed();
  if (event.tool_calls_size() > 0) {
    json::array calls;
    for (const auto& call : event.tool_calls())
      calls.push_back(json::object{
          {"id", call.call_id()}, {"name", call.name()}, {"arguments", call.arguments()}});
    out["calls"] = std::move(calls);
  }
  if (event.kind() == protocol::AGENT_EVENT_KIND_TOOL_RESULT) {
    out["output"] = event.tool_output();
    out["isError"] = event.tool_is_error();
  }
  if (event.kind() == protocol::AGENT_EVENT_KIND_DONE) {
    out["failed"] = event.failed();
    out["hidden"] = event.hidden();
    if (event.has_context()) out["context"] = cli::to_json(event.context());
  }
  return out;
}

void print(const Context& context, const AgentEvent& event) {
  if (context.json) {
    // One JSON value a line, for pipes.
    print_json(to_json(event));
  } else {
    if (event.missed() > 0) print_line(fmt::format("... {} event(s) missed", event.missed()));
    auto line =
        fmt::format("{} {}{} {} {}", event.timestamp(), shown(event.agent()),
                    event.guest() ? " (guest)" : "", shown(event.key()), name_of(event.kind()));
    if (const auto content = shown(event.content()); !content.empty()) line += "  " + content;
    if (event.kind() == protocol::AGENT_EVENT_KIND_TOOL_RESULT)
      line += fmt::format("  {}{}", event.tool_is_error() ? "failed: " : "",
                          utf8::excerpt(event.tool_output(), 200));
    print_line(line);
  }
  std::fflush(stdout);
}

Task<Status> watch(const Context& context, client::Client& client,
                   protocol::SubscribeEvents request) {
  protocol::ClientMessage message;
  *message.mutable_subscribe_events() = std::move(request);
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer) co_return Ok{};
    if (answer->has_agent_event()) print(context, answer->agent_event());
  }
}

using Repeat = client::Client::Repeat;

json::object to_json(const protocol::SubscriptionInfo& one) {
  return json::object{
      {"id", one.id()},     {"source", one.source()},       {"agent", one.target_agent()},
      {"once", one.once()}, {"delivered", one.delivered()}, {"dropped", one.dropped()}};
}

std::string line_of(const protocol::SubscriptionInfo& one) {
  auto out =
      fmt::format("{:>4}  {} -> {}", one.id(), shown(one.source()), shown(one.target_agent()));
  if (one.once()) out += "  once";
  if (one.delivered() > 0) out += fmt::format("  {} delivered", one.delivered());
  if (one.dropped() > 0) out += fmt::format("  {} dropped", one.dropped());
  return out;
}

Task<Status> subscribe(const Context& context, client::Client& client, std::string source,
                       std::string agent, bool once) {
  protocol::ClientMessage message;
  auto& request = *message.mutable_subscribe_event();
  request.set_source(std::move(source));
  request.set_target_agent(std::move(agent));
  request.set_once(once);
  // Subscribing again returns the existing subscription, so the request may be repeated.
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Repeat::safe, kAnswerMax));
  if (context.json) {
    print_json(to_json(answer.subscription_info()));
  } else {
    print_line(line_of(answer.subscription_info()));
  }
  co_return Ok{};
}

Task<Status> list_subscriptions(const Context& context, client::Client& client) {
  protocol::ClientMessage message;
  message.mutable_list_subscriptions();
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Repeat::safe, kAnswerMax));
  const auto& all = answer.subscription_list();
  if (context.json) {
    json::array list;
    for (const auto& one : all.subscriptions()) list.push_back(to_json(one));
    print_json(json::object{{"subscriptions", std::move(list)},
                            {"published", all.published()},
                            {"dropped", all.dropped()}});
    co_return Ok{};
  }
  if (all.subscriptions().empty()) print_line("no subscriptions");
  for (const auto& one : all.subscriptions()) print_line(line_of(one));
  if (all.dropped() > 0)
    print_line(fmt::format("{} of {} event(s) met a limit; the log tells which", all.dropped(),
                           all.published()));
  co_return Ok{};
}

// Reads at most a little more than any limit; the daemon says what is too much.
std::string read_stdin() {
  constexpr std::size_t kBytesMax = 9U << 20;
  std::string out;
  char piece[4096];
  for (std::size_t size = 0; (size = std::fread(piece, 1, sizeof piece, stdin)) > 0;) {
    out.append(piece, size);
    if (out.size() > kBytesMax) break;
  }
  return out;
}

}  // namespace

EventCommands::EventCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  o.group = app.add_subcommand("events", "What happens, and who is started by it");
  o.group->require_subcommand(1);
  o.group->footer(
      "Examples:\n  reef events watch --kind done\n"
      "  reef events subscribe agent:scout:done writer\n"
      "  reef events publish rss:fetched 'three new entries'\n");
  o.watch = o.group->add_subcommand("watch", "Print events as they happen, until interrupted");
  o.watch->footer(
      "Examples:\n  reef events watch --agent reef --kind done\n"
      "  reef events watch --json | jq -r 'select(.kind == \"tool_start\").content'\n");
  o.watch->add_flag("--json", json, "One JSON object a line (docs/cli.md tells the shape)");
  o.watch->add_option("-a,--agent", o.agent, "Only what this agent says and does")
      ->type_name("AGENT");
  o.watch->add_option("-s,--sender", o.sender, "Only in conversations of this sender")
      ->type_name("SENDER");
  o.watch->add_option("--key", o.key, "Only in this conversation")->type_name("KEY");
  std::vector<std::string> names;
  for (const auto& [name, kind] : kKinds) names.emplace_back(name);
  o.watch->add_option("--kind", o.kinds, "Only these kinds; may be given several times")
      ->type_name("KIND")
      ->check(CLI::IsMember(names));

  const auto add = [&](const char* name, const char* what, const std::string& example) {
    return add_command(*o.group, json, name, what, example);
  };
  o.publish = add("publish", "Publish an event; agents subscribed to it are started",
                  "reef events publish rss:fetched 'three new entries'\n"
                  "  git log -1 | reef events publish git:pushed");
  o.publish->add_option("SOURCE", o.source, "Its name: parts between colons")->required();
  o.publish->add_option("PAYLOAD", o.payload, "What the agents are told; without: stdin");
  o.subscribe = add("subscribe", "Start an agent whenever an event comes; survives restarts",
                    "reef events subscribe agent:scout:done writer\n"
                    "  reef events subscribe 'rss:*' scout --once");
  o.subscribe->add_option("SOURCE", o.source, "The event; a part may be *")->required();
  o.subscribe->add_option("AGENT", o.target, "Who is started")->required();
  o.subscribe->add_flag("--once", o.once, "Only the first time");
  o.ls = add("ls", "Who is subscribed to what", "reef events ls --json");
  o.rm = add("rm", "Take a subscription away", "reef events rm 3");
  o.rm->add_option("ID", o.id, "From `reef events ls`")->required();
}

bool EventCommands::parsed() const {
  return options_.group->parsed();
}

int EventCommands::run(const Context& context) const {
  const auto& o = options_;
  for (const auto* text : {&o.agent, &o.sender, &o.key, &o.source, &o.target})
    if (!utf8::valid(*text)) {
      report("events", Error(Errc::invalid, "a name must be UTF-8"));
      return 2;
    }
  if (o.watch->parsed()) return run_watch(context);
  protocol::ClientMessage message;
  if (o.publish->parsed()) {
    message.mutable_publish_event()->set_source(o.source);
    message.mutable_publish_event()->set_payload(
        utf8::sanitize(o.payload ? *o.payload : read_stdin()));
  }
  if (o.rm->parsed()) message.mutable_unsubscribe_event()->set_id(o.id);
  return with_client(context, "events", Start::if_needed, [&](client::Client& client) {
    if (o.ls->parsed()) return list_subscriptions(context, client);
    if (o.subscribe->parsed()) return subscribe(context, client, o.source, o.target, o.once);
    return expect_pong(context, client, message,
                       o.rm->parsed() ? fmt::format("subscription {} is gone", o.id)
                                      : fmt::format("published {}", shown(o.source)));
  });
}

int EventCommands::run_watch(const Context& context) const {
  const auto& o = options_;
  protocol::SubscribeEvents request;
  request.set_agent(o.agent);
  request.set_sender(o.sender);
  request.set_key(o.key);
  for (const auto& [name, kind] : kKinds)
    if (std::find(o.kinds.begin(), o.kinds.end(), name) != o.kinds.end()) request.add_kinds(kind);
  return with_client(context, "events", Start::if_needed,
                     [&](client::Client& client) { return watch(context, client, request); });
}

std::unique_ptr<CommandGroup> event_commands(CLI::App& app, bool& json) {
  return std::make_unique<EventCommands>(app, json);
}

}  // namespace reef::cli
