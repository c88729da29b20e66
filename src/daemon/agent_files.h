// agents/NAME.toml and agents/NAME.md as they are written: each file whole or not at all, the
// prompt before the configuration, so that an agent never runs with the words of another one. They
// block; for the pool.
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

  // An empty prompt removes its file; one that is not given stays. When the configuration cannot be
  // written, the prompt is as it was.
  Status write(const std::string& agent, const std::optional<std::string>& prompt,
               const std::optional<std::string>& config) const;
  // Both files; they are kept in agents/removed/ until the next agent of that name goes there.
  Status remove(const std::string& agent) const;
  // Only removed, for what was copied.
  Status erase(const std::string& agent) const;
};

}  // namespace reef::daemon
