// The words of chat and send.
#include "command_rows.h"
#include "commands.h"

namespace reef::cli {
namespace {

constexpr const char* kQueue = "While a turn runs: docs/runs.md has the modes";

void add_chat(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    ChatOptions chat;
    std::string message;
  };
  auto o = std::make_shared<Options>();
  auto* command = add_command(app, json, "chat", "Talk to an agent; the default command",
                              "reef chat -p 'what did I say about the deploy key?'");
  command->add_option("-a,--agent", o->chat.agent, "Agent (default: the daemon's)")
      ->type_name("AGENT");
  command->add_option("-s,--sender", o->chat.sender, "Who is speaking (default: user)")
      ->type_name("SENDER");
  command->add_option("--queue", o->chat.queue, kQueue)
      ->type_name("followup|steer|collect|interrupt");
  command->add_option("-g,--guest", o->chat.guest, "Another agent answers, once, in words alone")
      ->type_name("AGENT");
  const auto* message =
      command->add_option("-p,--print", o->message, "Send this, print the reply alone, exit")
          ->type_name("MESSAGE");
  rows.add(command, [o, message](const Context& context) {
    auto chat = o->chat;
    if (message->count() > 0) chat.message = o->message;
    return run_chat(context, chat);
  });
}

void add_send(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    ChatOptions chat;
    std::string message;
  };
  auto o = std::make_shared<Options>();
  auto* command = add_command(app, json, "send", "Send one message to a conversation by its key",
                              "reef send --key agent:reef:cron 'the night run is done'");
  command->add_option("--key", o->chat.key, "For example agent:reef:user")
      ->type_name("KEY")
      ->required();
  command->add_option("--queue", o->chat.queue, kQueue)
      ->type_name("followup|steer|collect|interrupt");
  command->add_option("MESSAGE", o->message, "What to say")->required();
  rows.add(command, [o](const Context& context) {
    auto chat = o->chat;
    chat.message = o->message;
    chat.command = "send";
    return run_chat(context, chat);
  });
}

}  // namespace

std::unique_ptr<CommandGroup> talk_commands(CLI::App& app, bool& json) {
  auto rows = std::make_unique<CommandRows>();
  add_chat(app, json, *rows);
  add_send(app, json, *rows);
  return rows;
}

}  // namespace reef::cli
