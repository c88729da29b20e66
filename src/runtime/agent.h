// Named configurations of who answers. Plain values, replaced as a whole by a reload.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "context/prune.h"
#include "mcp/spec.h"
#include "model/model.h"
#include "runtime/reset.h"

namespace reef::runtime {

// What becomes of a message that comes while a turn of its conversation runs (docs/runs.md).
enum class QueueMode : std::uint8_t {
  followup,   // its turn comes after
  steer,      // the running turn hears it before its next step
  collect,    // it and others that wait like it are answered in one turn
  interrupt,  // what runs is cancelled, then its turn comes
};
std::optional<QueueMode> queue_mode_from(std::string_view name);
std::string_view name_of(QueueMode mode);
// What tools may do in a session (docs/permissions.md).
enum class PermissionMode : std::uint8_t {
  safe,       // look, nothing else
  ask,        // the user is asked before something is changed
  allow_all,  // and only before something is destroyed
};

// Whitelists; an empty one stands for everything.
struct Scope {
  std::vector<std::string> tools = {}, skills = {};

  bool operator==(const Scope&) const = default;
};

struct Agent {
  std::string name;
  std::string description;
  std::string model = "local";
  std::string prompt;
  std::optional<int> idle_minutes;  // overrides the node's
  int steps_max = 16;               // of one turn
  // Which conversations its tools may look into.
  enum class Sight : std::uint8_t { own, agent, all };  // this sender's, all of this agent, all
  Sight sight = Sight::own;
  // Asked in turn when the model before cannot be had and nothing was said yet.
  std::vector<std::string> fallback = {};
  model::ThinkingLevel thinking = model::ThinkingLevel::off;
  std::optional<std::int64_t> max_tokens = {};
  json::object parameters = {};  // of the backend, passed through
  // Its scope (scope.h): what it may reach; empty: everything.
  std::vector<std::string> tools = {}, skills = {}, mcps = {};
  // Agents it hands work to with the tools and skills of their own, and not only with those it has
  // itself; stars as in a scope.
  std::vector<std::string> delegate_to = {};
  // Bounds beside its own: of those who delegated to it, the nearest last. Never configured.
  std::vector<Scope> within = {};
  // MCP servers it has, in the order they were declared; `mcps` has their names.
  std::vector<mcp::Spec> servers = {};
  // As its file has it, secrets masked; nothing for the built-in agent without a file.
  std::optional<json::object> config = {};
  // Of sessions that do not say themselves.
  PermissionMode permission_mode = PermissionMode::ask;
  PermissionMode remote_permission_mode = PermissionMode::safe;  // senders behind a gateway
  bool remote_bash = false;                // whether they may use bash, and see all files
  std::vector<std::string> pass_env = {};  // variables of the daemon its commands get to see
  QueueMode queue = QueueMode::followup;
  std::optional<bool> compact_on_overflow = {};  // overrides the node's
  int compact_tool_max_len = 1024;               // CrabTalk's; kept for its clients
  std::string id = {};                           // stays when the name changes

  bool operator==(const Agent&) const = default;
};

// How much of a conversation a compaction keeps.
struct Compaction {
  std::int64_t keep_recent_tokens = 20'000;
  std::int64_t reserve_tokens = 20'000;  // of the window, for what comes next
  bool on_overflow = true;               // a context that is too long is compacted, once a step
};

// What a turn needs to know of the configuration. A run keeps the one it started with.
struct Setup {
  std::map<std::string, Agent, std::less<>> agents;
  std::string default_agent = "reef";
  // Who does what anybody wants done, where no agent of that name is configured.
  std::optional<Agent> worker = {};
  model::Providers providers;
  std::string default_model = "local";
  Expiry expiry;
  Compaction compaction;
  context::PruneRules pruning;
  std::chrono::milliseconds ask_patience = std::chrono::minutes(5);  // 0: no limit
  std::map<std::string, int, std::less<>> idle_minutes_by_key;       // overrides the agent's

  Expiry expiry_for(const Agent& agent, std::string_view key) const;

  // By its name, or else its id. An empty name means the default agent, `worker` the built-in one.
  // So does `crab`, CrabTalk's default, unless there is an agent of that name: its clients ask for
  // it without being told to.
  Result<Agent> find(std::string_view name) const;
};

}  // namespace reef::runtime
