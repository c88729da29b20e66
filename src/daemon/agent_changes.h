// Creates, changes, renames and removes agents for clients. When a task returns, the change is
// durable and in force; on an error everything is as before. The caller makes one change at a time.
// Loop thread.
#pragma once

#include <functional>
#include <string>

#include "base/pool.h"
#include "base/task.h"
#include "bus/bus.h"
#include "daemon/agent_files.h"
#include "daemon/agent_names.h"
#include "memory/memory.h"
#include "runtime/runtime.h"
#include "session/session.h"

namespace reef::daemon {

struct AgentNeeds {
  AgentFiles agents;
  Pool& pool;
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  memory::Memories& memories;
  // Reads agents/ again; runs in flight keep what they have.
  std::function<Task<Status>()> reload;
  bus::Bus& bus;
  // Renames the agent in config.toml; the change is in force when the task returns.
  std::function<Task<Status>(std::string from, std::string to)> rename_in_config;
  Clock& clock;
};

class AgentChanges {
 public:
  static constexpr std::size_t kAgentsMax = 1000;

  explicit AgentChanges(AgentNeeds needs) : needs_(std::move(needs)) {}

  // `config` is a patch (agent_edit.h) of an empty file; an empty prompt means none.
  Task<Status> create(std::string name, std::string config, std::string prompt);
  // `config` is a patch of the existing file; an empty prompt leaves the old one. Creates the agent
  // when there is none, as CrabTalk does.
  Task<Status> update(std::string name, std::string config, std::string prompt);
  // Sessions, keys, memory, event subscriptions, the node's default agent and rules by key are
  // renamed, too.
  Task<Status> rename(std::string from, std::string to);
  // Loads earlier names, for sessions that come back from the trash. Call at start.
  Task<void> load_names();
  std::string name_now(const std::string& agent, TimePoint then) const {
    return daemon::name_now(renamed_, agent, then);
  }
  std::string id_of(const std::string& agent) const { return daemon::id_of(renamed_, agent); }
  // The agent's sessions and memory stay.
  Task<Status> remove(std::string name);

 private:
  Task<Status> write(std::string name, std::string config, std::string prompt, bool fresh);
  Task<Status> rename_held(std::string from, std::string to);
  Task<Status> move_history(std::string from, std::string to);
  Task<void> note_rename(std::string from, std::string to);

  AgentNeeds needs_;
  std::vector<Renamed> renamed_;
};

}  // namespace reef::daemon
