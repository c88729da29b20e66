// The places of all files under the home directory, and who owns it: there is one daemon per home.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "session/ownership.h"

namespace reef::daemon {

struct Home {
  std::string root;  // absolute

  std::string config() const { return root + "/config.toml"; }
  std::string agents() const { return root + "/agents"; }
  std::string sessions() const { return root + "/sessions"; }
  std::string index() const { return root + "/index"; }
  std::string skills() const { return root + "/skills"; }
  // The answers to requests that clients named.
  std::string answers() const { return root + "/answers.jsonl"; }
  std::string run() const { return root + "/run"; }
  std::string logs() const { return root + "/logs"; }
  std::string log_file() const { return logs() + "/reefd.log"; }
  std::string socket() const { return run() + "/reefd.sock"; }
  std::string token() const { return run() + "/token"; }
  std::string tcp_address() const { return run() + "/reefd.tcp"; }
};

// Returns `flag` when it is not empty, else $REEF_HOME, else ~/.reef.
Result<Home> find_home(const std::string& flag);
// Makes the directories the daemon needs, 0700.
Status prepare_home(Files& files, const Home& home);

// Whoever can write in a home decides what its daemon runs. So the home and its configuration must
// belong to the user who runs this process, and nobody else may write there. The error says which
// path is wrong and how to mend it.
Status trust_home(const Home& home);

// The home is this process's while the returned value exists. conflict names the pid that has it.
Result<std::unique_ptr<session::Hold>> own_home(const Home& home);
// The daemon that has the home, if any.
std::optional<session::Holder> holder_of(const Home& home);

}  // namespace reef::daemon
