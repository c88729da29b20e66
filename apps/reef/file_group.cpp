// The words of the commands about the files of a session.
#include "command_rows.h"
#include "commands.h"

namespace reef::cli {
namespace {

void add_attach(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string id;
    std::vector<std::string> files;
    ChatOptions along;
  };
  auto o = std::make_shared<Options>();
  auto* command =
      add_command(app, json, "attach", "Copy files into a session; without one, read along",
                  "reef attach 261115-swift-river report.pdf photo.jpg\n"
                  "  reef attach -s ci       shows the turn that runs, from its beginning");
  command->add_option("ID", o->id, "Session id, from `reef sessions`");
  command->add_option("FILE", o->files, "What to copy");
  command->add_option("-a,--agent", o->along.agent, "Reading along: the agent")->type_name("AGENT");
  command->add_option("-s,--sender", o->along.sender, "Reading along: the sender (default: user)")
      ->type_name("SENDER");
  command->add_option("--key", o->along.key, "Reading along: the conversation, instead of both")
      ->type_name("KEY");
  rows.add(command, [o](const Context& context) {
    if (o->id.empty()) return run_read_along(context, o->along);
    if (o->files.empty()) return usage("FILE is required", "attach ");
    return run_attach(context, o->id, o->files);
  });
}

void add_files(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string id;
    protocol::ListFiles query;
  };
  auto o = std::make_shared<Options>();
  auto& query = o->query;
  auto* command = add_command(app, json, "files", "What a session's folders hold",
                              "reef files 261115-swift-river attachments --json");
  require_id(*command, o->id);
  text_option(*command, "FOLDER", "attachments, data, downloads, long_responses, plans",
              [&query](const std::string& v) { query.set_folder(v); });
  command->add_option_function<std::uint32_t>(
      "--limit", [&query](const std::uint32_t& v) { query.set_limit(v); }, "At most so many");
  text_option(*command, "--cursor", "Continue a limited list",
              [&query](const std::string& v) { query.set_cursor(v); });
  rows.add(command, [o](const Context& context) {
    o->query.set_id(o->id);
    return run_files(context, o->query);
  });
}

void add_cat(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string id, path;
  };
  auto o = std::make_shared<Options>();
  auto* command = add_command(app, json, "cat", "The bytes of a session's file",
                              "reef cat 261115-swift-river attachments/report.pdf > report.pdf");
  require_id(*command, o->id);
  command->add_option("PATH", o->path, "From `reef files`")->required();
  rows.add(command, [o](const Context& context) { return run_cat(context, o->id, o->path); });
}

}  // namespace

std::unique_ptr<CommandGroup> file_commands(CLI::App& app, bool& json) {
  auto rows = std::make_unique<CommandRows>();
  add_attach(app, json, *rows);
  add_files(app, json, *rows);
  add_cat(app, json, *rows);
  return rows;
}

}  // namespace reef::cli
