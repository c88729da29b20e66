// Walks a script and collects what its commands do.
#pragma once

#include "shell/programs.h"
#include "shell/shell.h"
#include "shell/syntax.h"

namespace reef::shell {

using Effect = Judgement::Effect;

// The rule that "always" could have for one command.
struct Rule {
  std::string kind;    // see Judgement::rule
  bool exact = false;  // only the very same command line again
};

class Judge {
 public:
  // Judges a script as text: the command itself, or one given to sh -c or eval.
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
  // Judges a program with its words.
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
  // The rule that everything which changes something has in common.
  Rule rule_;
  bool ruled_ = false;
  // No command changes the folder or the variables of those after it.
  bool steady_ = true;
  bool for_many_ = false;  // it runs for everything that is found
  int depth_ = 0;
};

// Says why the user must always be asked about this; empty when nothing is dangerous.
std::string danger_of(std::string_view program, Call call);
// The same for a path that is written to.
std::string danger_of_path(std::string_view path);
// The same for a text that could not be parsed, by its words alone.
std::string danger_in_text(std::string_view text);

// The rule "always" could have for this program and its words.
Rule rule_of(std::string_view program, Call call);
// Whether the program changes the folder, the variables, the aliases or the shell itself.
bool changes_what_follows(std::string_view program);
bool is_reefs_own(std::string_view program);

// Whether the call has one of the short options, or one of the long ones (also abbreviated).
bool has_option(Call call, std::string_view letters, std::string_view longs);

}  // namespace reef::shell
