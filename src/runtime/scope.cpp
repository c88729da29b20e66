#include "runtime/scope.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/utf8.h"
#include "mcp/spec.h"

namespace reef::runtime {
namespace {

// Tools that are granted as a group.
constexpr std::string_view kMemoryTools[] = {"recall", "remember", "forget"};
constexpr std::string_view kServerTools[] = {"mcp_list", "mcp_read", "mcp_prompt"};

bool allows(const std::vector<std::string>& list, std::string_view name) {
  return list.empty() || std::any_of(list.begin(), list.end(), [&](const std::string& pattern) {
           return fits(pattern, name);
         });
}

// Returns the names that all lists allow; nothing when no list restricts anything.
std::optional<std::vector<std::string>> common(
    const std::vector<const std::vector<std::string>*>& lists) {
  const auto first =
      std::find_if(lists.begin(), lists.end(), [](const auto* list) { return !list->empty(); });
  if (first == lists.end()) return std::nullopt;
  std::vector<std::string> out;
  for (const auto& name : **first)
    if (std::all_of(first, lists.end(), [&](const auto* list) { return allows(*list, name); }))
      out.push_back(name);
  return out;
}

}  // namespace

bool fits(std::string_view pattern, std::string_view name) {
  // The place of the last star, and how much of the name it has taken.
  std::size_t at = 0, in = 0, star = std::string_view::npos, taken = 0;
  while (in < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = in;
    } else if (at < pattern.size() && pattern[at] == name[in]) {
      ++at;
      ++in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++taken;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

std::string server_tools(std::string_view server) {
  std::string out;
  for (const char c : server) out += c == '.' ? '_' : c;
  return out + "__*";
}

std::vector<std::string> granted_tools(const Agent& agent) {
  auto out = agent.tools;
  if (out.empty()) return out;
  const auto add = [&](std::string_view name) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.emplace_back(name);
  };
  if (std::find(out.begin(), out.end(), kMemoryGroup) != out.end())
    for (const auto tool : kMemoryTools) add(tool);
  if (!agent.skills.empty()) add(kSkillTool);
  if (!agent.servers.all().empty())
    for (const auto tool : kServerTools) add(tool);
  for (const auto& server : agent.servers.all()) add(server_tools(server.name));
  return out;
}

bool may_call(const Agent& agent, std::string_view tool) {
  return allows(granted_tools(agent), tool) &&
         std::all_of(agent.within.begin(), agent.within.end(),
                     [&](const Scope& bound) { return allows(bound.tools, tool); });
}

bool may_use_skill(const Agent& agent, std::string_view skill) {
  return allows(agent.skills, skill) &&
         std::all_of(agent.within.begin(), agent.within.end(),
                     [&](const Scope& bound) { return allows(bound.skills, skill); });
}

Agent with_only(Agent agent, const std::vector<std::string>& tools) {
  if (!tools.empty()) agent.within.push_back({tools, {}});
  return agent;
}

std::vector<std::string> tools_that_mean_nothing(const Agent& agent,
                                                 const std::vector<std::string>& known) {
  std::vector<std::string> out;
  for (const auto& pattern : agent.tools) {
    const auto means = [&](const std::string& tool) { return fits(pattern, tool); };
    const auto& servers = agent.servers.all();
    // An entry with a server's name counts, whatever tools the server will have.
    const auto is_servers = [&](const auto& server) {
      const auto begin = server_tools(server.name);
      return pattern.starts_with(std::string_view(begin).substr(0, begin.size() - 1));
    };
    if (pattern == kMemoryGroup || std::any_of(known.begin(), known.end(), means) ||
        std::any_of(servers.begin(), servers.end(), is_servers))
      continue;
    out.push_back(pattern);
  }
  return out;
}

Agent narrowed(Agent agent, const Agent& by) {
  agent.within = by.within;
  const bool handed_over = !by.delegate_to.empty() && allows(by.delegate_to, agent.name);
  // delegate_to lets the other agent use its own tools; the bounds of both still hold.
  if (!handed_over) agent.within.push_back({granted_tools(by), by.skills});
  agent.sight = std::min(agent.sight, by.sight);
  agent.remote_bash = agent.remote_bash && by.remote_bash;
  std::erase_if(agent.pass_env, [&](const std::string& name) {
    return std::find(by.pass_env.begin(), by.pass_env.end(), name) == by.pass_env.end();
  });
  return agent;
}

std::optional<Violation> find_violation(const Agent& agent, const session::ToolCallBlock& call) {
  if (!may_call(agent, call.name))
    return Violation{"tool", call.name,
                     fmt::format("tool not available: {}", utf8::excerpt(call.name))};
  if (call.name != kSkillTool) return std::nullopt;
  const auto skill = json::find_string(call.arguments, "name").value_or("");
  // Without something that can be a name, the tool searches among the skills the agent may use.
  if (skill.empty() || skill.find(' ') != std::string_view::npos || may_use_skill(agent, skill))
    return std::nullopt;
  return Violation{"skill", std::string(skill),
                   fmt::format("skill not available: {}", utf8::excerpt(skill))};
}

std::string scope_block(const Agent& agent, const std::vector<std::string>& lines) {
  std::string out;
  const auto granted = granted_tools(agent);
  std::vector<const std::vector<std::string>*> tools{&granted}, skills{&agent.skills};
  for (const auto& bound : agent.within) {
    tools.push_back(&bound.tools);
    skills.push_back(&bound.skills);
  }
  const auto add = [&](std::string_view what, const std::vector<std::string>& names) {
    out += fmt::format("{}: {}\n", what,
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  };
  if (const auto names = common(tools)) add("tools", *names);
  if (const auto names = common(skills)) add("skills", *names);
  if (!agent.mcps.empty()) add("mcp servers", agent.mcps);
  for (const auto& line : lines) out += line + "\n";
  return out.empty() ? out : "<scope>\n" + out + "</scope>";
}

std::string security_line(const Violation& violation, std::string_view agent,
                          std::string_view sender, std::string_view session) {
  constexpr std::size_t kNameBytesMax = 200;
  return "security " +
         json::write(json::object{{"event", "scope_violation"},
                                  {"agent", utf8::excerpt(agent, kNameBytesMax)},
                                  {"sender", utf8::excerpt(sender, kNameBytesMax)},
                                  {"session", session},
                                  {"kind", violation.kind},
                                  {"name", utf8::excerpt(violation.name, kNameBytesMax)}});
}

}  // namespace reef::runtime
