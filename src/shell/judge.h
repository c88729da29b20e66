// Walks a script and gathers what its commands do.
#pragma once

#include "shell/programs.h"
#include "shell/shell.h"
#include "shell/syntax.h"

namespace reef::shell {

using Effect = Judgement::Effect;

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

  void note(Effect effect, std::string reason, std::string rule = {});

  Effect effect_ = Effect::reads;
  std::string reason_;
  // Of everything that is more than looking: the same everywhere, or none.
  std::string rule_;
  bool ruled_ = false;
  int depth_ = 0;
};

// Why nobody would want this without being asked; empty: nothing of the kind.
std::string danger_of(std::string_view program, Call call);
// Of a path that is written to.
std::string danger_of_path(std::string_view path);
// Of a text that could not be parsed, from its words alone.
std::string danger_in_text(std::string_view text);

// What "always" would cover; empty: nothing can be.
std::string rule_of(std::string_view program, Call call);

}  // namespace reef::shell
