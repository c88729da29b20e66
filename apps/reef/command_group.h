// Groups of commands that bring their own options, so that main stays a table of contents.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "context.h"

namespace CLI {
class App;
}

namespace reef::cli {

class CommandGroup {
 public:
  virtual ~CommandGroup() = default;

  // Whether one of its commands was asked for.
  virtual bool parsed() const = 0;
  virtual int run(const Context& context) const = 0;
};

// Each adds its commands to `app`; `json` is set when JSON is asked for.
using MakeCommands = std::unique_ptr<CommandGroup>(CLI::App& app, bool& json);
MakeCommands agent_commands;     // `reef agents ...`: who answers
MakeCommands change_commands;    // `reef set`, `label`, `rm`, `restore`: what is known of sessions
MakeCommands context_commands;   // `reef context`, `title`, `archives`: what a model is given
MakeCommands decision_commands;  // `reef decisions ...`: what waits for a person, in all sessions
MakeCommands definition_commands;  // `reef statuses`, `labels`, `views`
MakeCommands
    event_commands;  // `reef events ...`: what happens, and which events start which agents
MakeCommands exchange_commands;  // `reef import`, `export`, `backup`, `restore-backup`
MakeCommands file_commands;      // `reef attach`, `files`, `cat`: what lies beside a transcript
MakeCommands mcp_commands;       // `reef mcp ...`: MCP servers of agents
MakeCommands memory_commands;    // `reef memory ...`: what agents remember
MakeCommands model_commands;     // `reef models`, `providers`, `setup`: which models there are
MakeCommands
    permission_commands;        // `reef permissions`, `mode`, `plans`, `plan`: what agents may do
MakeCommands policy_commands;   // `reef policy ...`: what happens by itself, and why
MakeCommands run_commands;      // `reef questions`, `answer`, `steer`, `kill`: turns that run
MakeCommands session_commands;  // `reef sessions`, `show`, `tail`, `new`, `fork`, ...
MakeCommands skill_commands;    // `reef skills ...`: what agents can be taught
MakeCommands talk_commands;     // `reef chat`, `send`
MakeCommands task_commands;     // `reef ps`: everything that runs
MakeCommands upkeep_commands;   // `reef status`, `fsck`, `gc`, `usage`, `stop`, ...
// `reef search`. `words` is the question: filled before the command runs, and outlives the group.
std::unique_ptr<CommandGroup> search_commands(CLI::App& app, bool& json,
                                              const std::vector<std::string>& words);

}  // namespace reef::cli
