#include "daemon/agent_changes.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "daemon/agent_edit.h"

namespace reef::daemon {
namespace {

Error no_agent(std::string_view name) {
  return Error(Errc::not_found, fmt::format("agent '{}' not found", utf8::excerpt(name)));
}

// The models a patch names must exist, so that a typing error is found now and not in the first
// turn.
Status check_models(const runtime::Setup& setup, const json::object& patch) {
  std::vector<std::string> models;
  if (const auto model = json::find_string(patch, "model")) models.emplace_back(*model);
  for (const auto* list : {"models", "fallback"})
    if (const auto* names = json::find_array(patch, list))
      for (const auto& name : *names)
        if (name.is_string()) models.emplace_back(name.get_string());
  for (const auto& model : models)
    if (const auto route = setup.providers.route(model); !route)
      return Error(Errc::invalid, "model: " + route.error().what);
  return Ok{};
}

// Whether config.toml names the agent.
bool is_in_config(const runtime::Setup& setup, const std::string& agent) {
  const auto begin = fmt::format("agent:{}:", agent);
  const auto& rules = setup.idle_minutes_by_key;
  const auto rule = rules.lower_bound(begin);
  return setup.default_agent == agent || (rule != rules.end() && rule->first.starts_with(begin));
}

}  // namespace

Task<Status> AgentChanges::create(std::string name, std::string config, std::string prompt) {
  co_return co_await write(std::move(name), std::move(config), std::move(prompt), true);
}

Task<Status> AgentChanges::update(std::string name, std::string config, std::string prompt) {
  co_return co_await write(std::move(name), std::move(config), std::move(prompt), false);
}

Task<Status> AgentChanges::write(std::string name, std::string config, std::string prompt,
                                 bool fresh) {
  const auto& agents = needs_.runtime.setup().agents;
  const bool known = agents.contains(name);
  // An agent made by hand may have a name that is not allowed any more.
  if (!known) REEF_CO_CHECK(check_agent_name(name));
  const Error taken(Errc::conflict, fmt::format("agent '{}' already exists", utf8::excerpt(name)));
  if (fresh && known) co_return taken;
  if (!known && agents.size() >= kAgentsMax)
    co_return Error(Errc::too_large, fmt::format("there are {} agents already", agents.size()));
  REEF_CO_TRY(auto patch, agent_patch_from(name, config));
  REEF_CO_CHECK(check_models(needs_.runtime.setup(), patch.fields));
  if (!prompt.empty()) patch.prompt = std::move(prompt);
  if (patch.prompt) REEF_CO_CHECK(check_prompt(*patch.prompt));
  if (!fresh && known && patch.fields.empty() && !patch.prompt)
    co_return Error(Errc::invalid, "the update changes nothing");

  struct Before {
    std::optional<std::string> prompt, config;
  } before;
  auto work = [&]() -> Status {
    REEF_TRY(before.prompt, needs_.agents.read_prompt(name));
    REEF_TRY(before.config, needs_.agents.read_config(name));
    // A broken file is not among the agents, but it is there all the same.
    if (fresh && before.config) return taken;
    auto text = with_agent_patch(name, before.config.value_or(""), needs_.agents.config_name(name),
                                 patch.fields);
    if (!text) return std::move(text).error();
    const bool config_too = !before.config || *text != *before.config;
    // A prompt that was left behind does not belong to this agent.
    if (fresh && !patch.prompt) patch.prompt = "";
    return needs_.agents.write(name, patch.prompt,
                               config_too ? std::optional<std::string>(*text) : std::nullopt);
  };
  REEF_CO_CHECK(co_await needs_.pool.run(work));
  auto loaded = co_await needs_.reload();
  if (loaded) co_return loaded;
  auto undo = [&]() -> Status {
    if (!before.config) return needs_.agents.erase(name);
    return needs_.agents.write(name, before.prompt.value_or(""), before.config);
  };
  if (const auto undone = co_await needs_.pool.run(undo); !undone)
    log::error("agent {}: {}", name, undone.error().what);
  co_return loaded;
}

Task<Status> AgentChanges::remove(std::string name) {
  const auto& setup = needs_.runtime.setup();
  const bool built_in = name == "reef";
  if (name == setup.default_agent && !built_in)
    co_return Error(Errc::conflict,
                    fmt::format("agent '{}' is the default agent; name another in config.toml "
                                "(default_agent) first",
                                name));
  // A broken file may be removed, too; the check keeps a hostile name from the disk.
  if (!setup.agents.contains(name)) REEF_CO_CHECK(check_agent_name(name));
  auto work = [&]() -> Status {
    REEF_TRY(const auto config, needs_.agents.read_config(name));
    if (!config)
      return built_in ? Error(Errc::denied, "the built-in agent cannot be removed")
                      : no_agent(name);
    return needs_.agents.remove(name);
  };
  REEF_CO_CHECK(co_await needs_.pool.run(work));
  co_return co_await needs_.reload();
}

Task<Status> AgentChanges::rename(std::string from, std::string to) {
  const auto& agents = needs_.runtime.setup().agents;
  if (!agents.contains(from)) co_return no_agent(from);
  REEF_CO_CHECK(check_agent_name(to));
  if (from == to) co_return Error(Errc::invalid, "the new name is the old one");
  if (to == "reef") co_return Error(Errc::conflict, "agent 'reef' is the built-in one");
  REEF_CO_CHECK(needs_.runtime.hold(from));
  struct Release {
    runtime::Runtime& runtime;
    const std::string& agent;
    ~Release() { runtime.release(agent); }
  } const release{needs_.runtime, from};
  co_return co_await rename_held(from, to);
}

Task<Status> AgentChanges::rename_held(std::string from, std::string to) {
  const auto& files = needs_.agents;
  bool copied = false;
  auto copy = [&]() -> Status {
    REEF_TRY(const auto config, files.read_config(from));
    if (!config) return Error(Errc::denied, "the built-in agent has no file and keeps its name");
    REEF_TRY(const auto prompt, files.read_prompt(from));
    REEF_TRY(const auto there, files.read_config(to));
    REEF_TRY(const auto words, files.read_prompt(to));
    // An interrupted rename is continued.
    if (there && (*there != *config || words != prompt))
      return Error(Errc::conflict, fmt::format("agent '{}' already exists", to));
    copied = true;
    return files.write(to, prompt.value_or(""), *config);
  };
  auto done = co_await needs_.pool.run(copy);
  // Both names are agents until the old one's files go. So every reference finds an agent, and
  // after a crash the same command continues the rename.
  const bool in_config = is_in_config(needs_.runtime.setup(), from);
  if (done && in_config) done = co_await needs_.rename_in_config(from, to);
  const bool configured = done && in_config;
  if (done) done = co_await move_history(from, to);
  if (!done) {
    // The history did not move, so the rest is put back, too.
    if (configured)
      if (const auto undone = co_await needs_.rename_in_config(to, from); !undone)
        log::error("config.toml: {}", undone.error().what);
    auto undo = [&] { return files.erase(to); };
    if (copied)
      if (const auto undone = co_await needs_.pool.run(undo); !undone)
        log::error("agent {}: {}", to, undone.error().what);
    co_return done;
  }
  co_await note_rename(from, to);
  auto erase = [&] { return files.erase(from); };
  REEF_CO_CHECK(co_await needs_.pool.run(erase));
  co_return co_await needs_.reload();
}

Task<void> AgentChanges::load_names() {
  auto work = [this] { return needs_.agents.read(needs_.agents.renamed_name()); };
  const auto text = co_await needs_.pool.run(work);
  if (!text) log::warn("{}", text.error().what);
  if (text && *text) renamed_ = parse_renamed(**text);
}

// The rename is complete already; if this line is lost, only sessions in the trash keep the old
// name.
Task<void> AgentChanges::note_rename(std::string from, std::string to) {
  renamed_.push_back({std::move(from), std::move(to), needs_.clock.now()});
  auto work = [this, text = write_renamed(renamed_)] {
    return needs_.agents.documents.replace(needs_.agents.renamed_name(), text, session::Whatever{});
  };
  if (const auto kept = co_await needs_.pool.run(work); !kept)
    log::warn("the rename is not noted for sessions in the trash: {}", kept.error().what);
}

Task<Status> AgentChanges::move_history(std::string from, std::string to) {
  REEF_CO_CHECK(co_await needs_.memories.rename(from, to));
  const auto subscriptions = co_await needs_.bus.rename_agent(from, to);
  auto done = subscriptions ? co_await needs_.sessions.rename_agent(from, to)
                            : Status(subscriptions.error());
  if (done) co_return done;
  if (subscriptions)
    if (const auto undone = co_await needs_.bus.put_back(*subscriptions); !undone)
      log::error("subscriptions of agent {}: {}", from, undone.error().what);
  if (const auto undone = co_await needs_.memories.rename(to, from); !undone)
    log::error("memory of agent {}: {}", from, undone.error().what);
  co_return done;
}

}  // namespace reef::daemon
