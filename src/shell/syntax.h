// A bash command line as a tree, as far as the judge needs it: which programs run with which words,
// and what is redirected, at any depth. Values; made by parse().
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace reef::shell {

struct Script;

struct Part;
struct Word {
  std::vector<Part> parts;
  bool quoted = false;  // in some part
};

struct Part {
  enum class Kind : unsigned char {
    literal,
    tilde,      // a home folder
    glob,       // unquoted * ? [
    brace,      // unquoted {, which may make several words
    parameter,  // $x, ${x...}
    arithmetic,
    command,  // $( ) and ` `
    process,  // <( ) and >( )
  };
  Kind kind = Kind::literal;
  bool quoted = false;
  bool many = false;            // "$@" and the like: several words although quoted
  std::string text;             // literal: without its quotes; parameter: its name
  std::string risk;             // why expanding it may change something
  std::vector<Word> words;      // inside ${x:-word}
  std::vector<Script> scripts;  // at most one
};

struct Redirect {
  std::string op;      // "<", ">", ">>", "<<", "<<<", "&>", ...
  bool named = false;  // {name}> assigns a variable
  Word target;
  std::shared_ptr<Word> document;  // of << and <<-
};

struct Assignment {
  std::string name;
  std::vector<Word> values;  // several: an array
  std::string risk;
};

// One command with its redirections: a simple one, or a compound one with lists inside.
struct Command {
  enum class Kind : unsigned char { simple, compound, function, condition };
  Kind kind = Kind::simple;
  std::vector<Assignment> assignments;
  std::vector<Word> words;  // simple: program and arguments; condition: what is between [[ ]];
                            // compound: of for, case and select
  std::string name;         // the variable of for and select, or the function
  std::string risk;
  std::vector<Script> scripts;
  std::vector<Redirect> redirects;
};

struct Pipeline {
  std::vector<Command> commands;
  bool background = false;
};

struct Script {
  std::vector<Pipeline> pipelines;
};

inline Part make_part(Part::Kind kind, bool quoted, std::string text = {}) {
  Part part;
  part.kind = kind;
  part.quoted = quoted;
  part.text = std::move(text);
  return part;
}
inline Command make_command(Command::Kind kind) {
  Command command;
  command.kind = kind;
  return command;
}

inline constexpr std::size_t kCommandBytesMax = 64U << 10;
inline constexpr int kNestingMax = 40;

// sh may be another shell than bash, which reads some of bash's syntax differently.
enum class Dialect : unsigned char { bash, posix };

// Refuses, with the reason, what bash would refuse, and what bash allows but nobody writes, so that
// bash and the judge never understand it differently.
Result<Script> parse(std::string_view text, Dialect dialect = Dialect::bash);

}  // namespace reef::shell
