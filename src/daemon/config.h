// config.toml and agents/*.toml as plain values, with a default for everything. Pure, except
// load_*.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "base/result.h"
#include "bus/bus.h"
#include "daemon/agent_files.h"
#include "hooks/delegate/delegate_hook.h"
#include "hooks/instructions/instructions.h"
#include "mcp/spec.h"
#include "model/registry.h"
#include "policy/rules.h"
#include "runtime/agent.h"
#include "session/attachments.h"
#include "transport/connection.h"

namespace reef::daemon {

struct ProviderConfig {
  model::ProviderSpec spec;  // its kind may also be "local" or "scripted"
  std::string script;        // kind "scripted": a file, relative to the home
  std::string script_place;  // its place in config.toml, for errors
  std::string place;         // the place of the whole entry
};

struct Config {
  std::string default_agent = "reef";
  std::string default_model = "local";  // for agents that name none

  log::Level log_level = log::Level::info;
  std::size_t log_file_bytes_max = 8U << 20;
  std::size_t log_files_max = 5;

  bool tcp_enabled = false;
  std::uint16_t tcp_port = 6688;
  bool tcp_trust_loopback = false;
  bool crabtalk_listen = false;  // listen at CrabTalk's own address, too

  transport::Limits limits;

  std::uint64_t attachment_bytes_max = session::Attachments::kBytesMax;

  hooks::InstructionsRule instructions;
  std::chrono::seconds ask_timeout{300};  // 0: none

  runtime::Compaction compaction;
  policy::Rules policy;
  // [system.AGENT] compact_threshold, a setting of CrabTalk's.
  std::map<std::string, std::int64_t> compact_thresholds;
  bool policy_enabled = true;
  context::PruneRules pruning;
  runtime::Expiry expiry;
  std::map<std::string, int, std::less<>> idle_minutes_by_key;

  std::map<std::string, ProviderConfig> providers;

  std::chrono::seconds mcp_idle{1800};    // a server nobody uses this long is disconnected
  std::map<std::string, mcp::Spec> mcps;  // servers agents use by name
  std::vector<std::string> skill_paths;   // absolute, or ~/..., or relative to the home
  bus::Limits events;
  hooks::DelegateLimits delegate;
};

struct LoadedConfig {
  Config config;
  std::vector<std::string> warnings;  // unknown keys, with their place
};

// `file` names it in errors: "config.toml:3: tcp.port: must be 0 to 65535".
Result<LoadedConfig> parse_config(std::string_view text, std::string_view file);
// Defaults when there is no file.
Result<LoadedConfig> load_config(Files& files, const std::string& path);

struct LoadedAgents {
  std::map<std::string, runtime::Agent, std::less<>> agents;  // with the built-in one
  std::vector<std::string> warnings;                          // files left out, and why
};
Result<runtime::Agent> parse_agent(std::string_view name, std::string_view text,
                                   std::string_view file, std::vector<std::string>& warnings,
                                   const std::string& default_model = "local");
// Blocks. No folder: the built-in one alone.
LoadedAgents load_agents(const AgentFiles& files, const std::string& default_model = "local");

}  // namespace reef::daemon
