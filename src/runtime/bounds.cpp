#include "runtime/bounds.h"

#include <algorithm>

namespace reef::runtime {
namespace {

// No tool and no skill has this name.
constexpr std::string_view kNothing = "/";

json::array array_of(const std::vector<std::string>& names) {
  json::array out;
  for (const auto& name : names) out.emplace_back(name);
  return out;
}

std::vector<std::string> names_in(const json::object& from, std::string_view key) {
  std::vector<std::string> out;
  const auto* list = json::find_array(from, key);
  if (!list) return {std::string(kNothing)};
  for (const auto& name : *list)
    out.push_back(name.is_string() ? std::string(name.get_string()) : std::string(kNothing));
  return out;
}

}  // namespace

json::object bounds_of(const Agent& agent) {
  json::array scopes;
  for (const auto& scope : agent.within)
    if (!scope.tools.empty() || !scope.skills.empty())
      scopes.push_back(
          json::object{{"tools", array_of(scope.tools)}, {"skills", array_of(scope.skills)}});
  return {{"scopes", std::move(scopes)},
          {"sight", static_cast<int>(agent.sight)},
          {"remoteBash", agent.remote_bash},
          {"passEnv", array_of(agent.pass_env)}};
}

Agent within(Agent agent, const json::object& bounds) {
  const auto* scopes = json::find_array(bounds, "scopes");
  if (!scopes) agent.within.push_back({{std::string(kNothing)}, {std::string(kNothing)}});
  if (scopes)
    for (const auto& value : *scopes) {
      const auto scope = value.is_object() ? value.get_object() : json::object();
      agent.within.push_back({names_in(scope, "tools"), names_in(scope, "skills")});
    }
  const auto sight = json::find_int(bounds, "sight").value_or(0);
  agent.sight = std::min(agent.sight, static_cast<Agent::Sight>(std::clamp<std::int64_t>(
                                          sight, 0, static_cast<int>(Agent::Sight::all))));
  agent.remote_bash = agent.remote_bash && json::find_bool(bounds, "remoteBash").value_or(false);
  const auto passed = names_in(bounds, "passEnv");
  std::erase_if(agent.pass_env, [&](const std::string& name) {
    return std::find(passed.begin(), passed.end(), name) == passed.end();
  });
  return agent;
}

}  // namespace reef::runtime
