// What an agent may reach: whitelists of tools, skills and MCP servers, empty for everything. A
// boundary, enforced before a call is dispatched, and told in the prompt. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent.h"
#include "session/message.h"

namespace reef::runtime {

// The tool whose argument `name` is a skill.
inline constexpr std::string_view kSkillTool = "skill";

// In a whitelist of tools: recall, remember and forget.
inline constexpr std::string_view kMemoryGroup = "memory";

// Whether a name is one a whitelist's entry means; a star stands for any run of characters.
bool fits(std::string_view pattern, std::string_view name);
// The tools of one of an agent's MCP servers, as an entry of a whitelist.
std::string server_tools(std::string_view server);
// What an agent's whitelist comes to: what it lists, `skill` when it has skills, and the tools of
// the MCP servers it declares, for declaring them is the grant. Empty: everything.
std::vector<std::string> granted_tools(const Agent& agent);

// All whitelists count: its own and those it is within.
bool may_call(const Agent& agent, std::string_view tool);
bool may_use_skill(const Agent& agent, std::string_view skill);

// Who works for another can reach nothing that one may not: its tools, its skills, the
// conversations it sees, the variables its commands get, bash for senders behind a gateway. MCP
// servers are its own, as far as their tools are in the scope. Modes are of sessions
// (permission.h).
Agent with_only(Agent agent, const std::vector<std::string>& tools);  // empty: all it has
Agent narrowed(Agent agent, const Agent& by);
// Entries of its whitelist of tools that mean none of `known`: most likely typing errors. What a
// server of its own may have is not known before it is connected.
std::vector<std::string> tools_that_mean_nothing(const Agent& agent,
                                                 const std::vector<std::string>& known);

// Something outside the scope was asked for.
struct Violation {
  std::string kind;  // tool, skill
  std::string name;
  std::string text;  // for the model
};
std::optional<Violation> find_violation(const Agent& agent, const session::ToolCallBlock& call);

// The <scope> block: what is restricted, and `lines` of hooks. Empty when nothing is.
std::string scope_block(const Agent& agent, const std::vector<std::string>& lines);

// The line of a violation in the log, as JSON behind the word `security`.
std::string security_line(const Violation& violation, std::string_view agent,
                          std::string_view sender, std::string_view session);

}  // namespace reef::runtime
