// The words of the commands that list, show and continue sessions.
#include "command_rows.h"
#include "commands.h"
#include "follow_commands.h"

namespace reef::cli {
namespace {

void add_sessions(CLI::App& app, bool& json, CommandRows& rows) {
  auto o = std::make_shared<SessionsOptions>();
  auto& query = o->query;
  auto* command = add_command(app, json, "sessions", "List sessions, newest first",
                              "reef sessions --agent reef --limit 20 --json | jq '.[0]'");
  const auto text = [&](const char* name, const char* what, auto set) {
    text_option(*command, name, what,
                [&query, set](const std::string& value) { (query.*set)(value); });
  };
  using Query = protocol::ListSessions;
  text("-a,--agent", "Of this agent", &Query::set_agent<const std::string&>);
  text("-s,--sender", "Of this sender", &Query::set_sender<const std::string&>);
  text("--key", "Of this conversation", &Query::set_key<const std::string&>);
  text("--status", "With this status", &Query::set_status<const std::string&>);
  text("--label", "With this label", &Query::set_label<const std::string&>);
  text("--text", "With this in the name or the first message",
       &Query::set_text<const std::string&>);
  text("--source", "native, or where it was imported from", &Query::set_source<const std::string&>);
  text("--after", "Last message not before, ISO 8601", &Query::set_after<const std::string&>);
  text("--before", "Last message before, ISO 8601", &Query::set_before<const std::string&>);
  text("--sort", "updated, created, name, messages", &Query::set_sort<const std::string&>);
  text("--cursor", "Continue a limited list", &Query::set_cursor<const std::string&>);
  command->add_option_function<std::uint32_t>(
      "--limit", [&query](const std::uint32_t& v) { query.set_limit(v); }, "At most so many");
  const auto flag = [&](const char* names, const char* what, auto set) {
    command->add_flag_function(
        names, [&query, set](std::int64_t n) { (query.*set)(n > 0); }, what);
  };
  flag("--ascending", "Smallest or oldest first", &Query::set_ascending);
  flag("--flagged,!--no-flagged", "Flagged ones", &Query::set_flagged);
  flag("--archived,!--no-archived", "Archived ones", &Query::set_archived);
  flag("--unread,!--no-unread", "Unread ones", &Query::set_unread);
  command->add_flag("--trash", o->trash, "What is in the trash instead");
  command->add_flag("-f,--follow", o->follow, "Go on with every change until interrupted");
  text("--view", "What this view holds, from `reef views`", &Query::set_view<const std::string&>);
  text("--where", "What this filter holds, docs/organise.md",
       &Query::set_where<const std::string&>);
  rows.add(command, [o](const Context& context) { return run_sessions(context, *o); });
}

void add_show(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string id;
    bool all = false, branch = false, tree = false, raw = false;
  };
  auto o = std::make_shared<Options>();
  auto* command = add_command(app, json, "show", "Print a session's branch",
                              "reef show 261115-swift-river --tree");
  require_id(*command, o->id);
  command->add_flag("--branch", o->branch, "The current branch (the default)");
  command->add_flag("--all", o->all, "Every branch, in the order of the file");
  command->add_flag("--tree", o->tree, "The tree, a line an entry");
  command->add_flag("--raw", o->raw, "The file itself");
  rows.add(command, [o](const Context& context) {
    const auto view = o->raw ? View::raw : o->tree ? View::tree : o->all ? View::all : View::branch;
    return run_show(context, o->id, view);
  });
}

void add_tail(CLI::App& app, bool& json, CommandRows& rows) {
  auto o = std::make_shared<TailOptions>();
  auto* command =
      add_command(app, json, "tail", "Print a session and what is added",
                  "reef tail -f 261115-swift-river\n  reef tail -n 5 -f --live 261115-swift-river");
  require_id(*command, o->id);
  command->add_flag("-f,--follow", o->follow, "Go on until interrupted");
  command->add_option("-n,--last", o->last, "Only so many entries from the end")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--live", o->live, "With -f: also what is being said");
  rows.add(command, [o](const Context& context) { return run_tail(context, *o); });
}

void add_new(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string agent, sender;
    std::optional<std::string> key;
  };
  auto o = std::make_shared<Options>();
  auto* command = add_command(
      app, json, "new", "Start a conversation over; the old session is kept", "reef new -s ci");
  command->add_option("-a,--agent", o->agent, "Agent (default: the daemon's)")->type_name("AGENT");
  command->add_option("-s,--sender", o->sender, "Sender (default: user)")->type_name("SENDER");
  command->add_option("--key", o->key, "Conversation key, instead of agent and sender")
      ->type_name("KEY");
  rows.add(command,
           [o](const Context& context) { return run_new(context, o->agent, o->sender, o->key); });
}

void add_resume(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string id;
    std::optional<std::string> key;
  };
  auto o = std::make_shared<Options>();
  auto* command = add_command(app, json, "resume", "Make a session its conversation's current one",
                              "reef resume 261115-swift-river");
  require_id(*command, o->id);
  command->add_option("--key", o->key, "Another conversation's key")->type_name("KEY");
  rows.add(command, [o](const Context& context) { return run_resume(context, o->id, o->key); });
}

void add_fork(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string id, at;
  };
  auto o = std::make_shared<Options>();
  auto* command = add_command(app, json, "fork", "Copy a session's branch into a new one",
                              "reef fork 261115-swift-river --at 1a2b3c4d");
  require_id(*command, o->id);
  command->add_option("--at", o->at, "Up to this entry (default: the leaf)")->type_name("ENTRY");
  rows.add(command, [o](const Context& context) { return run_fork(context, o->id, o->at); });
}

void add_compact(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string id;
    protocol::Compact request;
  };
  auto o = std::make_shared<Options>();
  auto& request = o->request;
  auto* command = add_command(app, json, "compact",
                              "Summarise what is old in a session, so that its context has room",
                              "reef compact 261115-swift-river 'keep the API names'");
  require_id(*command, o->id);
  text_option(*command, "TEXT", "What the summary should mind in particular",
              [&request](const std::string& v) { request.set_instructions(v); });
  command
      ->add_option_function<std::int64_t>(
          "--keep", [&request](const std::int64_t& tokens) { request.set_keep(tokens); },
          "About so many tokens from the end stay word for word; 0: the last turn")
      ->type_name("TOKENS");
  rows.add(command, [o](const Context& context) {
    o->request.set_session_id(o->id);
    return run_compact(context, o->request);
  });
}

void add_rewind(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string id, entry;
    protocol::RewindSession request;
  };
  auto o = std::make_shared<Options>();
  auto& request = o->request;
  auto* command = add_command(app, json, "rewind", "Continue a session from an earlier entry",
                              "reef rewind 261115-swift-river 1a2b3c4d");
  require_id(*command, o->id);
  command->add_option("ENTRY", o->entry, "Entry id, from `reef show --tree`")->required();
  command->add_flag_function(
      "--summarize", [&request](std::int64_t) { request.set_summarize(true); },
      "Tell what is left behind in a summary, for the agent");
  text_option(*command, "--mind", "What that summary should mind in particular",
              [&request](const std::string& v) { request.set_instructions(v); });
  rows.add(command, [o](const Context& context) {
    o->request.set_id(o->id);
    o->request.set_entry(o->entry);
    return run_rewind(context, o->request);
  });
}

}  // namespace

std::unique_ptr<CommandGroup> session_commands(CLI::App& app, bool& json) {
  auto rows = std::make_unique<CommandRows>();
  add_sessions(app, json, *rows);
  add_show(app, json, *rows);
  add_tail(app, json, *rows);
  add_new(app, json, *rows);
  add_resume(app, json, *rows);
  add_fork(app, json, *rows);
  add_compact(app, json, *rows);
  add_rewind(app, json, *rows);
  return rows;
}

}  // namespace reef::cli
