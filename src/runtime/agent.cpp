#include "runtime/agent.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::runtime {

Result<Agent> Setup::find(std::string_view name) const {
  auto found = agents.find(name);
  if (found == agents.end() && (name.empty() || name == "crab")) found = agents.find(default_agent);
  if (found == agents.end())
    return Error(Errc::not_found, fmt::format("agent '{}' not registered", utf8::excerpt(name)));
  return found->second;
}

}  // namespace reef::runtime
