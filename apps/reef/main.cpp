// reef: the client program. Parses the command line; the commands are in the files beside this one.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "base/utf8.h"
#include "command_group.h"
#include "commands.h"
#include "protocol/protocol.h"
#include "query_words.h"

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

// For what is sent as text: the daemon could only say that it does not understand the request.
std::string check_text(const std::string& given) {
  return reef::utf8::valid(given) ? "" : "'" + shown(given) + "' is not valid UTF-8";
}

template <class F>
void text_option(CLI::App& command, const char* name, const char* what, F set) {
  command
      .add_option_function<std::string>(
          name, [set](const std::string& v) { set(v); }, what)
      ->check(check_text);
}

int usage(const std::string& why, const std::string& command = "") {
  std::fprintf(stderr, "reef: usage: %s\nTry: reef %s--help\n", shown(why).c_str(),
               command.c_str());
  return 2;
}

// Those behind the name of a command, when that is `command`; they are taken out of `arguments`.
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
  chat_command->add_option("--queue", chat.queue, "While a turn runs: docs/runs.md has the modes")
      ->type_name("followup|steer|collect|interrupt");
  chat_command->add_option("-g,--guest", chat.guest, "Another agent answers, once, in words alone")
      ->type_name("AGENT");
  auto* message_option =
      chat_command->add_option("-p,--print", message, "Send this, print the reply alone, exit")
          ->type_name("MESSAGE");

  auto* ping = add(app, flags, "ping", "Ask the daemon for a sign of life", "reef ping");
  std::string status_id;
  auto* status = add(app, flags, "status", "What the daemon is and does, or how a session stands",
                     "reef status --json\n  reef status 261115-swift-river");
  status->add_option("ID", status_id, "Session id, from `reef sessions`");
  SessionsOptions listing;
  auto& query = listing.query;
  auto* sessions = add(app, flags, "sessions", "List sessions, newest first",
                       "reef sessions --agent reef --limit 20 --json | jq '.[0]'");
  text_option(*sessions, "-a,--agent", "Of this agent", [&](auto v) { query.set_agent(v); });
  text_option(*sessions, "-s,--sender", "Of this sender", [&](auto v) { query.set_sender(v); });
  text_option(*sessions, "--key", "Of this conversation", [&](auto v) { query.set_key(v); });
  text_option(*sessions, "--status", "With this status", [&](auto v) { query.set_status(v); });
  text_option(*sessions, "--label", "With this label", [&](auto v) { query.set_label(v); });
  text_option(*sessions, "--text", "With this in the name or the first message",
              [&](auto v) { query.set_text(v); });
  text_option(*sessions, "--source", "native, or where it was imported from",
              [&](auto v) { query.set_source(v); });
  text_option(*sessions, "--after", "Last message not before, ISO 8601",
              [&](auto v) { query.set_after(v); });
  text_option(*sessions, "--before", "Last message before, ISO 8601",
              [&](auto v) { query.set_before(v); });
  text_option(*sessions, "--sort", "updated, created, name, messages",
              [&](auto v) { query.set_sort(v); });
  text_option(*sessions, "--cursor", "Continue a limited list",
              [&](auto v) { query.set_cursor(v); });
  sessions->add_option_function<std::uint32_t>(
      "--limit", [&](const std::uint32_t& v) { query.set_limit(v); }, "At most so many");
  sessions->add_flag_function(
      "--ascending", [&](std::int64_t) { query.set_ascending(true); }, "Smallest or oldest first");
  sessions->add_flag_function(
      "--flagged,!--no-flagged", [&](std::int64_t n) { query.set_flagged(n > 0); }, "Flagged ones");
  sessions->add_flag_function(
      "--archived,!--no-archived", [&](std::int64_t n) { query.set_archived(n > 0); },
      "Archived ones");
  sessions->add_flag_function(
      "--unread,!--no-unread", [&](std::int64_t n) { query.set_unread(n > 0); }, "Unread ones");
  sessions->add_flag("--trash", listing.trash, "What is in the trash instead");
  text_option(*sessions, "--view", "What this view holds, from `reef views`",
              [&](auto v) { query.set_view(v); });
  text_option(*sessions, "--where", "What this filter holds, docs/organise.md",
              [&](auto v) { query.set_where(v); });

  std::string id;
  const auto with_id = [&](CLI::App* command) {
    command->add_option("ID", id, "Session id, from `reef sessions`")
        ->required()
        ->check(check_text);
    return command;
  };
  auto* show = with_id(
      add(app, flags, "show", "Print a session's branch", "reef show 261115-swift-river --tree"));
  bool view_all = false, view_branch = false, view_tree = false, view_raw = false;
  show->add_flag("--branch", view_branch, "The current branch (the default)");
  show->add_flag("--all", view_all, "Every branch, in the order of the file");
  show->add_flag("--tree", view_tree, "The tree, a line an entry");
  show->add_flag("--raw", view_raw, "The file itself");

  bool follow = false;
  auto* tail = with_id(add(app, flags, "tail", "Print a session and what is added",
                           "reef tail -f 261115-swift-river"));
  tail->add_flag("-f,--follow", follow, "Go on until interrupted");

  std::string new_agent, new_sender;
  std::optional<std::string> new_key;
  auto* fresh = add(app, flags, "new", "Start a conversation over; the old session is kept",
                    "reef new -s ci");
  fresh->add_option("-a,--agent", new_agent, "Agent (default: the daemon's)")->type_name("AGENT");
  fresh->add_option("-s,--sender", new_sender, "Sender (default: user)")->type_name("SENDER");
  fresh->add_option("--key", new_key, "Conversation key, instead of agent and sender")
      ->type_name("KEY");

  auto* resume = with_id(add(app, flags, "resume", "Make a session its conversation's current one",
                             "reef resume 261115-swift-river"));
  resume->add_option("--key", new_key, "Another conversation's key")->type_name("KEY");

  std::string at, entry, label_text;
  auto* fork = with_id(add(app, flags, "fork", "Copy a session's branch into a new one",
                           "reef fork 261115-swift-river --at 1a2b3c4d"));
  fork->add_option("--at", at, "Up to this entry (default: the leaf)")->type_name("ENTRY");

  reef::protocol::Compact compacting;
  auto* compact = with_id(add(app, flags, "compact",
                              "Summarise what is old in a session, so that its context has room",
                              "reef compact 261115-swift-river 'keep the API names'"));
  text_option(*compact, "TEXT", "What the summary should mind in particular",
              [&](auto v) { compacting.set_instructions(v); });
  compact
      ->add_option_function<std::int64_t>(
          "--keep", [&](const std::int64_t& tokens) { compacting.set_keep(tokens); },
          "About so many tokens from the end stay word for word; 0: the last turn")
      ->type_name("TOKENS");

  auto* rewind = with_id(add(app, flags, "rewind", "Continue a session from an earlier entry",
                             "reef rewind 261115-swift-river 1a2b3c4d"));
  rewind->add_option("ENTRY", entry, "Entry id, from `reef show --tree`")->required();
  reef::protocol::RewindSession rewinding;
  rewind->add_flag_function(
      "--summarize", [&](std::int64_t) { rewinding.set_summarize(true); },
      "Tell what is left behind in a summary, for the agent");
  text_option(*rewind, "--mind", "What that summary should mind in particular",
              [&](auto v) { rewinding.set_instructions(v); });

  Selection selection;
  const auto with_selection = [&](CLI::App* command) {
    command->add_option("--where", selection.where, "All that this filter holds")
        ->type_name("FILTER");
    command->add_option("--view", selection.view, "All that this view holds")->type_name("VIEW");
    command->add_flag("-y,--yes", selection.yes, "Do not ask");
    return command;
  };
  std::vector<std::string> fields;
  auto* set = with_selection(add(app, flags, "set", "Change a session's metadata",
                                 "reef set 261115-swift-river name='Deploy keys' isFlagged=true\n"
                                 "  reef set --where 'status:done idle>30d' isArchived=true"));
  set->add_option("ID FIELD=VALUE", fields,
                  "Session (not with --where), and what to change; an empty value removes, "
                  "labels+=x and labels-=x add and remove");

  auto* label = with_id(add(app, flags, "label", "Bookmark an entry",
                            "reef label 261115-swift-river 1a2b3c4d 'before the change'"));
  label->add_option("ENTRY", entry, "Entry id, from `reef show --tree`")->required();
  label->add_option("TEXT", label_text, "The bookmark; none takes it away");

  auto* rm = with_selection(add(app, flags, "rm", "Move sessions to the trash",
                                "reef rm 261115-swift-river\n"
                                "  reef rm --where 'status:cancelled idle>60d'"));
  std::optional<std::string> rm_id;
  rm->add_option("ID", rm_id, "Session id, from `reef sessions`");
  auto* restore = with_id(add(app, flags, "restore", "Take a session out of the trash",
                              "reef restore 261115-swift-river"));

  bool repair = false;
  auto* fsck = add(app, flags, "fsck", "Check every session's file", "reef fsck --json");
  fsck->add_flag("--repair", repair, "Mend what can be; the damaged file is kept beside it");

  std::vector<std::string> attached;
  auto* attach = add(app, flags, "attach", "Copy files into a session; without one, read along",
                     "reef attach 261115-swift-river report.pdf photo.jpg\n"
                     "  reef attach -s ci       shows the turn that runs, from its beginning");
  attach->add_option("ID", id, "Session id, from `reef sessions`");
  attach->add_option("FILE", attached, "What to copy");
  ChatOptions along;
  attach->add_option("-a,--agent", along.agent, "Reading along: the agent")->type_name("AGENT");
  attach->add_option("-s,--sender", along.sender, "Reading along: the sender (default: user)")
      ->type_name("SENDER");
  attach->add_option("--key", along.key, "Reading along: the conversation, instead of both")
      ->type_name("KEY");

  reef::protocol::ListFiles files_query;
  auto* files = with_id(add(app, flags, "files", "What a session's folders hold",
                            "reef files 261115-swift-river attachments --json"));
  text_option(*files, "FOLDER", "attachments, data, downloads, long_responses, plans",
              [&](auto v) { files_query.set_folder(v); });
  files->add_option_function<std::uint32_t>(
      "--limit", [&](const std::uint32_t& v) { files_query.set_limit(v); }, "At most so many");
  text_option(*files, "--cursor", "Continue a limited list",
              [&](auto v) { files_query.set_cursor(v); });

  std::string cat_path;
  auto* cat = with_id(add(app, flags, "cat", "The bytes of a session's file",
                          "reef cat 261115-swift-river attachments/report.pdf > report.pdf"));
  cat->add_option("PATH", cat_path, "From `reef files`")->required();

  reef::protocol::CollectGarbage garbage;
  auto* gc = add(app, flags, "gc", "What was archived or in the trash for long, and could go",
                 "reef gc --archived-days 90 --trash-days 30");
  gc->add_option_function<std::uint32_t>(
        "--archived-days", [&](const std::uint32_t& v) { garbage.set_archived_days(v); },
        "Archived so long ago: to the trash (default 30)")
      ->type_name("N");
  gc->add_option_function<std::uint32_t>(
        "--trash-days", [&](const std::uint32_t& v) { garbage.set_trash_days(v); },
        "In the trash for so long: removed for good (default 30)")
      ->type_name("N");
  gc->add_flag_function(
      "--yes", [&](std::int64_t) { garbage.set_remove(true); },
      "Do it; without, they are only listed");

  reef::protocol::GetUsage usage_query;
  auto* usage_command = add(app, flags, "usage", "Tokens and cost", "reef usage --by day --json");
  text_option(*usage_command, "--by", "session, agent, model (default), day",
              [&](auto v) { usage_query.set_by(v); });
  text_option(*usage_command, "--after", "This day (UTC) and later, for example 2026-01-31",
              [&](auto v) { usage_query.set_after(v); });
  text_option(*usage_command, "--before", "Days before this one",
              [&](auto v) { usage_query.set_before(v); });

  ExportOptions exporting;
  auto* exports = add(app, flags, "export", "Write sessions as files of another format",
                      "reef export 261115-swift-river --to html page.html\n"
                      "  reef export --all --to markdown notes/");
  exports->add_option("ID", exporting.ids, "Session ids; the last word may be the path");
  exports
      ->add_option("--to", exporting.format,
                   "pi, crabtalk, craft, craft-bundle, clawdbot, markdown, ndjson, html")
      ->type_name("FORMAT")
      ->required();
  exports->add_option("-o,--output", exporting.path, "A file or folder (default: stdout)")
      ->type_name("PATH");
  exports->add_flag("--all", exporting.all, "Every session, into a folder");
  exports->add_option("--where", exporting.where, "Those a filter holds, into a folder")
      ->type_name("FILTER");
  exports->add_flag("--force", exporting.force, "Replace files that exist");

  std::string archive;
  bool archive_force = false, merge = false;
  auto* backup = add(app, flags, "backup", "Pack everything that cannot be derived into one file",
                     "reef backup reef-2026-11-15.tar.zst");
  backup->add_option("FILE", archive, "The archive to write, a .tar.zst")->required();
  backup->add_flag("--force", archive_force, "Replace a file that exists");
  auto* restore_backup =
      add(app, flags, "restore-backup", "Unpack a backup into a home without daemon",
          "reef --home ~/.reef restore-backup reef-2026-11-15.tar.zst");
  restore_backup->add_option("FILE", archive, "What `reef backup` wrote")->required();
  restore_backup->add_flag("--merge", merge, "Add what is missing to a home that has sessions");

  reef::protocol::ClientMessage wanted;  // of the definitions' commands
  std::string said, name;
  const auto definition = [&](CLI::App* parent, const char* verb, const char* what,
                              const std::string& example, const char* named) {
    auto* command = add(*parent, flags, verb, what, example);
    command->add_option(named, name, named)->required();
    return command;
  };
  const auto change_of = [](const std::string& verb) {
    if (verb == "add" || verb == "rule") return reef::protocol::DEFINITION_CHANGE_ADD;
    if (verb == "set") return reef::protocol::DEFINITION_CHANGE_SET;
    return reef::protocol::DEFINITION_CHANGE_REMOVE;
  };

  reef::protocol::ChangeStatus status_change;
  auto* statuses = add(app, flags, "statuses", "Statuses and how many sessions have them",
                       "reef statuses add blocked --label Blocked --color red");
  statuses->require_subcommand(0, 1);
  for (const auto* verb : {"add", "set"}) {
    auto* command = definition(
        statuses, verb, *verb == 'a' ? "Add a status" : "Change a status; '' removes a text",
        std::string("reef statuses ") + verb + " blocked --label Blocked", "ID");
    text_option(*command, "--label", "What is shown", [&](auto v) { status_change.set_label(v); });
    text_option(*command, "--category", "open or closed",
                [&](auto v) { status_change.set_category(v); });
    text_option(*command, "--color", "For those who show colours",
                [&](auto v) { status_change.set_color(v); });
    text_option(*command, "--icon", "A sign", [&](auto v) { status_change.set_icon(v); });
  }
  definition(statuses, "rm", "Remove a status; sessions keep the value and show as todo",
             "reef statuses rm blocked", "ID");

  reef::protocol::ChangeLabel label_change;
  reef::protocol::ChangeRule rule_change;
  auto* labels = add(app, flags, "labels", "The tree of labels and how many sessions carry them",
                     "reef labels add priority --type number");
  labels->require_subcommand(0, 1);
  for (const auto* verb : {"add", "set"}) {
    auto* command =
        definition(labels, verb, *verb == 'a' ? "Add a label" : "Change a label; '' removes a text",
                   std::string("reef labels ") + verb + " priority --type number", "ID");
    text_option(*command, "--name", "What is shown", [&](auto v) { label_change.set_name(v); });
    text_option(*command, "--parent", "The label it stands below",
                [&](auto v) { label_change.set_parent(v); });
    text_option(*command, "--type", "Of its value: string, number, date",
                [&](auto v) { label_change.set_type(v); });
    text_option(*command, "--color", "For those who show colours",
                [&](auto v) { label_change.set_color(v); });
  }
  definition(labels, "rm", "Remove a label and its rules; sessions keep what they carry",
             "reef labels rm priority", "ID");
  const std::string rule_example = "reef labels rule ticket '\\b(JIRA-[0-9]+)\\b'";
  for (const auto* verb : {"rule", "unrule"}) {
    auto* command =
        definition(labels, verb,
                   *verb == 'r' ? "Add the label when a message matches (RE2)" : "Take a rule away",
                   rule_example, "ID");
    command
        ->add_option_function<std::string>(
            "PATTERN", [&](const std::string& v) { rule_change.set_pattern(v); },
            "Regular expression; (?i) disregards case")
        ->required();
    if (*verb == 'r')
      text_option(*command, "--value", "Of the label; $1 is the first group",
                  [&](auto v) { rule_change.set_value(v); });
  }

  reef::protocol::ChangeView view_change;
  auto* views = add(app, flags, "views", "Views and how many sessions they hold",
                    "reef views add stale 'status:open idle>2w'");
  views->require_subcommand(0, 1);
  auto* view_add = definition(views, "add", "Save a filter",
                              "reef views add stale 'status:open idle>2w' --name Stale", "ID");
  view_add
      ->add_option_function<std::string>(
          "FILTER", [&](const std::string& v) { view_change.set_filter(v); }, "docs/organise.md")
      ->required();
  auto* view_set = definition(views, "set", "Change a saved filter",
                              "reef views set stale --filter 'status:open idle>3w'", "ID");
  text_option(*view_set, "--filter", "docs/organise.md",
              [&](auto v) { view_change.set_filter(v); });
  for (auto* command : {view_add, view_set})
    text_option(*command, "--name", "What is shown", [&](auto v) { view_change.set_name(v); });
  definition(views, "rm", "Remove a saved filter", "reef views rm stale", "ID");

  ChatOptions sending;
  std::string send_message;
  auto* send = add(app, flags, "send", "Send one message to a conversation by its key",
                   "reef send --key agent:reef:cron 'the night run is done'");
  send->add_option("--key", sending.key, "For example agent:reef:user")
      ->type_name("KEY")
      ->required();
  send->add_option("--queue", sending.queue, "While a turn runs: docs/runs.md has the modes")
      ->type_name("followup|steer|collect|interrupt");
  send->add_option("MESSAGE", send_message, "What to say")->required();

  ImportOptions importing;
  auto* import_command = add(app, flags, "import", "Bring in the sessions of another program",
                             "reef import auto   (or: reef import pi ~/.pi/agent --dry-run)");
  import_command->add_option("KIND", importing.kind, "auto, crabtalk, craft, clawdbot or pi")
      ->required()
      ->check(CLI::IsMember({"auto", "crabtalk", "craft", "clawdbot", "openclaw", "pi"}));
  import_command->add_option("PATH", importing.path, "Where they lie; not with auto");
  import_command->add_flag("--redact", importing.redact, "Mask keys, tokens and passwords");
  import_command->add_flag("--dry-run", importing.dry_run, "Only look; write nothing");
  import_command->add_flag("--keys", importing.keys,
                           "Bind also the keys the sessions' own files name");
  import_command->add_flag("--yes", importing.yes, "Do not ask (auto)");

  SearchOptions searching;
  std::vector<std::string> search_words;
  std::string search_group;
  auto* search = add(app, flags, "search", "Find what was ever said",
                     "reef search what did we decide about the parser\n"
                     "  reef search timeout -network role:tool after:2026-01-01\n"
                     "  reef search -- --verbose     (words that begin with -- go behind a --)");
  // For the help; split_search() finds them.
  search
      ->add_option("QUERY", search_words,
                   "Words; -word leaves out what has it, docs/search.md has more")
      ->type_name("WORD");
  search->add_flag("--stdin", searching.from_stdin, "One question a line on standard input");
  search->add_option("--limit", searching.limit, "Hits, at most 20 (default 10)")->type_name("N");
  search->add_option("--offset", searching.offset, "Leave out the first N")->type_name("N");
  search->add_option("--group", search_group, "session: one hit a session")
      ->check(CLI::IsMember({"session"}));
  search->add_option("--before", searching.before, "Messages before each hit")->type_name("N");
  search->add_option("--after", searching.after, "Messages after each hit")->type_name("N");
  search->add_option("-a,--agent", searching.agent, "Only sessions of this agent")
      ->type_name("AGENT")
      ->check(check_text);
  search->add_option("-s,--sender", searching.sender, "Only sessions of this sender")
      ->type_name("SENDER")
      ->check(check_text);
  search->add_option("--exclude", searching.exclude, "A session not to look at")
      ->type_name("ID")
      ->check(check_text);

  auto* reload = add(app, flags, "reload", "Read the configuration again", "reef reload");
  auto* stop =
      add(app, flags, "stop", "Stop the daemon; running turns are finished first", "reef stop");

  std::vector<std::unique_ptr<CommandGroup>> groups;
  for (auto* make : {run_commands, decision_commands, memory_commands, model_commands,
                     agent_commands, event_commands, permission_commands, policy_commands,
                     context_commands, skill_commands, task_commands, mcp_commands})
    groups.push_back(make(app, flags.json));

  std::vector<std::string> arguments(argv + 1, argv + argc);
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
  auto home = reef::daemon::find_home(flags.home);
  if (!home) return report("home", home.error());
  const Context context{*std::move(home), flags.json, !flags.no_start};
  if (message_option->count() > 0) chat.message = message;

  if (ping->parsed()) return run_ping(context);
  if (status->parsed())
    return status_id.empty() ? run_status(context) : run_session_status(context, status_id);
  if (sessions->parsed()) return run_sessions(context, listing);
  if (show->parsed())
    return run_show(context, id,
                    view_raw    ? View::raw
                    : view_tree ? View::tree
                    : view_all  ? View::all
                                : View::branch);
  if (tail->parsed()) return run_tail(context, id, follow);
  if (fresh->parsed()) return run_new(context, new_agent, new_sender, new_key);
  if (resume->parsed()) return run_resume(context, id, new_key);
  if (fork->parsed()) return run_fork(context, id, at);
  if (compact->parsed()) {
    compacting.set_session_id(id);
    return run_compact(context, compacting);
  }
  if (rewind->parsed()) {
    rewinding.set_id(id);
    rewinding.set_entry(entry);
    return run_rewind(context, rewinding);
  }
  if (set->parsed()) return run_set(context, fields, selection);
  if (label->parsed()) return run_label(context, id, entry, label_text);
  if (rm->parsed()) return run_rm(context, rm_id, selection);
  if (restore->parsed()) return run_restore(context, id);
  if (fsck->parsed()) return run_fsck(context, repair);
  if (attach->parsed() && id.empty()) return run_read_along(context, along);
  if (attach->parsed() && attached.empty()) {
    std::fprintf(stderr, "reef: usage: FILE is required\nTry: reef attach --help\n");
    return 2;
  }
  if (attach->parsed()) return run_attach(context, id, attached);
  if (files->parsed()) {
    files_query.set_id(id);
    return run_files(context, files_query);
  }
  if (cat->parsed()) return run_cat(context, id, cat_path);
  if (gc->parsed()) return run_gc(context, garbage);
  if (usage_command->parsed()) return run_usage(context, usage_query);
  if (backup->parsed()) return run_backup(context, archive, archive_force);
  if (restore_backup->parsed()) return run_restore_backup(context, archive, merge);
  if (exports->parsed()) return run_export(context, exporting);
  for (auto* command : {statuses, labels, views}) {
    if (!command->parsed()) continue;
    const auto verbs = command->get_subcommands();
    const auto verb = verbs.empty() ? std::string() : verbs[0]->get_name();
    if (!verb.empty()) {
      const bool removes = verb == "rm" || verb == "unrule";
      said = name + (removes ? " removed" : verb == "add" ? " added" : " changed");
    }
    if (command == statuses && verb.empty()) {
      wanted.mutable_list_statuses();
    } else if (command == statuses) {
      status_change.set_id(name);
      status_change.set_change(change_of(verb));
      *wanted.mutable_change_status() = status_change;
    } else if (command == labels && verb.empty()) {
      wanted.mutable_list_labels();
    } else if (command == labels && verb.ends_with("rule")) {
      rule_change.set_label(name);
      rule_change.set_change(change_of(verb));
      *wanted.mutable_change_rule() = rule_change;
    } else if (command == labels) {
      label_change.set_id(name);
      label_change.set_change(change_of(verb));
      *wanted.mutable_change_label() = label_change;
    } else if (verb.empty()) {
      wanted.mutable_list_views();
    } else {
      view_change.set_id(name);
      view_change.set_change(change_of(verb));
      *wanted.mutable_change_view() = view_change;
    }
    return run_definitions(context, command->get_name(), wanted, said);
  }
  if (send->parsed()) {
    sending.message = send_message;
    sending.command = "send";
    return run_chat(context, sending);
  }
  if (import_command->parsed()) {
    const bool by_itself = importing.kind == "auto";
    if (by_itself != importing.path.empty()) {
      std::fprintf(stderr, "reef: usage: %s\nTry: reef import --help\n",
                   by_itself ? "import auto takes no path" : "import KIND needs a PATH");
      return 2;
    }
    return run_import(context, importing);
  }
  for (const auto& group : groups)
    if (group->parsed()) return group->run(context);
  if (search->parsed()) {
    if (searching.from_stdin && !search_words.empty())
      return usage("--stdin takes its questions from standard input; leave out the words",
                   "search ");
    for (const auto& word : search_words)
      searching.query += (searching.query.empty() ? "" : " ") + word;
    searching.by_session = !search_group.empty();
    if (searching.query.empty() && !searching.from_stdin)
      return usage("search needs a question", "search ");
    return run_search(context, searching);
  }
  if (reload->parsed()) return run_reload(context);
  if (stop->parsed()) return run_stop(context);
  return run_chat(context, chat);
}
