// What the commands of `reef` have in common on the command line, and a group made of plain
// functions.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_group.h"

namespace reef::cli {

// Adds a command with --json and an example. `json` outlives the parser.
CLI::App* add_command(CLI::App& app, bool& json, const char* name, const char* what,
                      const std::string& example);

// Text goes to the daemon, which could only say that it does not understand bytes that are not
// UTF-8.
std::string check_text(const std::string& given);
using SetText = std::function<void(const std::string&)>;
void text_option(CLI::App& command, const char* name, const char* what, const SetText& set);
// The session a command is about, its first word.
void require_id(CLI::App& command, std::string& id);

// Says on stderr why the words of a command cannot be used. `command` with a space behind it, or
// empty.
int usage(const std::string& why, const std::string& command = "");

// Each command with what it does. Options live as long as the functions that capture them.
class CommandRows final : public CommandGroup {
 public:
  using Run = std::function<int(const Context&)>;
  void add(const CLI::App* command, Run run) { rows_.emplace_back(command, std::move(run)); }

  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  std::vector<std::pair<const CLI::App*, Run>> rows_;
};

}  // namespace reef::cli
