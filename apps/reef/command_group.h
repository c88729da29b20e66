// Commands that belong together and bring their own options, so that main stays a table of
// contents.
#pragma once

#include <memory>

#include "context.h"

namespace CLI {
class App;
}

namespace reef::cli {

class CommandGroup {
 public:
  virtual ~CommandGroup() = default;

  // One of its commands was asked for.
  virtual bool parsed() const = 0;
  virtual int run(const Context& context) const = 0;
};

// Each adds its commands to `app`; `json` is set when asked for.
using MakeCommands = std::unique_ptr<CommandGroup>(CLI::App& app, bool& json);
MakeCommands agent_commands;       // `reef agents ...`: who answers
MakeCommands context_commands;     // `reef context`, `title`, `archives`: what a model is given
MakeCommands decision_commands;    // `reef decisions ...`: what waits for a person, everywhere
MakeCommands event_commands;       // `reef events ...`: what happens in all conversations, and
                                   // which events start which agents
MakeCommands mcp_commands;         // `reef mcp ...`: MCP servers of agents
MakeCommands memory_commands;      // `reef memory ...`: what agents remember
MakeCommands model_commands;       // `reef models`, `providers`, `setup`: which models there are
MakeCommands permission_commands;  // `reef permissions`, `mode`, `plans`, `plan`: what agents may
                                   // do, and would like to
MakeCommands policy_commands;      // `reef policy ...`: what happens by itself, and why
MakeCommands run_commands;         // `reef questions`, `answer`, `steer`, `kill`: turns that run
MakeCommands skill_commands;       // `reef skills ...`: what agents can be taught
MakeCommands task_commands;        // `reef ps`: everything that runs

}  // namespace reef::cli
