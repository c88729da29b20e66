// Changes an agent's files for a client: checks names and patches, and returns the TOML with the
// patch applied and every other line, comments included, unchanged. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace reef::daemon {

inline constexpr std::size_t kAgentNameBytesMax = 100;
inline constexpr std::size_t kAgentConfigBytesMax = 256U << 10;
inline constexpr std::size_t kAgentPromptBytesMax = 1U << 20;
// Clients see this in place of a secret, and may send it back to leave the secret unchanged.
inline constexpr std::string_view kMask = "***";

// Checks the name of an agent that is made or renamed; files made by hand may have others.
Status check_agent_name(std::string_view name);
Status check_prompt(std::string_view prompt);

struct AgentPatch {
  json::object fields;                // members of the TOML; null removes one
  std::optional<std::string> prompt;  // `prompt` or `system_prompt`
};
// Reads JSON when the text begins with a brace, else TOML. Takes CrabTalk's AgentConfig as long as
// it says nothing we could not keep. Fields that an agent's file does not know are refused by name.
Result<AgentPatch> agent_patch_from(std::string_view name, std::string_view text);

// Returns the file with a merge patch (RFC 7396) applied; `file` names it in errors. A file that is
// invalid already is refused. Forms that cannot be edited line by line (dotted keys) are written
// anew, without their comments.
Result<std::string> with_agent_patch(std::string_view name, std::string_view text,
                                     std::string_view file, const json::object& patch);

// The configuration for clients: texts under names like key, token and auth, and all of env and
// headers, are masked unless they only say where the secret is (env:NAME, cmd:COMMAND).
json::object masked(const json::object& config);

}  // namespace reef::daemon
