#include "daemon/setup.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "daemon/mcp_config.h"
#include "hooks/delegate/delegate_hook.h"
#include "local/local.h"
#include "model/scripted/scripted.h"
#include "runtime/hook.h"
#include "runtime/scope.h"
#include "skills/shelf.h"

namespace reef::daemon {
namespace {

Result<model::Providers::Entry> make_entry(const SetupParts& parts, const ProviderConfig& config) {
  const auto& spec = config.spec;
  if (spec.kind != "local" && spec.kind != "scripted") {
    auto entry = model::make_provider(spec, parts.http());
    if (!entry) return std::move(entry).error().with(config.place);
    return entry;
  }
  model::Providers::Entry entry;
  entry.name = spec.name;
  entry.kind = spec.kind;
  entry.models = spec.models;
  entry.default_model = spec.default_model.empty() ? spec.name : spec.default_model;
  entry.key_place = "none";
  if (spec.kind == "local") {
    entry.provider = std::make_shared<local::LocalProvider>();
    return entry;
  }
  const auto path =
      config.script.starts_with('/') ? config.script : parts.home.root + "/" + config.script;
  const auto text = read_all(parts.files, path);
  if (!text) return Error(text.error()).with(config.script_place);
  auto script = model::parse_script(*text);
  if (!script) return std::move(script).error().with(path).with(config.script_place);
  entry.facts = [window = script->window](std::string_view model) {
    model::ModelFacts facts;
    facts.id = model;
    facts.context_window = window;
    return facts;
  };
  entry.provider = std::make_shared<model::ScriptedProvider>(*std::move(script));
  return entry;
}

// Applies the thresholds of [system.AGENT]; an agent's own file goes before them. `crab` means the
// default agent, unless there is an agent of that name.
void set_thresholds(std::map<std::string, runtime::Agent, std::less<>>& agents,
                    const Config& config) {
  for (const auto& [name, limit] : config.compact_thresholds) {
    auto found = agents.find(name);
    if (found == agents.end() && name == "crab") found = agents.find(config.default_agent);
    if (found == agents.end()) continue;
    auto& own = found->second.config;
    if (!own) own.emplace();
    if (!own->contains("compact_threshold")) (*own)["compact_threshold"] = limit;
  }
}

// Completes the agents' files with what the configuration says about agents.
void adopt_agents(runtime::Setup& setup, const SetupParts& parts, const Config& config,
                  LoadedAgents& loaded) {
  resolve_mcps(loaded.agents, config.mcps, loaded.warnings);
  for (auto& [name, agent] : loaded.agents) agent.id = parts.agent_id(name);
  set_thresholds(loaded.agents, config);
  setup.agents = std::move(loaded.agents);
  // The worker has the thinking level of the default agent.
  setup.worker = hooks::worker(config.default_model);
  if (const auto found = setup.agents.find(config.default_agent); found != setup.agents.end())
    setup.worker->thinking = found->second.thinking;
}

}  // namespace

Result<MadeSetup> make_setup(const SetupParts& parts, const Config& config) {
  auto setup = std::make_shared<runtime::Setup>();
  setup->default_agent = config.default_agent;
  setup->expiry = config.expiry;
  setup->ask_patience = config.ask_timeout;
  setup->compaction = config.compaction;
  if (parts.no_policy) setup->compaction.on_overflow = false;
  setup->pruning = config.pruning;
  setup->idle_minutes_by_key = config.idle_minutes_by_key;
  setup->default_model = config.default_model;
  setup->providers.add("local", std::make_shared<local::LocalProvider>());
  for (const auto& [name, provider] : config.providers) {
    auto entry = make_entry(parts, provider);
    if (!entry) return std::move(entry).error();
    auto added = setup->providers.add(*std::move(entry));
    if (!added) return std::move(added).error().with(provider.place);
  }
  const auto file = parts.home.config();
  if (const auto route = setup->providers.route(config.default_model); !route)
    return Error(route.error()).with(file + ": default_model");
  auto loaded = load_agents(parts.agents, config.default_model);
  adopt_agents(*setup, parts, config, loaded);
  for (const auto& warning : loaded.warnings) log::warn("{}", warning);
  for (const auto& [name, agent] : setup->agents)
    if (const auto route = setup->providers.route(agent.model); !route)
      log::warn("agent {}: {}", name, route.error().what);
  if (!setup->agents.contains(setup->default_agent))
    return Error(Errc::invalid, fmt::format("{}: default_agent: there is no agent '{}'", file,
                                            setup->default_agent));
  return MadeSetup{std::move(setup), std::move(loaded.warnings)};
}

Result<MadeSetup> with_agents(runtime::Setup setup, const SetupParts& parts, const Config& config,
                              LoadedAgents loaded) {
  adopt_agents(setup, parts, config, loaded);
  if (!setup.agents.contains(setup.default_agent))
    return Error(Errc::conflict,
                 fmt::format("the default agent '{}' would be gone", setup.default_agent));
  return MadeSetup{std::make_shared<const runtime::Setup>(std::move(setup)),
                   std::move(loaded.warnings)};
}

std::vector<std::string> names_that_mean_nothing(const runtime::Setup& setup,
                                                 const runtime::Hooks& hooks,
                                                 const skills::Catalogue& skills) {
  std::vector<std::string> found;
  for (const auto& [name, agent] : setup.agents) {
    for (const auto& tool : runtime::tools_that_mean_nothing(agent, hooks.known_tools(agent)))
      found.push_back(
          fmt::format("agent {}: tools: '{}' is no tool there is", name, utf8::excerpt(tool)));
    for (const auto& skill : agent.skills)
      if (std::none_of(skills.skills.begin(), skills.skills.end(),
                       [&](const auto& one) { return runtime::fits(skill, one.skill.name); }))
        found.push_back(
            fmt::format("agent {}: skills: '{}' is no skill there is", name, utf8::excerpt(skill)));
    for (const auto& other : agent.delegate_to)
      if (!runtime::fits(other, "worker") &&
          std::none_of(setup.agents.begin(), setup.agents.end(),
                       [&](const auto& one) { return runtime::fits(other, one.first); }))
        found.push_back(fmt::format("agent {}: delegate_to: '{}' is no agent there is", name,
                                    utf8::excerpt(other)));
  }
  return found;
}

}  // namespace reef::daemon
