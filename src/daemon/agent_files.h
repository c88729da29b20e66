// agents/NAME.toml and agents/NAME.md as they are written: each file whole or not at all, the
// prompt before the configuration, so that an agent never runs with the words of another one. They
// block; for the pool.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace reef::daemon {

struct AgentFiles {
  Files& files;
  std::string directory;

  std::string config_path(const std::string& name) const {
    return directory + "/" + name + ".toml";
  }
  std::string prompt_path(const std::string& name) const { return directory + "/" + name + ".md"; }
  std::string renamed_path() const { return directory + "/renamed.jsonl"; }

  // nullopt when there is no such file.
  Result<std::optional<std::string>> read_config(const std::string& name) const;
  Result<std::optional<std::string>> read_prompt(const std::string& name) const;

  // An empty prompt removes its file; one that is not given stays. When the configuration cannot be
  // written, the prompt is as it was.
  Status write(const std::string& name, const std::optional<std::string>& prompt,
               const std::optional<std::string>& config) const;
  // Both files; they are kept in agents/removed/ until the next agent of that name goes there.
  Status remove(const std::string& name) const;
  // Only removed, for what was copied.
  Status erase(const std::string& name) const;
};

}  // namespace reef::daemon
