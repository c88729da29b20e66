// Commands a person types in chat that are not for the agent: /status, /compact, /model ... Unknown
// commands go to the daemon unchanged: it knows skills and /new.
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
// nullopt when the line is for the agent, or a command of the daemon's.
std::optional<SlashCommand> slash_command(std::string_view line);

// The state of a chat at the terminal.
struct ChatState {
  bool verbose = false;  // tell after every turn how full the window is
  bool leave = false;
  // The session as it was at the last look.
  std::string session = {};
  std::uint64_t compactions = 0;
  std::int64_t tokens = 0;
};
// In verbose chats, tells whether the session was compacted since the last look, and from how many
// tokens to how many.
Task<void> tell_compactions(client::Client& client, const ChatOptions& options, ChatState& state);
Task<Status> run_slash(const Context& context, client::Client& client, const ChatOptions& options,
                       SlashCommand command, ChatState& state);

}  // namespace reef::cli
