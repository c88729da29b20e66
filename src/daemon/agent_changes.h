// Agents made, changed, renamed and removed by clients. Durable and in force when a task returns;
// on an error everything is as it was. One change at a time: whoever calls sees to that. Loop
// thread.
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

struct AgentHouse {
  AgentFiles agents;
  Pool& pool;
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  memory::Memories& memories;
  // Reads agents/ again; runs in flight keep what they have.
  std::function<Task<Status>()> reload;
  bus::Bus& bus;
  // What config.toml says of an agent gets its new name, and is in force.
  std::function<Task<Status>(std::string from, std::string to)> rename_in_config;
  Clock& clock;
};

class AgentChanges {
 public:
  static constexpr std::size_t kAgentsMax = 1000;

  explicit AgentChanges(AgentHouse house) : house_(std::move(house)) {}

  // `config` is a patch (agent_edit.h) on nothing, an empty prompt is none.
  Task<Status> create(std::string name, std::string config, std::string prompt);
  // A patch on what is there; an empty prompt leaves the old one. Makes the agent when there is
  // none, as CrabTalk does.
  Task<Status> update(std::string name, std::string config, std::string prompt);
  // Sessions, keys, memory, event subscriptions, the node's default and rules of keys follow.
  Task<Status> rename(std::string from, std::string to);
  // Earlier names, for sessions that come back from the trash. At start.
  Task<void> load_names();
  std::string name_now(const std::string& agent, TimePoint then) const {
    return daemon::name_now(renamed_, agent, then);
  }
  std::string id_of(const std::string& agent) const { return daemon::id_of(renamed_, agent); }
  // What was said and remembered stays.
  Task<Status> remove(std::string name);

 private:
  Task<Status> write(std::string name, std::string config, std::string prompt, bool fresh);
  Task<Status> rename_held(std::string from, std::string to);
  Task<Status> move_history(std::string from, std::string to);
  Task<void> note_rename(std::string from, std::string to);

  AgentHouse house_;
  std::vector<Renamed> renamed_;
};

}  // namespace reef::daemon
