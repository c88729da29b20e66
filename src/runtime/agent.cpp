#include "runtime/agent.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::runtime {

std::optional<QueueMode> queue_mode_from(std::string_view name) {
  if (name == "followup") return QueueMode::followup;
  if (name == "steer") return QueueMode::steer;
  if (name == "collect") return QueueMode::collect;
  if (name == "interrupt") return QueueMode::interrupt;
  return std::nullopt;
}

Result<Agent> Setup::find(std::string_view name) const {
  auto found = agents.find(name);
  if (found == agents.end() && (name.empty() || name == "crab")) found = agents.find(default_agent);
  if (found == agents.end())
    return Error(Errc::not_found, fmt::format("agent '{}' not registered", utf8::excerpt(name)));
  return found->second;
}

Expiry Setup::expiry_for(const Agent& agent, std::string_view key) const {
  auto rule = expiry;
  if (agent.idle_minutes) rule.idle_minutes = *agent.idle_minutes;
  if (const auto found = idle_minutes_by_key.find(key); found != idle_minutes_by_key.end())
    rule.idle_minutes = found->second;
  return rule;
}

}  // namespace reef::runtime
