// reef: the client program. The groups bring the commands; this is the list of them.
#include <algorithm>

#include "command_rows.h"
#include "commands.h"
#include "protocol/protocol.h"
#include "query_words.h"

namespace {

using namespace reef::cli;

// Takes out and returns the words behind the name of a command, when that is `command`.
std::optional<std::vector<std::string>> take_behind(std::vector<std::string>& arguments,
                                                    std::string_view command) {
  auto at = arguments.begin();
  for (; at != arguments.end() && at->starts_with('-'); ++at)
    if (*at == "--home" && at + 1 != arguments.end()) ++at;
  if (at == arguments.end() || *at != command) return std::nullopt;
  std::vector<std::string> behind(at + 1, arguments.end());
  arguments.erase(at + 1, arguments.end());
  return behind;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("reef talks to the Reef daemon: it starts one when none is running.", "reef");
  app.footer(
      "Examples:\n"
      "  reef                          chat in the terminal\n"
      "  reef chat -p 'remember: the deploy key is in the blue vault'\n"
      "  git log -1 | reef chat -s ci  one message a line, answers on stdout\n"
      "  reef sessions --json | jq -r '.[].id'\n");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", std::string("reef ") + REEF_VERSION);
  std::string home_option;
  bool no_start = false, json = false;
  app.add_option("--home", home_option, "Home directory (default: $REEF_HOME, else ~/.reef)")
      ->type_name("DIR");
  app.add_flag("--no-start", no_start, "Do not start a daemon");

  std::vector<std::string> search_words;
  std::vector<std::unique_ptr<CommandGroup>> groups;
  groups.push_back(talk_commands(app, json));
  groups.push_back(search_commands(app, json, search_words));
  for (auto* make :
       {session_commands, change_commands, file_commands, definition_commands, run_commands,
        task_commands, agent_commands, model_commands, decision_commands, memory_commands,
        context_commands, skill_commands, mcp_commands, event_commands, permission_commands,
        policy_commands, exchange_commands, upkeep_commands})
    groups.push_back(make(app, json));

  std::vector<std::string> arguments(argv + 1, argv + argc);
  auto* search = app.get_subcommand("search");
  if (const auto behind = take_behind(arguments, "search")) {
    auto split = split_search(*search, *behind);
    if (!split) return usage(split.error().what, "search ");
    search_words = std::move(split->words);
    arguments.insert(arguments.end(), split->rest.begin(), split->rest.end());
  }
  try {
    // The parser takes them from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return usage(error.what(), search->parsed() ? "search " : "");
  }

  reef::protocol::silence_library_log();
  auto home = reef::daemon::find_home(home_option);
  if (!home) return report("home", home.error());
  const Context context{*std::move(home), json, !no_start};
  const auto asked =
      std::find_if(groups.begin(), groups.end(), [](const auto& group) { return group->parsed(); });
  return asked == groups.end() ? run_chat(context, {}) : (*asked)->run(context);
}
