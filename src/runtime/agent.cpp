#include "runtime/agent.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "mcp/spec.h"

namespace reef::runtime {
namespace {

constexpr std::string_view kQueueModes[] = {"followup", "steer", "collect", "interrupt"};

}  // namespace

std::optional<QueueMode> queue_mode_from(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kQueueModes); ++i)
    if (kQueueModes[i] == name) return static_cast<QueueMode>(i);
  return std::nullopt;
}

std::string_view name_of(QueueMode mode) {
  return kQueueModes[static_cast<std::size_t>(mode)];
}

Servers::Servers(std::vector<mcp::Spec> all)
    : all_(std::make_shared<const std::vector<mcp::Spec>>(std::move(all))) {}

const std::vector<mcp::Spec>& Servers::all() const {
  static const std::vector<mcp::Spec> none;
  return all_ ? *all_ : none;
}

bool Servers::operator==(const Servers& other) const {
  return all_ == other.all_ || all() == other.all();
}

Result<Agent> Setup::find(std::string_view name) const {
  auto found = agents.find(name);
  if (found == agents.end() && (name.empty() || name == "crab")) found = agents.find(default_agent);
  if (found == agents.end() && !name.empty())
    found = std::find_if(agents.begin(), agents.end(),
                         [&](const auto& one) { return one.second.id == name; });
  if (found == agents.end() && worker && name == worker->name) return *worker;
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
