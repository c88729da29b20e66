// What a person types in chat that is not for the agent: /status, /compact, /model ... Commands
// that are not known here go to the daemon as they are: skills and /new are there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "client/client.h"
#include "commands.h"

namespace reef::cli {

struct SlashCommand {
  std::string name;       // without the slash
  std::string arguments;  // what follows, trimmed
};
// nullopt: words for the agent, or a command of the daemon's.
std::optional<SlashCommand> slash_command(std::string_view line);

// What chat keeps for the person at the terminal.
struct ChatState {
  bool verbose = false;  // after every turn: how full the window is
  bool leave = false;
  // The session as it was when last looked at.
  std::string session = {};
  std::uint64_t compactions = 0;
  std::int64_t tokens = 0;
};
// To a person who wants to know: whether the session was compacted since the last look, and from
// how much to how much.
Task<void> tell_compactions(client::Client& client, const ChatOptions& options, ChatState& state);
Task<Status> run_slash(const Context& context, client::Client& client, const ChatOptions& options,
                       SlashCommand command, ChatState& state);

}  // namespace reef::cli
