// Turns a Config and the files of agents into the runtime's Setup. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/agent_files.h"
#include "daemon/config.h"
#include "daemon/home.h"
#include "model/http_provider.h"
#include "runtime/agent.h"

namespace reef::runtime {
class Hooks;
}
namespace reef::skills {
struct Catalogue;
}

namespace reef::daemon {

struct SetupParts {
  Files& files;  // a script lies where its user put it
  AgentFiles agents;
  const Home& home;
  std::function<model::HttpNeeds()> http;                   // for providers that need a network
  std::function<std::string(const std::string&)> agent_id;  // a rename does not change it
  bool no_policy =
      false;  // nothing happens by itself, except where an agent or a session asks for it
};

struct MadeSetup {
  std::shared_ptr<const runtime::Setup> setup;
  std::vector<std::string> warnings;  // files of agents that were left out, and why
};
// An error names the place in config.toml.
Result<MadeSetup> make_setup(const SetupParts& parts, const Config& config);
// Returns the setup with its agents read again. conflict when the default agent would be gone.
Result<MadeSetup> with_agents(runtime::Setup setup, const SetupParts& parts, const Config& config,
                              LoadedAgents loaded);

// The names in agents' scopes that match nothing; such an agent lacks something it was meant to
// have.
std::vector<std::string> names_that_mean_nothing(const runtime::Setup& setup,
                                                 const runtime::Hooks& hooks,
                                                 const skills::Catalogue& skills);

}  // namespace reef::daemon
