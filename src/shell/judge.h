// Walks a script and gathers what its commands do.
#pragma once

#include "shell/programs.h"
#include "shell/shell.h"
#include "shell/syntax.h"

namespace reef::shell {

using Effect = Judgement::Effect;

// What "always" could cover of one thing a command does.
struct Rule {
  std::string kind;    // see Judgement::rule
  bool exact = false;  // the very same command line again
};

class Judge {
 public:
  // A script as text: the command itself, and those given to sh -c and eval.
  void text(std::string_view script, Dialect dialect = Dialect::bash);
  Judgement result() const;

 private:
  void script(const Script& script);
  void command(const Command& command, bool piped);
  void function(const Command& command);
  void words(const std::vector<Word>& words);
  void word(const Word& word);
  void redirect(const Redirect& redirect);
  void assignments(const Command& command);
  // A program with its words.
  void run(const Arguments& words, bool piped);
  bool run_wrapper(const std::string& program, Call call, bool piped);
  void run_shell(const std::string& program, Call call, bool piped);
  void run_find(Call call);
  void run_xargs(Call call);
  void run_env(Call call);
  void run_opaque(const std::string& program, Call call);

  void note(Effect effect, std::string reason, Rule rule = {});

  Effect effect_ = Effect::reads;
  std::string reason_;
  // Of everything that is more than looking: the same kind everywhere, or none.
  Rule rule_;
  bool ruled_ = false;
  // Nothing in it changes where and how what follows is run.
  bool steady_ = true;
  bool for_many_ = false;  // it is run for everything that is found
  int depth_ = 0;
};

// Why nobody would want this without being asked; empty: nothing of the kind.
std::string danger_of(std::string_view program, Call call);
// Of a path that is written to.
std::string danger_of_path(std::string_view path);
// Of a text that could not be parsed, from its words alone.
std::string danger_in_text(std::string_view text);

// What "always" would cover.
Rule rule_of(std::string_view program, Call call);
// The folder, the variables, the aliases, or the shell itself.
bool changes_what_follows(std::string_view program);
bool is_reefs_own(std::string_view program);

// A letter among the short options, or one of the long ones (also cut short).
bool has_option(Call call, std::string_view letters, std::string_view longs);

}  // namespace reef::shell
