// The words of statuses, labels and views. Without a verb each lists what there is.
#include "command_rows.h"
#include "commands.h"

namespace reef::cli {
namespace {

using protocol::ClientMessage;

protocol::DefinitionChange change_of(const std::string& verb) {
  if (verb == "add" || verb == "rule") return protocol::DEFINITION_CHANGE_ADD;
  if (verb == "set") return protocol::DEFINITION_CHANGE_SET;
  return protocol::DEFINITION_CHANGE_REMOVE;
}

std::string verb_of(const CLI::App& command) {
  const auto verbs = command.get_subcommands();
  return verbs.empty() ? std::string() : verbs[0]->get_name();
}

// Asks the daemon, and says to a person what became of the definition called `name`.
int ask(const Context& context, const CLI::App& command, const ClientMessage& message,
        const std::string& name) {
  const auto verb = verb_of(command);
  const bool removes = verb == "rm" || verb == "unrule";
  const auto said = verb.empty() ? ""
                                 : name + (removes         ? " removed"
                                           : verb == "add" ? " added"
                                                           : " changed");
  return run_definitions(context, command.get_name(), message, said);
}

CLI::App* add_verb(CLI::App& command, bool& json, const char* verb, const char* what,
                   const std::string& example, std::string& name) {
  auto* added = add_command(command, json, verb, what, example);
  added->add_option("ID", name, "ID")->required();
  return added;
}

void add_statuses(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string name;
    protocol::ChangeStatus change;
  };
  auto o = std::make_shared<Options>();
  auto& change = o->change;
  auto* command = add_command(app, json, "statuses", "Statuses and how many sessions have them",
                              "reef statuses add blocked --label Blocked --color red");
  command->require_subcommand(0, 1);
  for (const std::string verb : {"add", "set"}) {
    auto* added = add_verb(*command, json, verb.c_str(),
                           verb == "add" ? "Add a status" : "Change a status; '' removes a text",
                           "reef statuses " + verb + " blocked --label Blocked", o->name);
    text_option(*added, "--label", "What is shown", [&change](auto& v) { change.set_label(v); });
    text_option(*added, "--category", "open or closed",
                [&change](auto& v) { change.set_category(v); });
    text_option(*added, "--color", "For those who show colours",
                [&change](auto& v) { change.set_color(v); });
    text_option(*added, "--icon", "A sign", [&change](auto& v) { change.set_icon(v); });
  }
  add_verb(*command, json, "rm", "Remove a status; sessions keep the value and show as todo",
           "reef statuses rm blocked", o->name);
  rows.add(command, [o, command](const Context& context) {
    ClientMessage message;
    if (const auto verb = verb_of(*command); verb.empty()) {
      message.mutable_list_statuses();
    } else {
      o->change.set_id(o->name);
      o->change.set_change(change_of(verb));
      *message.mutable_change_status() = o->change;
    }
    return ask(context, *command, message, o->name);
  });
}

void add_labels(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string name;
    protocol::ChangeLabel label;
    protocol::ChangeRule rule;
  };
  auto o = std::make_shared<Options>();
  auto& label = o->label;
  auto& rule = o->rule;
  auto* command =
      add_command(app, json, "labels", "The tree of labels and how many sessions carry them",
                  "reef labels add priority --type number");
  command->require_subcommand(0, 1);
  for (const std::string verb : {"add", "set"}) {
    auto* added = add_verb(*command, json, verb.c_str(),
                           verb == "add" ? "Add a label" : "Change a label; '' removes a text",
                           "reef labels " + verb + " priority --type number", o->name);
    text_option(*added, "--name", "What is shown", [&label](auto& v) { label.set_name(v); });
    text_option(*added, "--parent", "The label it stands below",
                [&label](auto& v) { label.set_parent(v); });
    text_option(*added, "--type", "Of its value: string, number, date",
                [&label](auto& v) { label.set_type(v); });
    text_option(*added, "--color", "For those who show colours",
                [&label](auto& v) { label.set_color(v); });
  }
  add_verb(*command, json, "rm", "Remove a label and its rules; sessions keep what they carry",
           "reef labels rm priority", o->name);
  const std::string example = "reef labels rule ticket '\\b(JIRA-[0-9]+)\\b'";
  auto* add_rule = add_verb(*command, json, "rule", "Add the label when a message matches (RE2)",
                            example, o->name);
  auto* take_rule = add_verb(*command, json, "unrule", "Take a rule away", example, o->name);
  for (auto* added : {add_rule, take_rule})
    added
        ->add_option_function<std::string>(
            "PATTERN", [&rule](const std::string& v) { rule.set_pattern(v); },
            "Regular expression; (?i) disregards case")
        ->required();
  text_option(*add_rule, "--value", "Of the label; $1 is the first group",
              [&rule](auto& v) { rule.set_value(v); });
  rows.add(command, [o, command](const Context& context) {
    ClientMessage message;
    if (const auto verb = verb_of(*command); verb.empty()) {
      message.mutable_list_labels();
    } else if (verb.ends_with("rule")) {
      o->rule.set_label(o->name);
      o->rule.set_change(change_of(verb));
      *message.mutable_change_rule() = o->rule;
    } else {
      o->label.set_id(o->name);
      o->label.set_change(change_of(verb));
      *message.mutable_change_label() = o->label;
    }
    return ask(context, *command, message, o->name);
  });
}

void add_views(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string name;
    protocol::ChangeView change;
  };
  auto o = std::make_shared<Options>();
  auto& change = o->change;
  auto* command = add_command(app, json, "views", "Views and how many sessions they hold",
                              "reef views add stale 'status:open idle>2w'");
  command->require_subcommand(0, 1);
  auto* added = add_verb(*command, json, "add", "Save a filter",
                         "reef views add stale 'status:open idle>2w' --name Stale", o->name);
  added
      ->add_option_function<std::string>(
          "FILTER", [&change](const std::string& v) { change.set_filter(v); }, "docs/organise.md")
      ->required();
  auto* changed = add_verb(*command, json, "set", "Change a saved filter",
                           "reef views set stale --filter 'status:open idle>3w'", o->name);
  text_option(*changed, "--filter", "docs/organise.md",
              [&change](auto& v) { change.set_filter(v); });
  for (auto* verb : {added, changed})
    text_option(*verb, "--name", "What is shown", [&change](auto& v) { change.set_name(v); });
  add_verb(*command, json, "rm", "Remove a saved filter", "reef views rm stale", o->name);
  rows.add(command, [o, command](const Context& context) {
    ClientMessage message;
    if (const auto verb = verb_of(*command); verb.empty()) {
      message.mutable_list_views();
    } else {
      o->change.set_id(o->name);
      o->change.set_change(change_of(verb));
      *message.mutable_change_view() = o->change;
    }
    return ask(context, *command, message, o->name);
  });
}

}  // namespace

std::unique_ptr<CommandGroup> definition_commands(CLI::App& app, bool& json) {
  auto rows = std::make_unique<CommandRows>();
  add_statuses(app, json, *rows);
  add_labels(app, json, *rows);
  add_views(app, json, *rows);
  return rows;
}

}  // namespace reef::cli
