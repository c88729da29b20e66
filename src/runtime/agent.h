// Agents as they are configured: plain values that a reload replaces as a whole.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "context/prune.h"
#include "model/model.h"
#include "runtime/reset.h"

namespace reef::mcp {
struct Spec;
}

namespace reef::runtime {

// What happens to a message that arrives while a turn of its conversation runs (docs/runs.md).
enum class QueueMode : std::uint8_t {
  followup,   // gets a turn of its own afterwards
  steer,      // is given to the running turn before its next step
  collect,    // waits, and is answered in one turn with the others that wait
  interrupt,  // cancels the running turn and gets the next one
};
std::optional<QueueMode> queue_mode_from(std::string_view name);
std::string_view name_of(QueueMode mode);
// What tools may do in a session (docs/permissions.md).
enum class PermissionMode : std::uint8_t {
  safe,       // tools may look and change nothing
  ask,        // the user is asked before something is changed
  allow_all,  // the user is asked only before something is destroyed
};

// Whitelists; an empty one stands for everything.
struct Scope {
  std::vector<std::string> tools = {}, skills = {};

  bool operator==(const Scope&) const = default;
};

// The MCP servers of an agent, in the order of their declaration. Agents only carry them: what a
// server is, mcp/spec.h says.
class Servers {
 public:
  Servers() = default;
  Servers(std::vector<mcp::Spec> all);
  const std::vector<mcp::Spec>& all() const;
  bool operator==(const Servers& other) const;

 private:
  std::shared_ptr<const std::vector<mcp::Spec>> all_;  // null when there are none
};

struct Agent {
  std::string name;
  std::string description;
  std::string model = "local";
  std::string prompt;
  std::optional<int> idle_minutes;  // overrides the node's
  int steps_max = 16;               // per turn
  // The conversations its tools may look into.
  enum class Sight : std::uint8_t { own, agent, all };  // this sender's, all of this agent, all
  Sight sight = Sight::own;
  // Models to try, in this order, when the one before is unavailable and nothing was said yet.
  std::vector<std::string> fallback = {};
  model::ThinkingLevel thinking = model::ThinkingLevel::off;
  std::optional<std::int64_t> max_tokens = {};
  json::object parameters = {};  // for the backend, passed through
  // Its scope (scope.h): whitelists; an empty one allows everything.
  std::vector<std::string> tools = {}, skills = {}, mcps = {};
  // Agents that it delegates to with their own tools and skills, and not only with those it has
  // itself. Entries may contain stars, as in a scope.
  std::vector<std::string> delegate_to = {};
  // Bounds of the agents that delegated to it, the nearest last. They hold beside its own scope and
  // are never configured.
  std::vector<Scope> within = {};
  Servers servers = {};  // `mcps` has their names
  // The contents of its file, secrets masked; nothing when it has no file (the built-in agent).
  std::optional<json::object> config = {};
  // For sessions that set no mode of their own.
  PermissionMode permission_mode = PermissionMode::ask;
  PermissionMode remote_permission_mode = PermissionMode::safe;  // for senders behind a gateway
  bool remote_bash = false;                // whether those senders may use bash and see all files
  std::vector<std::string> pass_env = {};  // variables of the daemon that its commands see
  QueueMode queue = QueueMode::followup;
  std::optional<bool> compact_on_overflow = {};  // overrides the node's
  int compact_tool_max_len = 1024;               // a setting of CrabTalk, kept for its clients
  std::string id = {};                           // stays when the name changes

  bool operator==(const Agent&) const = default;
};

// How much of a conversation a compaction keeps.
struct Compaction {
  std::int64_t keep_recent_tokens = 20'000;
  std::int64_t reserve_tokens = 20'000;  // kept free in the window for what comes next
  bool on_overflow = true;               // a context that is too long is compacted, once a step
};

// The part of the configuration that a turn needs. A run keeps the one it started with.
struct Setup {
  std::map<std::string, Agent, std::less<>> agents;
  std::string default_agent = "reef";
  // The built-in agent for any work, used when no configured agent has its name.
  std::optional<Agent> worker = {};
  model::Providers providers;
  std::string default_model = "local";
  Expiry expiry;
  Compaction compaction;
  context::PruneRules pruning;
  std::chrono::milliseconds ask_patience = std::chrono::minutes(5);  // 0: no limit
  std::map<std::string, int, std::less<>> idle_minutes_by_key;       // overrides the agent's

  Expiry expiry_for(const Agent& agent, std::string_view key) const;

  // Finds an agent by its name, or else by its id. An empty name means the default agent, `worker`
  // the built-in one. `crab` also means the default agent unless an agent has that name, because
  // CrabTalk's clients ask for `crab` by default.
  Result<Agent> find(std::string_view name) const;
};

}  // namespace reef::runtime
