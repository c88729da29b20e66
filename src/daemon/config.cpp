#include "daemon/config.h"

#include <fmt/format.h>

#include "daemon/agent_edit.h"
#include "daemon/mcp_config.h"
#include "daemon/provider_config.h"
#include "daemon/toml_json.h"
#include "daemon/toml_table.h"
#include "runtime/permission.h"
#include "session/ids.h"

namespace reef::daemon {
namespace {

constexpr int kStepsMax = 1000;
constexpr int kAskSecondsMax = 7 * 24 * 60 * 60;
constexpr int kIdleMinutesMax = 60 * 24 * 366;
constexpr std::size_t kSkillPathsMax = 50;

std::optional<int> minutes_of_day(std::string_view text) {
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  if (text.size() != 5 || text[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4))
    return std::nullopt;
  const int hours = (text[0] - '0') * 10 + (text[1] - '0');
  const int minutes = (text[3] - '0') * 10 + (text[4] - '0');
  if (hours > 23 || minutes > 59) return std::nullopt;
  return hours * 60 + minutes;
}

// Applies one rule at a time, so that errors have their line.
Status read_policy(const toml::table& table, std::string_view file, policy::Rules& rules,
                   std::string_view except = {}) {
  for (const auto& [name, node] : table) {
    if (name.str() == except) continue;
    const json::object one{{name.str(), to_json(node)}};
    if (auto applied = policy::override_with(rules, one); !applied)
      return std::move(applied).error().with(fmt::format("{}:{}", file, node.source().begin.line));
  }
  return Ok{};
}

}  // namespace

Result<LoadedConfig> parse_config(std::string_view text, std::string_view file) {
  REEF_TRY(const auto parsed, parse_toml(text, file));
  LoadedConfig out;
  auto& config = out.config;
  Table root(parsed, file, "");
  root.read("default_agent", config.default_agent);
  root.read("default_model", config.default_model);

  if (const auto* section = root.sub("log")) {
    Table table(*section, file, "log.");
    std::string level = "info";
    table.read("level", level);
    if (const auto known = log::level_from(level)) {
      config.log_level = *known;
    } else {
      table.refuse("level", *section->get("level"), "must be one of: debug, info, warn, error");
    }
    table.read("file_bytes_max", 64 << 10, 1 << 30, config.log_file_bytes_max);
    table.read("files_max", 1, 100, config.log_files_max);
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("tcp")) {
    Table table(*section, file, "tcp.");
    table.read("enabled", config.tcp_enabled);
    table.read("port", 0, 65535, config.tcp_port);
    table.read("trust_loopback", config.tcp_trust_loopback);
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("crabtalk")) {
    Table table(*section, file, "crabtalk.");
    table.read("listen", config.crabtalk_listen);
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("limits")) {
    Table table(*section, file, "limits.");
    auto& limits = config.limits;
    table.read("connections_max", 1, 65536, limits.connections_max);
    table.read("send_queue_bytes_max", 4096, 64 << 20, limits.send_queue_bytes_max);
    table.read("send_queue_messages_max", 1, 65536, limits.send_queue_messages_max);
    std::int64_t stall_ms = limits.stall_max.count();
    table.read("stall_ms_max", 100, 3'600'000, stall_ms);
    limits.stall_max = std::chrono::milliseconds(stall_ms);
    table.read("requests_in_flight_max", 1, 4096, limits.requests_in_flight_max);
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("runtime")) {
    Table table(*section, file, "runtime.");
    std::int64_t seconds = config.ask_timeout.count();
    table.read("ask_timeout", 0, kAskSecondsMax, seconds);
    config.ask_timeout = std::chrono::seconds(seconds);
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("compaction")) {
    Table table(*section, file, "compaction.");
    table.read("keep_recent_tokens", 100, 10'000'000, config.compaction.keep_recent_tokens);
    table.read("reserve_tokens", 0, 10'000'000, config.compaction.reserve_tokens);
    table.read("on_overflow", config.compaction.on_overflow);
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("pruning")) {
    Table table(*section, file, "pruning.");
    auto& rules = config.pruning;
    table.read("enabled", rules.on);
    const auto share = [&](std::string_view key, double& into) {
      std::optional<double> read;
      table.read(key, 0, 1, read);
      if (read) into = *read;
    };
    share("soft_share", rules.soft_share);
    share("hard_share", rules.hard_share);
    if (rules.hard_share < rules.soft_share && section->get("hard_share"))
      table.refuse("hard_share", *section->get("hard_share"), "must not be below soft_share");
    table.read("keep_replies", 1, 1000, rules.keep_replies);
    table.read("long_chars", 100, 10'000'000, rules.long_chars);
    table.read("head_chars", 0, 1'000'000, rules.head_chars);
    table.read("tail_chars", 0, 1'000'000, rules.tail_chars);
    table.read("protected_tools", rules.protected_tools);
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("policy")) {
    Table table(*section, file, "policy.");
    table.read("enabled", config.policy_enabled);
    std::vector<std::string> none;
    REEF_CHECK(table.finish(none));
    REEF_CHECK(read_policy(*section, file, config.policy, "enabled"));
  }
  if (const auto* section = root.sub("system"))
    for (const auto& [name, node] : *section) {
      const auto* table = node.as_table();
      const auto limit = table ? (*table)["compact_threshold"].value<std::int64_t>() : std::nullopt;
      if (limit && *limit >= 1'000) config.compact_thresholds[std::string(name.str())] = *limit;
    }
  if (const auto* section = root.sub("session")) {
    Table table(*section, file, "session.");
    table.read("attachment_bytes_max", 1, std::int64_t{1} << 40, config.attachment_bytes_max);
    table.read("idle_minutes", 0, kIdleMinutesMax, config.expiry.idle_minutes);
    std::string daily;
    table.read("daily_reset", daily);
    if (!daily.empty()) {
      config.expiry.daily_minutes = minutes_of_day(daily);
      if (!config.expiry.daily_minutes)
        table.refuse("daily_reset", *section->get("daily_reset"),
                     "must be a time of day like \"04:00\"");
    }
    if (const auto* keys = table.sub("idle_minutes_by_key")) {
      Table by_key(*keys, file, "session.idle_minutes_by_key.");
      for (const auto& [key, node] : *keys) {
        int minutes = 0;
        by_key.read(key.str(), 0, kIdleMinutesMax, minutes);
        config.idle_minutes_by_key.insert_or_assign(std::string(key.str()), minutes);
      }
      REEF_CHECK(by_key.finish(out.warnings));
    }
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("instructions")) {
    Table table(*section, file, "instructions.");
    auto& names = config.instructions.files;
    table.read("files", names);
    if (!std::all_of(names.begin(), names.end(), hooks::is_instructions_name))
      table.refuse("files", *section->get("files"), "must be names of files, without folders");
    table.read("bytes_max", 0, 1 << 20, config.instructions.bytes_max);
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("mcp")) {
    Table table(*section, file, "mcp.");
    std::int64_t seconds = config.mcp_idle.count();
    table.read("idle_timeout", 1, 7 * 24 * 60 * 60, seconds);
    config.mcp_idle = std::chrono::seconds(seconds);
    REEF_CHECK(table.finish(out.warnings));
  }
  read_node_mcps(root, config.mcps);
  if (const auto* section = root.sub("skills")) {
    Table table(*section, file, "skills.");
    table.read("paths", config.skill_paths);
    if (config.skill_paths.size() > kSkillPathsMax)
      table.refuse("paths", *section->get("paths"),
                   fmt::format("must be at most {} folders", kSkillPathsMax));
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("events")) {
    Table table(*section, file, "events.");
    table.read("depth_max", 1, 100, config.events.depth_max);
    table.read("fan_out_max", 1, 1000, config.events.fan_out_max);
    table.read("turns_max", 1, 10'000, config.events.turns_max);
    table.read("payload_bytes_max", 1, 8 << 20, config.events.payload_bytes_max);
    REEF_CHECK(table.finish(out.warnings));
  }
  if (const auto* section = root.sub("delegate")) {
    Table table(*section, file, "delegate.");
    table.read("depth_max", 0, 20, config.delegate.depth_max);
    table.read("width_max", 1, 100, config.delegate.width_max);
    table.read("background_max", 0, 1000, config.delegate.background_max);
    REEF_CHECK(table.finish(out.warnings));
  }
  REEF_CHECK(read_providers(root, file, out));
  REEF_CHECK(root.finish(out.warnings));
  return out;
}

Result<LoadedConfig> load_config(Files& files, const std::string& path) {
  const auto text = read_all(files, path);
  if (!text && text.error().code == Errc::not_found) return LoadedConfig{};
  if (!text) return text.error();
  return parse_config(*text, path);
}

Result<runtime::Agent> parse_agent(std::string_view name, std::string_view text,
                                   std::string_view file, std::vector<std::string>& warnings,
                                   const std::string& default_model) {
  // The name becomes part of a key, so the key's rule applies.
  const auto key = session::Key::of_pair(name, runtime::Agent().model);
  if (!key) return Error(Errc::invalid, fmt::format("{}: {}", file, key.error().what));
  REEF_TRY(const auto parsed, parse_toml(text, file));
  runtime::Agent agent;
  agent.name = std::string(name);
  Table root(parsed, file, "");
  root.read("description", agent.description);
  agent.model = default_model;
  read_model(root, agent);
  root.read("max_iterations", 1, kStepsMax, agent.steps_max);
  int idle_minutes = -1;
  root.read("idle_minutes", 0, kIdleMinutesMax, idle_minutes);
  if (idle_minutes >= 0) agent.idle_minutes = idle_minutes;
  if (parsed.contains("compact_on_overflow")) {
    bool compacts = true;
    root.read("compact_on_overflow", compacts);
    agent.compact_on_overflow = compacts;
  }
  root.read("compact_tool_max_len", 0, 1'000'000, agent.compact_tool_max_len);
  std::string queue = "followup";
  root.read("queue", queue);
  if (const auto mode = runtime::queue_mode_from(queue)) {
    agent.queue = *mode;
  } else {
    root.refuse("queue", *parsed.get("queue"),
                "must be one of: followup, steer, collect, interrupt");
  }
  std::string sight = "own";
  root.read("search", sight);
  if (sight == "agent") {
    agent.sight = runtime::Agent::Sight::agent;
  } else if (sight == "all") {
    agent.sight = runtime::Agent::Sight::all;
  } else if (sight != "own") {
    root.refuse("search", *parsed.get("search"), "must be one of: own, agent, all");
  }
  root.read("tools", agent.tools);
  root.read("skills", agent.skills);
  root.read("delegate_to", agent.delegate_to);
  read_agent_mcps(root, agent);
  const auto read_mode = [&](std::string_view field, runtime::PermissionMode& into) {
    std::string mode(runtime::name_of(into));
    root.read(field, mode);
    if (const auto known = runtime::mode_from(mode)) {
      into = *known;
    } else {
      root.refuse(field, *parsed.get(field), "must be one of: safe, ask, allow-all");
    }
  };
  read_mode("permission_mode", agent.permission_mode);
  read_mode("remote_permission_mode", agent.remote_permission_mode);
  root.read("remote_bash", agent.remote_bash);
  root.read("pass_env", agent.pass_env);
  // CrabTalk has the threshold here; the policy reads it from the agent's configuration.
  std::int64_t threshold = 100'000;
  root.read("compact_threshold", 1'000, 1'000'000'000, threshold);
  if (const auto* own = root.sub("policy")) {
    policy::Rules rules;
    REEF_CHECK(read_policy(*own, file, rules));
  }
  REEF_CHECK(root.finish(warnings));
  agent.config = masked(to_json(parsed).as_object());
  return agent;
}

LoadedAgents load_agents(const AgentFiles& files, const std::string& default_model) {
  LoadedAgents out;
  runtime::Agent built_in;
  built_in.name = "reef";
  built_in.description = "The built-in agent.";
  built_in.model = default_model;
  out.agents.emplace(built_in.name, built_in);

  const auto names = files.names();
  if (!names) {
    out.warnings.push_back(names.error().what);
    return out;
  }
  for (const auto& name : *names) {
    const auto path = files.config_name(name);
    const auto text = files.read_config(name);
    if (!text) {
      out.warnings.push_back(text.error().what);
      continue;
    }
    if (!*text) continue;  // gone meanwhile
    auto agent = parse_agent(name, **text, path, out.warnings, default_model);
    if (!agent) {
      out.warnings.push_back(agent.error().what + "; the agent is left out");
      continue;
    }
    const auto prompt = files.read_prompt(name);
    if (!prompt) {
      out.warnings.push_back(prompt.error().what);
    } else if (*prompt) {
      // Without its prompt it would be another agent.
      if (const auto good = check_prompt(**prompt); !good) {
        out.warnings.push_back(files.prompt_name(name) + ": " + good.error().what +
                               "; the agent is left out");
        continue;
      }
      agent->prompt = **prompt;
    }
    out.agents.insert_or_assign(name, *std::move(agent));
  }
  return out;
}

}  // namespace reef::daemon
