// The configuration that is in force: what was read at the start or at the last reload, turned into
// the runtime's setup and told to all it concerns. A change is made whole or not at all. The caller
// makes one at a time (ConfigChanges). Loop thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/config.h"
#include "daemon/engine.h"
#include "daemon/setup.h"

namespace reef::daemon {

class InForce {
 public:
  struct Needs {
    Engine& engine;
    const Home& home;
    // Has the listeners serve the new configuration; on an error they serve as before.
    std::function<Status(const Config& from, const Config& to)> change_listeners;
    std::function<std::string(const std::string&)> agent_id;  // a rename does not change it
    bool no_policy = false;
  };
  explicit InForce(Needs needs) : needs_(std::move(needs)) {}

  const Config& config() const { return config_; }
  // The mistakes in it, which were left out or mean nothing; `reef status` shows them.
  std::vector<std::string> problems() const;

  // Takes the configuration of the start. Nobody can connect yet.
  void begin(LoadedConfig read);
  // Turns it into the setup; the sessions are there.
  Task<Status> set_up();
  // Reads everything again: config.toml, agents/, subscriptions, definitions.
  Task<Status> reload();
  // Reads config.toml and agents/; a bad file leaves what is in force unchanged.
  Task<Status> reload_config();
  // Reads only agents/, so that a bad config.toml cannot get in the way.
  Task<Status> reload_agents();
  // The daemon is shutting down: nothing is reloaded any more.
  void stop() { stopping_ = true; }

 private:
  SetupParts setup_parts();
  void take(MadeSetup made);
  void configure_hooks();
  Task<void> look_at_names();

  Needs needs_;
  Config config_;
  std::vector<std::string> config_warnings_;
  std::vector<std::string> agent_warnings_;
  std::vector<std::string> name_warnings_;
  bool stopping_ = false;
};

}  // namespace reef::daemon
