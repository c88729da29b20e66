#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/utf8.h"
#include "command_group.h"
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
    CLI::App* watch = nullptr;
    std::string agent, sender, key;
    std::vector<std::string> kinds;
  };
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
};

std::string_view name_of(protocol::AgentEventKind kind) {
  for (const auto& [name, value] : kKinds)
    if (value == kind) return name;
  return "unknown";
}

std::string shown(std::string_view text) {
  return utf8::single_line(utf8::printable(text));
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
    // One a line, for pipes.
    print_line(json::write(to_json(event)));
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

}  // namespace

EventCommands::EventCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  o.group = app.add_subcommand("events", "What happens in all conversations");
  o.group->require_subcommand(1);
  o.group->footer("Example:\n  reef events watch --kind done\n");
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
}

bool EventCommands::parsed() const {
  return options_.group->parsed();
}

int EventCommands::run(const Context& context) const {
  const auto& o = options_;
  protocol::SubscribeEvents request;
  for (const auto* text : {&o.agent, &o.sender, &o.key})
    if (!utf8::valid(*text)) {
      report("events", Error(Errc::invalid, "a name must be UTF-8"));
      return 2;
    }
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
