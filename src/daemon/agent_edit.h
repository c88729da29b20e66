// Changing an agent's files for a client: what may be its name, what a patch may say, and the TOML
// with the patch applied, every other line, comments included, as it was. Pure functions.
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
// What clients see in the place of a secret, and may send back to leave it as it is.
inline constexpr std::string_view kMask = "***";

// Of an agent that is made or renamed; files made by hand may have more.
Status check_agent_name(std::string_view name);
Status check_prompt(std::string_view prompt);

struct AgentPatch {
  json::object fields;                // of the TOML; null removes
  std::optional<std::string> prompt;  // `prompt` or `system_prompt`
};
// JSON when it begins with a brace, else TOML. Takes CrabTalk's AgentConfig as it is, where it says
// nothing we could not keep. Refuses what an agent's file does not know, by name.
Result<AgentPatch> agent_patch_from(std::string_view name, std::string_view text);

// The file with a merge patch (RFC 7396) applied; `file` names it in errors. A text that is not
// good already is refused. What is written in a form that is not edited line by line (dotted keys)
// is written anew, without its comments.
Result<std::string> with_agent_patch(std::string_view name, std::string_view text,
                                     std::string_view file, const json::object& patch);

// For clients: texts under names like key, token and auth, and all of env and headers, are masked
// unless they only name where the secret is (env:NAME, cmd:COMMAND).
json::object masked(const json::object& config);

}  // namespace reef::daemon
