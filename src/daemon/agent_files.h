// Reads and writes agents/NAME.toml and agents/NAME.md: each file whole or not at all, and the
// prompt before the configuration, so that an agent never runs with another one's prompt. Blocks;
// for the pool.
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

  // An empty prompt removes its file; nullopt leaves it. When the configuration cannot be written,
  // the prompt is put back.
  Status write(const std::string& name, const std::optional<std::string>& prompt,
               const std::optional<std::string>& config) const;
  // Moves both files to agents/removed/, where they stay until another agent of that name is
  // removed.
  Status remove(const std::string& name) const;
  // Deletes the files without keeping them, for copies.
  Status erase(const std::string& name) const;
};

}  // namespace reef::daemon
