// The words of the commands that change what is known about sessions, and that throw them away.
#include "command_rows.h"
#include "commands.h"

namespace reef::cli {
namespace {

void add_selection(CLI::App& command, Selection& selection) {
  command.add_option("--where", selection.where, "All that this filter holds")->type_name("FILTER");
  command.add_option("--view", selection.view, "All that this view holds")->type_name("VIEW");
  command.add_flag("-y,--yes", selection.yes, "Do not ask");
}

void add_set(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    Selection selection;
    std::vector<std::string> fields;
  };
  auto o = std::make_shared<Options>();
  auto* command = add_command(app, json, "set", "Change a session's metadata",
                              "reef set 261115-swift-river name='Deploy keys' isFlagged=true\n"
                              "  reef set --where 'status:done idle>30d' isArchived=true");
  add_selection(*command, o->selection);
  command->add_option("ID FIELD=VALUE", o->fields,
                      "Session (not with --where), and what to change; an empty value removes, "
                      "labels+=x and labels-=x add and remove");
  rows.add(command,
           [o](const Context& context) { return run_set(context, o->fields, o->selection); });
}

void add_label(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string id, entry, text;
  };
  auto o = std::make_shared<Options>();
  auto* command = add_command(app, json, "label", "Bookmark an entry",
                              "reef label 261115-swift-river 1a2b3c4d 'before the change'");
  require_id(*command, o->id);
  command->add_option("ENTRY", o->entry, "Entry id, from `reef show --tree`")->required();
  command->add_option("TEXT", o->text, "The bookmark; none takes it away");
  rows.add(command,
           [o](const Context& context) { return run_label(context, o->id, o->entry, o->text); });
}

void add_rm(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    Selection selection;
    std::optional<std::string> id;
  };
  auto o = std::make_shared<Options>();
  auto* command = add_command(app, json, "rm", "Move sessions to the trash",
                              "reef rm 261115-swift-river\n"
                              "  reef rm --where 'status:cancelled idle>60d'");
  add_selection(*command, o->selection);
  command->add_option("ID", o->id, "Session id, from `reef sessions`");
  rows.add(command, [o](const Context& context) { return run_rm(context, o->id, o->selection); });
}

void add_restore(CLI::App& app, bool& json, CommandRows& rows) {
  auto id = std::make_shared<std::string>();
  auto* command = add_command(app, json, "restore", "Take a session out of the trash",
                              "reef restore 261115-swift-river");
  require_id(*command, *id);
  rows.add(command, [id](const Context& context) { return run_restore(context, *id); });
}

}  // namespace

std::unique_ptr<CommandGroup> change_commands(CLI::App& app, bool& json) {
  auto rows = std::make_unique<CommandRows>();
  add_set(app, json, *rows);
  add_label(app, json, *rows);
  add_rm(app, json, *rows);
  add_restore(app, json, *rows);
  return rows;
}

}  // namespace reef::cli
