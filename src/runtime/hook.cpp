#include "runtime/hook.h"

#include <algorithm>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "runtime/scope.h"

namespace reef::runtime {
namespace {

std::vector<model::Tool> by_name(std::vector<model::Tool> tools) {
  std::sort(tools.begin(), tools.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return tools;
}

}  // namespace

void Hooks::add(std::shared_ptr<Hook> hook) {
  hooks_.push_back(std::move(hook));
}

Hook::Scoped Hook::scoped_tools(const Agent& agent) const {
  Scoped out;
  for (auto& tool : tools(agent)) out.names.push_back(std::move(tool.name));
  return out;
}

Task<std::string> Hook::instructions(const Agent&, const Place&) const {
  co_return std::string();
}

Task<void> Hook::ready(const Agent&) const {
  co_return;
}

Task<void> Hook::preprocess(const Agent&, const std::string&, Words&) {
  co_return;
}

Task<ToolAnswer> Hook::call(std::string tool, json::object, Caller) {
  co_return ToolAnswer{fmt::format("tool not registered: {}", utf8::excerpt(tool)), true};
}

Toolbox Hooks::toolbox(const Agent& agent) const {
  Toolbox box;
  box.hooks_ = hooks_;
  std::vector<model::Tool> tools;
  for (const auto& hook : hooks_) {
    const auto granted = hook->scoped_tools(agent).names;
    for (auto& tool : hook->tools(agent)) {
      const bool inside = std::find(granted.begin(), granted.end(), tool.name) != granted.end();
      if (!inside || !may_call(agent, tool.name)) {
        box.outside_.insert(tool.name);
      } else if (box.owners_.try_emplace(tool.name, hook).second) {
        tools.push_back(std::move(tool));
      }
    }
  }
  box.tools_ = by_name(std::move(tools));
  return box;
}

std::vector<std::string> Hooks::known_tools(const Agent& agent) const {
  std::vector<std::string> out;
  for (const auto& hook : hooks_)
    for (auto& tool : hook->tools(agent)) out.push_back(std::move(tool.name));
  return out;
}

std::string Hooks::prompt(const Agent& agent) const {
  auto out = agent.prompt;
  const auto add = [&](const std::string& part) {
    if (part.empty()) return;
    if (!out.empty()) out += "\n\n";
    out += part;
  };
  std::vector<std::string> lines;
  for (const auto& hook : hooks_) {
    const auto scoped = hook->scoped_tools(agent);
    if (!scoped.line.empty()) lines.push_back(scoped.line);
    // Words about tools that are all out of reach would only mislead.
    const bool useless = !hook->tools(agent).empty() &&
                         std::none_of(scoped.names.begin(), scoped.names.end(),
                                      [&](const auto& name) { return may_call(agent, name); });
    if (!useless) add(hook->prompt(agent));
  }
  add(scope_block(agent, lines));
  return out;
}

Task<std::string> Hooks::instructions(const Agent& agent, const Place& place) const {
  std::string out;
  for (const auto& hook : hooks_) {
    const auto part = co_await hook->instructions(agent, place);
    if (part.empty()) continue;
    if (!out.empty()) out += "\n\n";
    out += part;
  }
  co_return out;
}

Task<void> Hooks::ready(const Agent& agent) const {
  for (const auto& hook : hooks_) co_await hook->ready(agent);
}

Agent Hooks::build(Agent agent) const {
  for (const auto& hook : hooks_) agent = hook->on_build_agent(std::move(agent));
  return agent;
}

void Hooks::announce(const Agents& before, const Agents& after) const {
  const auto same = [](const Agents& in, const Agent& agent) {
    const auto found = in.find(agent.name);
    return found != in.end() && found->second == agent;
  };
  for (const auto& hook : hooks_) {
    for (const auto& [name, agent] : before)
      if (!same(after, agent)) hook->on_unregister_agent(name);
    for (const auto& [name, agent] : after)
      if (!same(before, agent)) hook->on_register_agent(agent);
  }
}

Task<Words> Hooks::preprocess(const Agent& agent, const std::string& key, Words words) const {
  for (const auto& hook : hooks_) co_await hook->preprocess(agent, key, words);
  co_return words;
}

void Hooks::on_event(const Scene& scene, const Event& event) const {
  for (const auto& hook : hooks_) hook->on_event(scene, event);
}

void Toolbox::add(std::shared_ptr<Hook> hook, std::vector<model::Tool> tools) {
  auto all = tools_.all();
  for (auto& tool : tools) {
    std::erase_if(all, [&](const auto& one) { return one.name == tool.name; });
    outside_.erase(tool.name);
    owners_[tool.name] = hook;
    all.push_back(std::move(tool));
  }
  tools_ = by_name(std::move(all));
}

void Toolbox::leave_out_what_keeps() {
  auto left = tools_.all();
  std::erase_if(left, [&](const model::Tool& tool) {
    const auto owner = owners_.find(tool.name);
    if (owner == owners_.end() || !owner->second->keeps(tool.name)) return false;
    owners_.erase(owner);
    return true;
  });
  tools_ = std::move(left);
}

std::optional<Violation> Toolbox::violation(const session::ToolCallBlock& call,
                                            const Caller& caller) const {
  if (outside_.contains(call.name))
    return Violation{"tool", call.name, fmt::format("tool not available: {}", call.name)};
  // Calling an unknown tool is no violation.
  if (!owners_.contains(call.name)) return std::nullopt;
  if (auto outside = find_violation(caller.agent, call)) return outside;
  for (const auto& hook : hooks_)
    if (auto why = hook->objection(call.name, call.arguments, caller))
      return Violation{"objection", call.name, *std::move(why)};
  return std::nullopt;
}

std::optional<Intent> Toolbox::intent(const session::ToolCallBlock& call,
                                      const Caller& caller) const {
  const auto owner = owners_.find(call.name);
  if (owner == owners_.end() || violation(call, caller)) return std::nullopt;
  return owner->second->intent(call.name, call.arguments, caller);
}

Task<ToolAnswer> Toolbox::call(session::ToolCallBlock call, Caller caller) const {
  if (auto outside = violation(call, caller)) {
    log::warn("{}",
              security_line(*outside, caller.agent.name, caller.sender, caller.session.text()));
    co_return ToolAnswer{std::move(outside->text), true};
  }
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
