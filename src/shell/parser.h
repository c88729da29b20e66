// The recursive descent behind parse(). A failure is kept and moves on to the end of the text, so
// that every loop ends.
#pragma once

#include <cctype>
#include <cstddef>

#include "shell/syntax.h"

namespace reef::shell {

class Parser {
 public:
  Parser(std::string_view text, Dialect dialect, int depth)
      : text_(text), dialect_(dialect), depth_(depth) {}

  Script whole();
  // Parses text in which only $ and ` have a meaning: a here-document.
  Word document();

  bool failed() const { return !problem_.empty(); }
  const std::string& problem() const { return problem_; }

 private:
  // Here-documents are read at the end of their line.
  struct Pending {
    std::string delimiter;
    bool quoted;
    bool strip_tabs;
    std::shared_ptr<Word> document;
  };

  // parser.cpp: lists and commands.
  Script list();
  Pipeline pipeline();
  Command command();
  Command simple();
  Command compound(std::string_view opener);
  Command loop_over_words();
  Command cases();
  Command condition();
  void regex_operand(Command& command);
  Command function(std::string name);
  bool expect(std::string_view word);
  void body(Command& command, std::string_view opener, std::string_view closer);
  void redirects_after(Command& command);

  // redirects.cpp
  bool at_redirect() const;
  void redirect(Command& command);
  void read_documents();

  // assignments.cpp
  std::size_t assignment_length() const;  // including '='; 0: none
  void assignment(Command& command);

  // words.cpp
  Word word();
  void word_part(Word& word);
  void double_quoted(Word& word);
  void dollar(Word& word, bool quoted);
  void braced_parameter(Word& word, bool quoted);
  Word parameter_word(bool quoted);
  void substitution(Word& word, Part::Kind kind, bool quoted);
  void backquoted(Word& word, bool quoted);
  std::string arithmetic(std::string_view closer);
  std::string ansi_c();

  // Characters.
  bool done() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  std::string_view rest() const { return done() ? std::string_view() : text_.substr(at_); }
  bool starts(std::string_view with) const { return rest().starts_with(with); }
  bool take(std::string_view what) {
    if (!starts(what)) return false;
    at_ += what.size();
    return true;
  }
  void fail(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
    at_ = text_.size();
  }
  // The raw characters up to the next one that ends a word.
  std::string_view run() const;
  void skip_blanks();    // and comments, and joined lines
  void skip_newlines();  // and blanks
  void newline();

  // Fails in other dialects, for syntax that only bash has or reads this way.
  void only_bash(std::string_view what) {
    if (dialect_ != Dialect::bash)
      fail(std::string(what) + " means something else to other shells");
  }

  std::string_view text_;
  Dialect dialect_;
  std::size_t at_ = 0;
  int depth_;
  std::string problem_;
  std::vector<Pending> pending_;
  friend class Deeper;
};

// One level of nesting.
class Deeper {
 public:
  explicit Deeper(Parser& parser) : parser_(parser) {
    if (++parser_.depth_ > kNestingMax) parser_.fail("it is nested too deeply");
  }
  ~Deeper() { --parser_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Parser& parser_;
};

inline bool is_name_start(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_name_char(char c) {
  return is_name_start(c) || is_digit(c);
}
inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
inline bool ends_word(char c) {
  return is_blank(c) || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' ||
         c == '<' || c == '>' || c == '\0';
}

}  // namespace reef::shell
