#include "hooks/mcp/mcp_hook.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "base/utf8.h"
#include "hooks/description.h"
#include "hooks/mcp/elicitation.h"

namespace reef::hooks {
namespace {

using runtime::Caller;
using runtime::Intent;
using runtime::ToolAnswer;

// The first turn waits this long for its servers, then goes on without those that need longer.
constexpr std::chrono::milliseconds kFirstTurnPatience{3'000};
constexpr std::size_t kAnswerBytesMax = 100'000;
constexpr std::size_t kShownBytesMax = 300;
constexpr std::size_t kInstructionsBytesMax = 2'000;
constexpr std::size_t kStructuredBytesMax = 64U << 10;
constexpr int kAsksMax = 3;

const Description kList{
    "mcp_list",
    "List the resources and prompts of MCP servers.",
    {{.name = "server", .description = "Only of this server; all if not given."}}};
const Description kRead{"mcp_read",
                        "Read a resource of an MCP server.",
                        {{.name = "server", .description = "The server's name.", .required = true},
                         {.name = "uri",
                          .description = "From mcp_list, or one its templates allow.",
                          .required = true}}};
const Description kPrompt{
    "mcp_prompt",
    "Get a prompt of an MCP server.",
    {{.name = "server", .description = "The server's name.", .required = true},
     {.name = "name", .description = "From mcp_list.", .required = true},
     {.name = "arguments", .description = "A JSON object of texts, when the prompt takes any."}}};

std::string bounded(std::string text) {
  if (text.size() <= kAnswerBytesMax) return text;
  const auto left = text.size() - kAnswerBytesMax;
  text = utf8::prefix(text, kAnswerBytesMax);
  return text + fmt::format("\n[cut here; {} more bytes]", left);
}

ToolAnswer answer_from(mcp::CallResult result) {
  ToolAnswer out;
  out.text = bounded(utf8::sanitize(result.text));
  out.is_error = result.is_error;
  for (auto& image : result.images)
    out.images.push_back({std::move(image.data), std::move(image.mime_type)});
  if (out.text.empty()) out.text = out.images.empty() ? "(no output)" : "(an image)";
  if (!result.structured.empty() && json::write(result.structured).size() <= kStructuredBytesMax)
    out.details["structuredContent"] = std::move(result.structured);
  return out;
}

std::string shown(const mcp::Progress& progress) {
  std::string out;
  if (progress.total > 0 && std::isfinite(progress.done) && std::isfinite(progress.total))
    out = fmt::format("{:.0f} %", std::clamp(progress.done / progress.total, 0.0, 1.0) * 100);
  if (!progress.message.empty()) out += (out.empty() ? "" : ": ") + progress.message;
  return out.empty() ? fmt::format("{}", progress.done) : out;
}

Task<mcp::Elicited> ask_user(Caller caller, std::string server, mcp::Elicitation elicitation) {
  std::string complaint;
  for (int round = 0; round < kAsksMax; ++round) {
    runtime::Ask ask;
    ask.questions = questions_from(server, elicitation);
    if (!complaint.empty()) ask.questions.front().text.insert(0, complaint + "\n");
    const auto answers = co_await caller.ask(std::move(ask));
    // Nobody is there to answer, or the user declined.
    if (!answers) co_return mcp::Elicited{};
    auto elicited = elicited_from(elicitation, *answers);
    if (elicited) co_return *std::move(elicited);
    complaint = elicited.error().what;
  }
  co_return mcp::Elicited{};
}

}  // namespace

McpHook::McpHook(mcp::Connections& connections, std::function<void(const std::string&)> changed)
    : connections_(connections), changed_(std::move(changed)) {
  connections_.on_tools_changed([this](const std::string& agent) {
    spaces_.erase(agent);
    if (changed_) changed_(agent);
  });
}

void McpHook::on_register_agent(const runtime::Agent& agent) {
  connections_.declare(agent.name, agent.servers.all());
  spaces_.erase(agent.name);
}

void McpHook::on_unregister_agent(const std::string& name) {
  connections_.withdraw(name);
  spaces_.erase(name);
}

Task<void> McpHook::ready(const runtime::Agent& agent) const {
  if (!agent.servers.all().empty()) co_await connections_.warm(agent.name, kFirstTurnPatience);
}

const McpHook::Space& McpHook::space_of(const std::string& agent) const {
  const auto known = spaces_.find(agent);
  if (known != spaces_.end()) return known->second;
  Space space;
  std::vector<std::string> clashes;
  const auto servers = connections_.list(agent);
  space.tools = named_tools(servers, clashes);
  space.readable = std::any_of(servers.begin(), servers.end(), [](const auto& server) {
    return server.info.resources || server.info.prompts;
  });
  for (const auto& clash : clashes) log::warn("agent {}: tool {}", agent, clash);
  return spaces_[agent] = std::move(space);
}

const NamedTool* McpHook::find(const std::string& agent, const std::string& tool) const {
  for (const auto& one : space_of(agent).tools)
    if (one.name == tool) return &one;
  return nullptr;
}

std::vector<model::Tool> McpHook::tools(const runtime::Agent& agent) const {
  std::vector<model::Tool> out;
  if (agent.servers.all().empty()) return out;
  const auto& space = space_of(agent.name);
  for (const auto& one : space.tools)
    out.push_back({one.name, one.tool.description, one.tool.schema});
  if (space.readable)
    for (const auto* description : {&kList, &kRead, &kPrompt})
      out.push_back(tool_from(*description));
  return out;
}

std::string McpHook::prompt(const runtime::Agent& agent) const {
  std::string out;
  if (agent.servers.all().empty()) return out;
  for (const auto& server : connections_.list(agent.name)) {
    std::string words(
        utf8::prefix(utf8::printable(server.info.instructions), kInstructionsBytesMax));
    // Only the user can log in, and may not know that it is needed.
    if (server.state == mcp::State::needs_login)
      words =
          "It cannot be used before the user has logged in to it, by this command: " + server.error;
    if (words.empty()) continue;
    out += fmt::format("{}<mcp_server name=\"{}\">\n{}\n</mcp_server>", out.empty() ? "" : "\n",
                       server.spec.name, words);
  }
  return out;
}

Intent McpHook::intent(const std::string& tool, const json::object& arguments,
                       const Caller& caller) const {
  const auto* one = find(caller.agent.name, tool);
  // Listing and reading change nothing, and an unknown tool is an error of the call.
  if (!one) return {Intent::Effect::reads, tool, {}, {}};
  Intent out;
  out.effect = one->tool.read_only ? Intent::Effect::reads : Intent::Effect::changes;
  out.shown = fmt::format("{} of server '{}' {}", utf8::excerpt(one->tool.name), one->server,
                          utf8::excerpt(json::write(arguments), kShownBytesMax));
  out.rule = tool;
  out.reason = "its server does not say that it only looks";
  return out;
}

mcp::CallOptions McpHook::options_for(const std::string& server, const Caller& caller) const {
  mcp::CallOptions options;
  options.owner = caller.session.text();
  if (caller.progress)
    options.progress = [tell = caller.progress](const mcp::Progress& progress) {
      tell(shown(progress) + "\n");
    };
  if (caller.ask)
    options.elicit = [caller, server](mcp::Elicitation elicitation) {
      return ask_user(caller, server, std::move(elicitation));
    };
  return options;
}

Task<ToolAnswer> McpHook::call(std::string tool, json::object arguments, Caller caller) {
  if (tool == kList.name) co_return co_await list(std::move(arguments), std::move(caller));
  if (tool == kRead.name) co_return co_await read(std::move(arguments), std::move(caller));
  if (tool == kPrompt.name)
    co_return co_await fetch_prompt(std::move(arguments), std::move(caller));
  const auto* found = find(caller.agent.name, tool);
  if (!found) co_return failed(fmt::format("tool not available any more: {}", utf8::excerpt(tool)));
  const auto server = found->server;
  const auto name = found->tool.name;
  auto options = options_for(server, caller);
  auto result = co_await connections_.call(caller.agent.name, server, name, std::move(arguments),
                                           std::move(options));
  if (!result) co_return failed(fmt::format("mcp call failed: {}", result.error().what));
  co_return answer_from(*std::move(result));
}

Task<ToolAnswer> McpHook::list(json::object arguments, Caller caller) {
  if (const auto good = check(kList, arguments); !good) co_return failed(good.error().what);
  const auto only = text_of(arguments, "server");
  std::string out;
  const auto add = [&](std::string_view what, const std::string& name, const std::string& words) {
    out += fmt::format("{} {}{}{}\n", what, utf8::excerpt(name, kShownBytesMax),
                       words.empty() ? "" : ": ", utf8::excerpt(words, kShownBytesMax));
  };
  for (const auto& server : connections_.list(caller.agent.name)) {
    if (!only.empty() && server.spec.name != only) continue;
    if (!server.info.resources && !server.info.prompts) continue;
    out += fmt::format("server {}\n", server.spec.name);
    const auto lease = co_await connections_.use(caller.agent.name, server.spec.name);
    if (!lease) {
      out += lease.error().what + "\n";
      continue;
    }
    if (server.info.resources) {
      const auto resources = co_await (*lease)->list_resources();
      if (resources)
        for (const auto& one : *resources)
          add("  resource", one.uri, one.description.empty() ? one.name : one.description);
      const auto templates = co_await (*lease)->list_templates();
      if (templates)
        for (const auto& one : *templates)
          add("  template", one.uri, one.description.empty() ? one.name : one.description);
    }
    if (server.info.prompts) {
      const auto prompts = co_await (*lease)->list_prompts();
      if (prompts)
        for (const auto& one : *prompts)
          add("  prompt", fmt::format("{}({})", one.name, fmt::join(one.arguments, ", ")),
              one.description);
    }
  }
  if (out.empty())
    co_return failed(only.empty() ? "no server has resources or prompts"
                                  : fmt::format("there is no server '{}' with resources or prompts",
                                                utf8::excerpt(only)));
  co_return ToolAnswer{bounded(std::move(out))};
}

Task<ToolAnswer> McpHook::read(json::object arguments, Caller caller) {
  if (const auto good = check(kRead, arguments); !good) co_return failed(good.error().what);
  const auto server = text_of(arguments, "server");
  const auto lease = co_await connections_.use(caller.agent.name, server);
  if (!lease) co_return failed(lease.error().what);
  auto options = options_for(server, caller);
  const auto result =
      co_await (*lease)->read_resource(text_of(arguments, "uri"), std::move(options));
  if (!result) co_return failed(fmt::format("mcp call failed: {}", result.error().what));
  co_return ToolAnswer{bounded(utf8::sanitize(mcp::resource_text_from(*result)))};
}

Task<ToolAnswer> McpHook::fetch_prompt(json::object arguments, Caller caller) {
  if (const auto good = check(kPrompt, arguments); !good) co_return failed(good.error().what);
  const auto server = text_of(arguments, "server");
  json::object given;
  if (const auto text = text_of(arguments, "arguments"); !text.empty()) {
    auto value = json::parse(text);
    if (!value || !value->is_object())
      co_return failed("invalid arguments: 'arguments' must be a JSON object");
    given = std::move(value->get_object());
  }
  const auto lease = co_await connections_.use(caller.agent.name, server);
  if (!lease) co_return failed(lease.error().what);
  auto options = options_for(server, caller);
  const auto result = co_await (*lease)->get_prompt(text_of(arguments, "name"), std::move(given),
                                                    std::move(options));
  if (!result) co_return failed(fmt::format("mcp call failed: {}", result.error().what));
  co_return ToolAnswer{bounded(utf8::sanitize(mcp::prompt_text_from(*result)))};
}

}  // namespace reef::hooks
