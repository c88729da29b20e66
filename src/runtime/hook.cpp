#include "runtime/hook.h"

#include <algorithm>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::runtime {

void Hooks::add(std::shared_ptr<Hook> hook) {
  hooks_.push_back(std::move(hook));
}

Toolbox Hooks::toolbox(const Agent& agent) const {
  Toolbox box;
  for (const auto& hook : hooks_)
    for (auto& tool : hook->tools(agent))
      if (box.owners_.try_emplace(tool.name, hook).second) box.tools_.push_back(std::move(tool));
  std::sort(box.tools_.begin(), box.tools_.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return box;
}

std::string Hooks::prompt(const Agent& agent) const {
  auto out = agent.prompt;
  for (const auto& hook : hooks_) {
    const auto part = hook->prompt(agent);
    if (part.empty()) continue;
    if (!out.empty()) out += "\n\n";
    out += part;
  }
  return out;
}

std::optional<Intent> Toolbox::intent(const session::ToolCallBlock& call,
                                      const Caller& caller) const {
  const auto owner = owners_.find(call.name);
  if (owner == owners_.end()) return std::nullopt;
  return owner->second->intent(call.name, call.arguments, caller);
}

Task<ToolAnswer> Toolbox::call(session::ToolCallBlock call, Caller caller) const {
  const auto owner = owners_.find(call.name);
  if (owner == owners_.end())
    co_return ToolAnswer{fmt::format("tool not registered: {}", utf8::excerpt(call.name)), true};
  std::string failed;
  try {
    co_return co_await owner->second->call(call.name, std::move(call.arguments), std::move(caller));
  } catch (const boost::system::system_error& error) {
    if (error.code() == boost::asio::error::operation_aborted) throw;
    failed = error.what();
  } catch (const std::exception& error) {
    failed = error.what();
  }
  co_return ToolAnswer{fmt::format("{} failed: {}", call.name, failed), true};
}

}  // namespace reef::runtime
