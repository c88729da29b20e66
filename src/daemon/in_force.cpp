#include "daemon/in_force.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "base/utf8.h"

namespace reef::daemon {

std::vector<std::string> InForce::problems() const {
  std::vector<std::string> out;
  for (const auto* warnings : {&config_warnings_, &agent_warnings_, &name_warnings_})
    out.insert(out.end(), warnings->begin(), warnings->end());
  // A component may come at any time, so this is computed for each request.
  for (const auto& [name, agent] : needs_.engine.runtime.setup().agents)
    for (const auto& server : agent.servers.all())
      if (server.component && !needs_.engine.components.place_of(server.name))
        out.push_back(
            fmt::format("agent {}: mcps: '{}' is no server of config.toml, and no "
                        "component of that name runs",
                        name, utf8::excerpt(server.name)));
  return out;
}

void InForce::begin(LoadedConfig read) {
  config_ = std::move(read.config);
  config_warnings_ = std::move(read.warnings);
  configure_hooks();
}

Task<Status> InForce::set_up() {
  REEF_CO_TRY(auto made, make_setup(setup_parts(), config_));
  take(std::move(made));
  co_await look_at_names();
  co_return Ok{};
}

Task<Status> InForce::reload() {
  auto& engine = needs_.engine;
  REEF_CO_CHECK(co_await reload_config());
  if (const auto subscribed = co_await engine.bus.load(); !subscribed)
    co_return Error(Errc::invalid,
                    fmt::format("reloaded, but {}; {} subscription(s) stay as they were",
                                subscribed.error().what, engine.bus.list().size()));
  const auto defined = co_await engine.definitions.look();
  if (!defined->problems.empty())
    co_return Error(Errc::invalid, fmt::format("reloaded, but {}; the last good one is used",
                                               fmt::join(defined->problems, "; ")));
  co_return Ok{};
}

Task<Status> InForce::reload_config() {
  auto& engine = needs_.engine;
  const Error too_late(Errc::unavailable, "the daemon is shutting down");
  if (stopping_) co_return too_late;
  auto work = [&engine, path = needs_.home.config()] { return load_config(engine.files, path); };
  REEF_CO_TRY(auto loaded, co_await engine.pool.run(work));
  if (stopping_) co_return too_late;
  for (const auto& warning : loaded.warnings) log::warn("{}", warning);
  REEF_CO_TRY(auto made, make_setup(setup_parts(), loaded.config));

  REEF_CO_CHECK(needs_.change_listeners(config_, loaded.config));
  REEF_CO_CHECK(co_await engine.sessions.rescan());
  config_ = std::move(loaded.config);
  config_warnings_ = std::move(loaded.warnings);
  configure_hooks();
  take(std::move(made));
  co_await look_at_names();
  engine.model_lists.forget();
  log::set_level(config_.log_level);
  log::info("reloaded: {} agent(s)", engine.runtime.setup().agents.size());
  co_return Ok{};
}

Task<Status> InForce::reload_agents() {
  auto& engine = needs_.engine;
  auto work = [&engine, model = config_.default_model] {
    return load_agents(AgentFiles{engine.documents}, model);
  };
  auto loaded = co_await engine.pool.run(work);
  REEF_CO_TRY(auto made,
              with_agents(engine.runtime.setup(), setup_parts(), config_, std::move(loaded)));
  take(std::move(made));
  co_await look_at_names();
  co_return Ok{};
}

SetupParts InForce::setup_parts() {
  auto& engine = needs_.engine;
  return {.files = engine.files,
          .agents = AgentFiles{engine.documents},
          .home = needs_.home,
          .http = [&engine] { return engine.http_needs(); },
          .agent_id = needs_.agent_id,
          .no_policy = needs_.no_policy};
}

void InForce::take(MadeSetup made) {
  agent_warnings_ = std::move(made.warnings);
  needs_.engine.runtime.configure(std::move(made.setup));
}

void InForce::configure_hooks() {
  auto& engine = needs_.engine;
  engine.instructions->configure(config_.instructions);
  std::vector<std::string> folders;
  for (const auto& path : config_.skill_paths)
    folders.push_back(path.starts_with('/')    ? path
                      : path.starts_with("~/") ? user_home() + path.substr(1)
                                               : needs_.home.root + "/" + path);
  engine.skills.configure(folders);
  engine.bus.configure(config_.events);
  engine.delegate->configure(config_.delegate);
}

Task<void> InForce::look_at_names() {
  // The setup is taken behind the wait: a reload meanwhile would take the older one away.
  const auto skills = co_await needs_.engine.skills.look();
  auto found =
      names_that_mean_nothing(needs_.engine.runtime.setup(), needs_.engine.runtime.hooks(), skills);
  for (const auto& warning : found)
    if (std::find(name_warnings_.begin(), name_warnings_.end(), warning) == name_warnings_.end())
      log::warn("{}", warning);
  name_warnings_ = std::move(found);
}

}  // namespace reef::daemon
