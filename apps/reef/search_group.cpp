// The words of search. Its question is taken out before the parser sees it (query_words.h).
#include "command_rows.h"
#include "commands.h"

namespace reef::cli {
namespace {

struct Options {
  SearchOptions search;
  std::vector<std::string> words;  // only the help speaks of them
  std::string group;
};

int search(const Context& context, const Options& options, const std::vector<std::string>& words) {
  auto search = options.search;
  if (search.from_stdin && !words.empty())
    return usage("--stdin takes its questions from standard input; leave out the words", "search ");
  for (const auto& word : words) search.query += (search.query.empty() ? "" : " ") + word;
  search.by_session = !options.group.empty();
  if (search.query.empty() && !search.from_stdin)
    return usage("search needs a question", "search ");
  return run_search(context, search);
}

}  // namespace

std::unique_ptr<CommandGroup> search_commands(CLI::App& app, bool& json,
                                              const std::vector<std::string>& words) {
  auto o = std::make_shared<Options>();
  auto& s = o->search;
  auto* command =
      add_command(app, json, "search", "Find what was ever said",
                  "reef search what did we decide about the parser\n"
                  "  reef search timeout -network role:tool after:2026-01-01\n"
                  "  reef search -- --verbose     (words that begin with -- go behind a --)");
  command
      ->add_option("QUERY", o->words,
                   "Words; -word leaves out what has it, docs/search.md has more")
      ->type_name("WORD");
  command->add_flag("--stdin", s.from_stdin, "One question a line on standard input");
  command->add_option("--limit", s.limit, "Hits, at most 20 (default 10)")->type_name("N");
  command->add_option("--offset", s.offset, "Leave out the first N")->type_name("N");
  command->add_option("--group", o->group, "session: one hit a session")
      ->check(CLI::IsMember({"session"}));
  command->add_option("--before", s.before, "Messages before each hit")->type_name("N");
  command->add_option("--after", s.after, "Messages after each hit")->type_name("N");
  command->add_option("-a,--agent", s.agent, "Only sessions of this agent")
      ->type_name("AGENT")
      ->check(check_text);
  command->add_option("-s,--sender", s.sender, "Only sessions of this sender")
      ->type_name("SENDER")
      ->check(check_text);
  command->add_option("--exclude", s.exclude, "A session not to look at")
      ->type_name("ID")
      ->check(check_text);
  auto rows = std::make_unique<CommandRows>();
  rows->add(command, [o, &words](const Context& context) { return search(context, *o, words); });
  return rows;
}

}  // namespace reef::cli
