// Reads and writes agents/NAME.toml and agents/NAME.md: each file whole or not at all, and the
// prompt before the configuration, so that an agent never runs with another one's prompt. Blocks;
// for the pool.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/documents.h"

namespace reef::daemon {

// More than any of their files may have.
inline constexpr std::uint64_t kAgentFileBytesMax = 64U << 20;

struct AgentFiles {
  session::Documents& documents;
  std::string folder = "agents/";

  std::string config_name(const std::string& agent) const { return folder + agent + ".toml"; }
  std::string prompt_name(const std::string& agent) const { return folder + agent + ".md"; }
  std::string renamed_name() const { return folder + "renamed.jsonl"; }

  // Of the agents there are files of, in order; a folder of them that is not there has none.
  Result<std::vector<std::string>> names() const;
  // nullopt when there is no such file.
  Result<std::optional<std::string>> read(const std::string& name) const;
  Result<std::optional<std::string>> read_config(const std::string& agent) const;
  Result<std::optional<std::string>> read_prompt(const std::string& agent) const;

  // An empty prompt removes its file; nullopt leaves it. When the configuration cannot be written,
  // the prompt is put back.
  Status write(const std::string& agent, const std::optional<std::string>& prompt,
               const std::optional<std::string>& config) const;
  // Moves both files to agents/removed/, where they stay until another agent of that name is
  // removed.
  Status remove(const std::string& agent) const;
  // Deletes the files without keeping them, for copies.
  Status erase(const std::string& agent) const;
};

}  // namespace reef::daemon
