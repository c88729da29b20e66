// The words of the commands about the daemon itself, and about what grows and costs.
#include "command_rows.h"
#include "commands.h"

namespace reef::cli {
namespace {

void add_status(CLI::App& app, bool& json, CommandRows& rows) {
  auto id = std::make_shared<std::string>();
  auto* command =
      add_command(app, json, "status", "What the daemon is and does, or how a session stands",
                  "reef status --json\n  reef status 261115-swift-river");
  command->add_option("ID", *id, "Session id, from `reef sessions`");
  rows.add(command, [id](const Context& context) {
    return id->empty() ? run_status(context) : run_session_status(context, *id);
  });
}

void add_fsck(CLI::App& app, bool& json, CommandRows& rows) {
  auto repair = std::make_shared<bool>(false);
  auto* command = add_command(app, json, "fsck", "Check every session's file", "reef fsck --json");
  command->add_flag("--repair", *repair, "Mend what can be; the damaged file is kept beside it");
  rows.add(command, [repair](const Context& context) { return run_fsck(context, *repair); });
}

void add_gc(CLI::App& app, bool& json, CommandRows& rows) {
  auto request = std::make_shared<protocol::CollectGarbage>();
  auto* command =
      add_command(app, json, "gc", "What was archived or in the trash for long, and could go",
                  "reef gc --archived-days 90 --trash-days 30");
  command
      ->add_option_function<std::uint32_t>(
          "--archived-days", [&r = *request](const std::uint32_t& v) { r.set_archived_days(v); },
          "Archived so long ago: to the trash (default 30)")
      ->type_name("N");
  command
      ->add_option_function<std::uint32_t>(
          "--trash-days", [&r = *request](const std::uint32_t& v) { r.set_trash_days(v); },
          "In the trash for so long: removed for good (default 30)")
      ->type_name("N");
  command->add_flag_function(
      "--yes", [&r = *request](std::int64_t) { r.set_remove(true); },
      "Do it; without, they are only listed");
  rows.add(command, [request](const Context& context) { return run_gc(context, *request); });
}

void add_usage(CLI::App& app, bool& json, CommandRows& rows) {
  auto query = std::make_shared<protocol::GetUsage>();
  auto* command = add_command(app, json, "usage", "Tokens and cost", "reef usage --by day --json");
  text_option(*command, "--by", "session, agent, model (default), day",
              [&q = *query](const std::string& v) { q.set_by(v); });
  text_option(*command, "--after", "This day (UTC) and later, for example 2026-01-31",
              [&q = *query](const std::string& v) { q.set_after(v); });
  text_option(*command, "--before", "Days before this one",
              [&q = *query](const std::string& v) { q.set_before(v); });
  rows.add(command, [query](const Context& context) { return run_usage(context, *query); });
}

}  // namespace

std::unique_ptr<CommandGroup> upkeep_commands(CLI::App& app, bool& json) {
  auto rows = std::make_unique<CommandRows>();
  rows->add(add_command(app, json, "ping", "Ask the daemon for a sign of life", "reef ping"),
            run_ping);
  add_status(app, json, *rows);
  add_fsck(app, json, *rows);
  add_gc(app, json, *rows);
  add_usage(app, json, *rows);
  rows->add(add_command(app, json, "reload", "Read the configuration again", "reef reload"),
            run_reload);
  rows->add(add_command(app, json, "stop", "Stop the daemon; running turns are finished first",
                        "reef stop"),
            run_stop);
  return rows;
}

}  // namespace reef::cli
