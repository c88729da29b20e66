#include "runtime/scope.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/utf8.h"

namespace reef::runtime {
namespace {

bool allows(const std::vector<std::string>& list, std::string_view name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

// What all the lists have in common; nothing when none of them bounds anything.
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

bool may_call(const Agent& agent, std::string_view tool) {
  return allows(agent.tools, tool) &&
         std::all_of(agent.within.begin(), agent.within.end(),
                     [&](const Scope& bound) { return allows(bound.tools, tool); });
}

bool may_use_skill(const Agent& agent, std::string_view skill) {
  return allows(agent.skills, skill) &&
         std::all_of(agent.within.begin(), agent.within.end(),
                     [&](const Scope& bound) { return allows(bound.skills, skill); });
}

Agent narrowed(Agent agent, const Agent& by) {
  agent.within = by.within;
  agent.within.push_back({by.tools, by.skills});
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
  // Nothing, or words that cannot be a name: one is looked for, among those it may use.
  if (skill.empty() || skill.find(' ') != std::string_view::npos || may_use_skill(agent, skill))
    return std::nullopt;
  return Violation{"skill", std::string(skill),
                   fmt::format("skill not available: {}", utf8::excerpt(skill))};
}

std::string scope_block(const Agent& agent, const std::vector<std::string>& lines) {
  std::string out;
  std::vector<const std::vector<std::string>*> tools{&agent.tools}, skills{&agent.skills};
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
