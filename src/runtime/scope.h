// What an agent may reach: whitelists of tools, skills and MCP servers, where an empty one allows
// everything. The boundary is enforced before a call is dispatched, and the prompt tells it. Pure
// functions.
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

// Stands for recall, remember and forget in a whitelist of tools.
inline constexpr std::string_view kMemoryGroup = "memory";

// Whether an entry of a whitelist matches a name; a star stands for any run of characters.
bool fits(std::string_view pattern, std::string_view name);
// The entry of a whitelist that stands for the tools of one of an agent's MCP servers.
std::string server_tools(std::string_view server);
// An agent's whitelist in full: the tools it lists, `skill` when it has skills, and the tools of
// the MCP servers it declares, for declaring them grants them. Empty: everything.
std::vector<std::string> granted_tools(const Agent& agent);

// All whitelists must allow it: the agent's own and those it is within.
bool may_call(const Agent& agent, std::string_view tool);
bool may_use_skill(const Agent& agent, std::string_view skill);

// An agent that works for another can reach nothing that the other may not: tools, skills,
// conversations it sees, variables its commands get, bash for senders behind a gateway. It keeps
// its own MCP servers as far as their tools are in the scope. Modes belong to sessions
// (permission.h).
Agent with_only(Agent agent, const std::vector<std::string>& tools);  // empty: all it has
Agent narrowed(Agent agent, const Agent& by);
// Entries of the agent's whitelist of tools that match none of `known`: most likely typing errors.
// Entries for its own servers are left out, because their tools are known only once they are
// connected.
std::vector<std::string> tools_that_mean_nothing(const Agent& agent,
                                                 const std::vector<std::string>& known);

// A call for something outside the scope.
struct Violation {
  std::string kind;  // tool, skill
  std::string name;
  std::string text;  // for the model
};
std::optional<Violation> find_violation(const Agent& agent, const session::ToolCallBlock& call);

// The <scope> block: the restrictions, and the `lines` of hooks. Empty when there are none.
std::string scope_block(const Agent& agent, const std::vector<std::string>& lines);

// The log line of a violation: JSON behind the word `security`.
std::string security_line(const Violation& violation, std::string_view agent,
                          std::string_view sender, std::string_view session);

}  // namespace reef::runtime
