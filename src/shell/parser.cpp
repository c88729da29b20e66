#include "shell/parser.h"

#include <algorithm>

#include <fmt/format.h>

namespace reef::shell {
namespace {

constexpr std::string_view kClosers[] = {"then", "fi", "do", "done", "else", "elif", "esac", "}"};
constexpr std::string_view kOpeners[] = {"if",   "while", "until", "for",      "select",
                                         "case", "{",     "[[",    "function", "coproc"};

template <std::size_t N>
bool is_one_of(std::string_view word, const std::string_view (&list)[N]) {
  return std::ranges::find(list, word) != std::end(list);
}

}  // namespace

Result<Script> parse(std::string_view text, Dialect dialect) {
  if (text.size() > kCommandBytesMax)
    return Error(Errc::too_large, fmt::format("it has {} bytes; at most {} are read", text.size(),
                                              kCommandBytesMax));
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
      return Error(Errc::invalid, "it holds control characters");
  Parser parser(text, dialect, 0);
  auto script = parser.whole();
  if (parser.failed()) return Error(Errc::invalid, parser.problem());
  return script;
}

std::string_view Parser::run() const {
  const auto left = rest();
  std::size_t end = 0;
  while (end < left.size() && !ends_word(left[end])) ++end;
  return left.substr(0, end);
}

void Parser::skip_blanks() {
  for (;;) {
    if (is_blank(peek())) {
      ++at_;
    } else if (peek() == '\\' && peek(1) == '\n') {
      // Lines may be joined only between words, because inside one this could join half an
      // operator.
      const bool after = at_ > 0 && (is_blank(text_[at_ - 1]) || text_[at_ - 1] == '\n');
      if (!after && !is_blank(peek(2))) return fail("a line is continued inside a word");
      at_ += 2;
    } else if (peek() == '#' && (at_ == 0 || ends_word(text_[at_ - 1]))) {
      while (!done() && peek() != '\n') ++at_;
    } else {
      return;
    }
  }
}

void Parser::newline() {
  ++at_;
  if (!pending_.empty()) read_documents();
}

void Parser::skip_newlines() {
  skip_blanks();
  while (peek() == '\n') {
    newline();
    skip_blanks();
  }
}

Script Parser::whole() {
  auto script = list();
  if (!done()) fail(fmt::format("'{}' is not expected there", peek()));
  if (!pending_.empty()) fail("a here-document does not end");
  return script;
}

// Parses commands up to anything that closes a list; the caller checks what it is.
Script Parser::list() {
  const Deeper deeper(*this);
  Script script;
  for (;;) {
    skip_newlines();
    if (done() || peek() == ')' || starts(";;") || starts(";&") || is_one_of(run(), kClosers))
      return script;
    script.pipelines.push_back(pipeline());
    for (skip_blanks(); take("&&") || take("||"); skip_blanks()) {
      skip_newlines();
      script.pipelines.push_back(pipeline());
    }
    if (starts(";;") || starts(";&")) return script;
    if (peek() == '&') script.pipelines.back().background = true;
    if (peek() == ';' || peek() == '&')
      ++at_;
    else if (peek() != '\n' && peek() != ')' && !done() && !is_one_of(run(), kClosers))
      fail(fmt::format("'{}' is not expected there", peek()));
  }
}

Pipeline Parser::pipeline() {
  Pipeline pipeline;
  for (;; skip_blanks()) {
    if (run() == "!") {
      ++at_;
    } else if (run() == "time") {
      at_ += 4;
      skip_blanks();
      if (run() == "-p") at_ += 2;
    } else {
      break;
    }
  }
  for (;;) {
    pipeline.commands.push_back(command());
    skip_blanks();
    if (starts("||") || peek() != '|') return pipeline;
    ++at_;
    if (peek() == '&') only_bash("'|&'");
    if (take("&")) pipeline.commands.back().redirects.emplace_back().op = "|&";
    skip_newlines();
  }
}

Command Parser::command() {
  const Deeper deeper(*this);
  skip_blanks();
  if (starts("((")) {
    only_bash("'(('");
    at_ += 2;
    auto arithmetic_command = make_command(Command::Kind::compound);
    arithmetic_command.risk = arithmetic("))");
    redirects_after(arithmetic_command);
    return arithmetic_command;
  }
  if (take("(")) {
    auto subshell = make_command(Command::Kind::compound);
    subshell.scripts.push_back(list());
    if (!take(")")) fail("a '(' is not closed");
    redirects_after(subshell);
    return subshell;
  }
  if (const auto word = run(); is_one_of(word, kOpeners)) {
    if (word == "[[" || word == "function" || word == "select")
      only_bash("'" + std::string(word) + "'");
    return compound(word);
  }
  return simple();
}

bool Parser::expect(std::string_view word) {
  skip_newlines();
  if (run() != word) {
    fail(fmt::format("'{}' is missing", word));
    return false;
  }
  at_ += word.size();
  return true;
}

void Parser::body(Command& command, std::string_view opener, std::string_view closer) {
  expect(opener);
  command.scripts.push_back(list());
  expect(closer);
}

Command Parser::compound(std::string_view opener) {
  auto result = make_command(Command::Kind::compound);
  if (opener == "{") {
    body(result, "{", "}");
  } else if (opener == "while" || opener == "until") {
    at_ += opener.size();
    result.scripts.push_back(list());
    body(result, "do", "done");
  } else if (opener == "if") {
    at_ += opener.size();
    result.scripts.push_back(list());
    expect("then");
    result.scripts.push_back(list());
    while (!failed() && run() == "elif") {
      at_ += 4;
      result.scripts.push_back(list());
      expect("then");
      result.scripts.push_back(list());
    }
    if (!failed() && run() == "else") {
      at_ += 4;
      result.scripts.push_back(list());
    }
    expect("fi");
  } else if (opener == "for" || opener == "select") {
    at_ += opener.size();
    result = loop_over_words();
  } else if (opener == "case") {
    at_ += opener.size();
    result = cases();
  } else if (opener == "[[") {
    at_ += opener.size();
    result = condition();
  } else if (opener == "function") {
    at_ += opener.size();
    skip_blanks();
    const std::string name(run());
    at_ += name.size();
    skip_blanks();
    if (take("(")) {
      skip_blanks();
      if (!take(")")) fail("'function' without ()");
    }
    return function(name);
  } else {
    fail(fmt::format("'{}' is not judged", opener));
  }
  redirects_after(result);
  return result;
}

Command Parser::loop_over_words() {
  auto loop = make_command(Command::Kind::compound);
  skip_blanks();
  if (take("((")) {
    only_bash("'for (('");
    loop.risk = arithmetic("))");
    skip_blanks();
    take(";");
    body(loop, "do", "done");
    return loop;
  }
  loop.name = run();
  if (loop.name.empty() || !is_name_start(loop.name.front()) ||
      !std::ranges::all_of(loop.name, is_name_char))
    fail("a loop needs the name of a variable");
  at_ += loop.name.size();
  skip_newlines();
  if (run() == "in") {
    at_ += 2;
    for (skip_blanks(); !failed() && peek() != ';' && peek() != '\n'; skip_blanks()) {
      if (done() || ends_word(peek())) {
        if (!starts("<(") && !starts(">(")) {
          fail("a loop's words do not end");
          break;
        }
      }
      loop.words.push_back(word());
    }
  }
  skip_blanks();
  if (peek() == ';' && peek(1) != ';') ++at_;
  body(loop, "do", "done");
  return loop;
}

Command Parser::cases() {
  auto result = make_command(Command::Kind::compound);
  skip_blanks();
  result.words.push_back(word());
  expect("in");
  for (skip_newlines(); !failed() && run() != "esac"; skip_newlines()) {
    take("(");
    for (;;) {
      skip_blanks();
      if (ends_word(peek())) {
        fail("'case' without a pattern");
        return result;
      }
      result.words.push_back(word());
      skip_blanks();
      if (!take("|")) break;
    }
    if (!take(")")) fail("a pattern of 'case' does not end");
    result.scripts.push_back(list());
    if (!take(";;&") && !take(";;") && !take(";&")) break;
  }
  expect("esac");
  return result;
}

// Operators become literal words; the judge knows where they stand.
Command Parser::condition() {
  auto result = make_command(Command::Kind::condition);
  const auto add = [&](std::string_view op) {
    Word made;
    made.parts.push_back(make_part(Part::Kind::literal, false, std::string(op)));
    result.words.push_back(std::move(made));
    at_ += op.size();
  };
  for (skip_newlines(); !failed(); skip_newlines()) {
    if (done()) {
      fail("a '[[' is not closed");
    } else if (run() == "]]") {
      at_ += 2;
      return result;
    } else if (starts("&&") || starts("||")) {
      add(text_.substr(at_, 2));
    } else if (run() == "=~") {
      add("=~");
      regex_operand(result);
    } else if (starts("<(") || starts(">(")) {
      result.words.push_back(word());
    } else if (peek() == '(' || peek() == ')' || peek() == '<' || peek() == '>') {
      add(text_.substr(at_, 1));
    } else if (ends_word(peek())) {
      fail(fmt::format("'{}' is not expected in [[ ]]", peek()));
    } else {
      result.words.push_back(word());
    }
  }
  return result;
}

// ( | ) are part of a regular expression, which ends at a blank.
void Parser::regex_operand(Command& command) {
  skip_blanks();
  Word regex;
  while (!done() && !is_blank(peek()) && peek() != '\n') {
    if (peek() == '(' || peek() == ')' || peek() == '|') {
      regex.parts.push_back(make_part(Part::Kind::glob, false));
      ++at_;
    } else if (ends_word(peek())) {
      return fail("a regular expression that is not understood");
    } else {
      word_part(regex);
    }
  }
  command.words.push_back(std::move(regex));
}

Command Parser::function(std::string name) {
  auto result = make_command(Command::Kind::function);
  result.name = std::move(name);
  skip_newlines();
  if (peek() != '(' && !is_one_of(run(), kOpeners)) {
    fail("a function needs a body");
    return result;
  }
  Script inner;
  inner.pipelines.emplace_back().commands.push_back(command());
  result.scripts.push_back(std::move(inner));
  return result;
}

void Parser::redirects_after(Command& command) {
  for (skip_blanks(); at_redirect(); skip_blanks()) redirect(command);
}

Command Parser::simple() {
  Command result;
  for (;; skip_blanks()) {
    if (at_redirect()) {
      redirect(result);
    } else if (result.words.empty() && assignment_length() > 0) {
      assignment(result);
    } else if (peek() == '(' && result.words.size() == 1 && result.assignments.empty() &&
               result.redirects.empty() && !result.words.front().quoted &&
               result.words.front().parts.size() == 1 &&
               result.words.front().parts.front().kind == Part::Kind::literal) {
      ++at_;
      skip_blanks();
      if (!take(")")) fail("'(' is not expected there");
      return function(result.words.front().parts.front().text);
    } else if (done() || (ends_word(peek()) && !starts("<(") && !starts(">("))) {
      break;
    } else {
      result.words.push_back(word());
    }
  }
  if (result.words.empty() && result.assignments.empty() && result.redirects.empty())
    fail(done() ? "a command is missing at the end"
                : fmt::format("'{}' is not expected there", peek()));
  return result;
}

}  // namespace reef::shell
