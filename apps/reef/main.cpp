// reef: the client program. Parses the command line; the commands are in the files beside this one.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "protocol/protocol.h"

namespace {

using namespace reef::cli;

struct Flags {
  std::string home;
  bool no_start = false;
  bool json = false;
};

// Adds a command with what all commands have.
CLI::App* add(CLI::App& app, Flags& flags, const char* name, const char* what,
              const std::string& example) {
  auto* command = app.add_subcommand(name, what);
  command->add_flag("--json", flags.json, "Print JSON (docs/cli.md tells the shape)");
  command->footer("Example:\n  " + example + "\n");
  return command;
}

int usage(const CLI::ParseError& error) {
  std::fprintf(stderr, "reef: usage: %s\nTry: reef --help\n", error.what());
  return 2;
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

  Flags flags;
  app.add_option("--home", flags.home, "Home directory (default: $REEF_HOME, else ~/.reef)")
      ->type_name("DIR");
  app.add_flag("--no-start", flags.no_start, "Do not start a daemon");

  ChatOptions chat;
  std::string message;
  auto* chat_command = add(app, flags, "chat", "Talk to an agent; the default command",
                           "reef chat -p 'what did I say about the deploy key?'");
  chat_command->add_option("-a,--agent", chat.agent, "Agent (default: the daemon's)")
      ->type_name("AGENT");
  chat_command->add_option("-s,--sender", chat.sender, "Who is speaking (default: user)")
      ->type_name("SENDER");
  auto* message_option =
      chat_command->add_option("-p,--print", message, "Send this, print the reply alone, exit")
          ->type_name("MESSAGE");

  auto* ping = add(app, flags, "ping", "Ask the daemon for a sign of life", "reef ping");
  auto* status = add(app, flags, "status", "What the daemon is and does", "reef status --json");
  auto* sessions = add(app, flags, "sessions", "List sessions, newest first",
                       "reef sessions --json | jq '.[0]'");

  std::string id;
  auto* show = add(app, flags, "show", "Print a session", "reef show 261115-swift-river");
  show->add_option("ID", id, "Session id, from `reef sessions`")->required();

  std::string kill_agent;
  std::string kill_sender;
  auto* kill = add(app, flags, "kill", "Cancel what runs in a conversation", "reef kill -s ci");
  kill->add_option("-a,--agent", kill_agent, "Agent (default: the daemon's)")->type_name("AGENT");
  kill->add_option("-s,--sender", kill_sender, "Sender (default: user)")->type_name("SENDER");

  auto* reload = add(app, flags, "reload", "Read the configuration again", "reef reload");
  auto* stop =
      add(app, flags, "stop", "Stop the daemon; running turns are finished first", "reef stop");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return usage(error);
  }

  reef::protocol::silence_library_log();
  auto home = reef::daemon::find_home(flags.home);
  if (!home) return report("home", home.error());
  const Context context{*std::move(home), flags.json, !flags.no_start};
  if (message_option->count() > 0) chat.message = message;

  if (ping->parsed()) return run_ping(context);
  if (status->parsed()) return run_status(context);
  if (sessions->parsed()) return run_sessions(context);
  if (show->parsed()) return run_show(context, id);
  if (kill->parsed()) return run_kill(context, kill_agent, kill_sender);
  if (reload->parsed()) return run_reload(context);
  if (stop->parsed()) return run_stop(context);
  return run_chat(context, chat);
}
