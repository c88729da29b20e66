#include "command_rows.h"

#include <algorithm>
#include <cstdio>

#include "base/assert.h"
#include "base/utf8.h"

namespace reef::cli {
namespace {

bool was_parsed(const std::pair<const CLI::App*, CommandRows::Run>& row) {
  return row.first->parsed();
}

}  // namespace

CLI::App* add_command(CLI::App& app, bool& json, const char* name, const char* what,
                      const std::string& example) {
  auto* command = app.add_subcommand(name, what);
  command->add_flag("--json", json, "Print JSON (docs/cli.md tells the shape)");
  const bool several = example.find('\n') != std::string::npos;
  command->footer((several ? "Examples:\n  " : "Example:\n  ") + example + "\n");
  return command;
}

std::string check_text(const std::string& given) {
  return utf8::valid(given) ? "" : "'" + shown(given) + "' is not valid UTF-8";
}

void text_option(CLI::App& command, const char* name, const char* what, const SetText& set) {
  command.add_option_function<std::string>(name, set, what)->check(check_text);
}

void require_id(CLI::App& command, std::string& id) {
  command.add_option("ID", id, "Session id, from `reef sessions`")->required()->check(check_text);
}

int usage(const std::string& why, const std::string& command) {
  std::fprintf(stderr, "reef: usage: %s\nTry: reef %s--help\n", shown(why).c_str(),
               command.c_str());
  return 2;
}

bool CommandRows::parsed() const {
  return std::any_of(rows_.begin(), rows_.end(), was_parsed);
}

int CommandRows::run(const Context& context) const {
  const auto row = std::find_if(rows_.begin(), rows_.end(), was_parsed);
  REEF_ASSERT(row != rows_.end());
  return row->second(context);
}

}  // namespace reef::cli
