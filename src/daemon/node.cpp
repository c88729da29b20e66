#include "daemon/node.h"

#include "base/shield.h"
#include "daemon/agent_edit.h"
#include "daemon/config_edit.h"
#include "daemon/mcp_config.h"
#include "daemon/toml_json.h"
#include "server/agents.h"
#include "server/mcps.h"
#include "server/models.h"

namespace reef::daemon {
namespace {

server::Models models(const NodeNeeds& needs) {
  auto& engine = needs.engine;
  auto& changes = needs.config_changes;
  server::Models out;
  out.providers = [&engine] {
    auto setup = engine.runtime.shared_setup();
    return std::shared_ptr<const model::Providers>(setup, &setup->providers);
  };
  out.default_model = [&engine] { return engine.runtime.setup().default_model; };
  out.lists = &engine.model_lists;
  out.make = [&engine](const model::ProviderSpec& spec) {
    return model::make_provider(spec, engine.http_needs());
  };
  out.set_default = [&changes](std::string model) {
    return shielded(
        changes.change([model = std::move(model)](std::string_view text, std::string_view file) {
          return with_default_model(text, file, model);
        }));
  };
  out.save = [&changes](model::ProviderSpec spec, bool make_default) {
    return shielded(changes.change(
        [spec = std::move(spec), make_default](std::string_view text, std::string_view file) {
          auto edited = with_provider(text, file, spec);
          if (!edited || !make_default) return edited;
          const auto model =
              spec.default_model.empty() ? spec.name : spec.name + "/" + spec.default_model;
          return with_default_model(*edited, file, model);
        }));
  };
  out.remove = [&changes](std::string name) {
    return shielded(
        changes.change([name = std::move(name)](std::string_view text, std::string_view file) {
          return without_provider(text, file, name);
        }));
  };
  return out;
}

server::Agents agents(const NodeNeeds& needs) {
  auto& alone = needs.config_changes;
  auto& changes = needs.agent_changes;
  server::Agents out;
  out.create = [&alone, &changes](std::string name, std::string config, std::string prompt) {
    return shielded(
        alone.alone(changes.create(std::move(name), std::move(config), std::move(prompt))));
  };
  out.update = [&alone, &changes](std::string name, std::string config, std::string prompt) {
    return shielded(
        alone.alone(changes.update(std::move(name), std::move(config), std::move(prompt))));
  };
  out.rename = [&alone, &changes](std::string from, std::string to) {
    return shielded(alone.alone(changes.rename(std::move(from), std::move(to))));
  };
  out.remove = [&alone, &changes](std::string name) {
    return shielded(alone.alone(changes.remove(std::move(name))));
  };
  return out;
}

// An agent's file as JSON; empty when it has none.
Task<Result<json::object>> read_agent(Engine& engine, std::string agent) {
  auto work = [&engine, agent]() -> Result<json::object> {
    const AgentFiles files{engine.documents};
    REEF_TRY(const auto text, files.read_config(agent));
    REEF_TRY(const auto table, parse_toml(text.value_or(""), files.config_name(agent)));
    return to_json(table).as_object();
  };
  co_return co_await engine.pool.run(work);
}

Task<Status> save_mcp(Engine& engine, AgentChanges& changes, std::string agent,
                      std::string config) {
  REEF_CO_TRY(const auto file, co_await read_agent(engine, agent));
  REEF_CO_TRY(const auto server, json::parse(config));
  REEF_CO_TRY(const auto patch, patch_with_mcp(file, server.as_object()));
  co_return co_await changes.update(agent, json::write(patch), "");
}

Task<Status> remove_mcp(Engine& engine, AgentChanges& changes, std::string agent,
                        std::string name) {
  REEF_CO_TRY(const auto file, co_await read_agent(engine, agent));
  REEF_CO_TRY(const auto patch, patch_without_mcp(file, name));
  co_return co_await changes.update(agent, json::write(patch), "");
}

server::Mcps mcps(const NodeNeeds& needs) {
  auto& engine = needs.engine;
  auto& alone = needs.config_changes;
  auto& changes = needs.agent_changes;
  server::Mcps out;
  out.connections = &engine.mcps;
  out.accounts = &engine.accounts;
  out.read = [](const std::string& config) { return mcp_spec_from(config); };
  out.save = [&engine, &alone, &changes](std::string agent, std::string config) {
    return shielded(alone.alone(save_mcp(engine, changes, std::move(agent), std::move(config))));
  };
  out.remove = [&engine, &alone, &changes](std::string agent, std::string name) {
    return shielded(alone.alone(remove_mcp(engine, changes, std::move(agent), std::move(name))));
  };
  return out;
}

}  // namespace

server::Node make_node(NodeNeeds needs) {
  auto& engine = needs.engine;
  return {
      .runtime = engine.runtime,
      .compactions = engine.compactions,
      .tasks = engine.tasks,
      .live = engine.live,
      .sessions = engine.sessions,
      .store = engine.transcripts,
      .documents = engine.documents,
      .attachments = engine.attachments,
      .memories = engine.memories,
      .skills = engine.skills,
      .bus = engine.bus,
      .imports = engine.importer,
      .definitions = engine.definitions,
      .changes = engine.changes,
      .recall = engine.recall,
      .ledger = engine.ledger,
      .entrance = engine.entrance,
      .clock = engine.clock,
      .pool = engine.pool,
      .home = needs.home.root,
      .reload = [&changes = needs.config_changes,
                 &in_force = needs.in_force] { return shielded(changes.alone(in_force.reload())); },
      .shutdown = needs.shutdown,
      .fill_stats = needs.fill_stats,
      .models = std::make_shared<const server::Models>(models(needs)),
      .agents = std::make_shared<const server::Agents>(agents(needs)),
      .mcps = std::make_shared<const server::Mcps>(mcps(needs))};
}

}  // namespace reef::daemon
