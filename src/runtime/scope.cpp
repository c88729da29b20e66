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

}  // namespace

bool may_call(const Agent& agent, std::string_view tool) {
  return allows(agent.tools, tool);
}

bool may_use_skill(const Agent& agent, std::string_view skill) {
  return allows(agent.skills, skill);
}

std::optional<Violation> find_violation(const Agent& agent, const session::ToolCallBlock& call) {
  if (!may_call(agent, call.name))
    return Violation{"tool", call.name,
                     fmt::format("tool not available: {}", utf8::excerpt(call.name))};
  if (call.name != kSkillTool) return std::nullopt;
  const auto skill = json::find_string(call.arguments, "name").value_or("");
  // A skill without a name, or one that is looked for, is the tool's own business.
  if (skill.empty() || may_use_skill(agent, skill)) return std::nullopt;
  return Violation{"skill", std::string(skill),
                   fmt::format("skill not available: {}", utf8::excerpt(skill))};
}

std::string scope_block(const Agent& agent, const std::vector<std::string>& lines) {
  std::string out;
  const auto add = [&](std::string_view what, const std::vector<std::string>& names) {
    if (!names.empty()) out += fmt::format("{}: {}\n", what, fmt::join(names, ", "));
  };
  add("tools", agent.tools);
  add("skills", agent.skills);
  add("mcp servers", agent.mcps);
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
