#include <algorithm>

#include "shell/parser.h"

namespace reef::shell {
namespace {

void add_literal(Word& word, std::string_view text, bool quoted) {
  if (!word.parts.empty() && word.parts.back().kind == Part::Kind::literal &&
      word.parts.back().quoted == quoted)
    word.parts.back().text += text;
  else
    word.parts.push_back(make_part(Part::Kind::literal, quoted, std::string(text)));
}

}  // namespace

Word Parser::word() {
  const Deeper deeper(*this);
  const auto begin = at_;
  Word made;
  if (run() == "[") {  // the program
    made.parts.push_back(make_part(Part::Kind::literal, false, "["));
    ++at_;
    return made;
  }
  if (peek() == '~') {
    made.parts.push_back(make_part(Part::Kind::tilde, false, "~"));
    ++at_;
  }
  while (!done() && (!ends_word(peek()) || starts("<(") || starts(">("))) word_part(made);
  if (!pending_.empty() && text_.substr(begin, at_ - begin).find('\n') != std::string_view::npos)
    fail("a here-document whose place is not clear");
  return made;
}

void Parser::word_part(Word& word) {
  const char c = peek();
  switch (c) {
    case '\\':
      if (peek(1) == '\n') {
        // Lines may be joined only between words; skip_blanks() refuses all others.
        if (!is_blank(peek(2))) return fail("a line is continued inside a word");
        at_ += 2;
        return;
      }
      if (at_ + 1 >= text_.size()) return fail("a '\\' ends the command");
      word.quoted = true;
      add_literal(word, text_.substr(at_ + 1, 1), true);
      at_ += 2;
      return;
    case '\'': {
      const auto end = text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) return fail("a ' is not closed");
      word.quoted = true;
      add_literal(word, text_.substr(at_ + 1, end - at_ - 1), true);
      at_ = end + 1;
      return;
    }
    case '"':
      ++at_;
      return double_quoted(word);
    case '$':
      return dollar(word, false);
    case '`':
      return backquoted(word, false);
    case '<':
    case '>':
      return substitution(word, Part::Kind::process, false);
    case '*':
    case '?':
    case '[':
      word.parts.push_back(make_part(Part::Kind::glob, false, std::string(1, c)));
      ++at_;
      return;
    case '{':
      if (starts("{}")) {
        add_literal(word, "{}", false);
        at_ += 2;
        return;
      }
      word.parts.push_back(make_part(Part::Kind::brace, false, "{"));
      ++at_;
      return;
    default:
      add_literal(word, text_.substr(at_, 1), false);
      ++at_;
  }
}

void Parser::double_quoted(Word& word) {
  word.quoted = true;
  add_literal(word, "", true);
  while (!done()) {
    const char c = peek();
    if (c == '"') {
      ++at_;
      return;
    }
    if (c == '$') {
      dollar(word, true);
    } else if (c == '`') {
      backquoted(word, true);
    } else if (c == '\\' && peek(1) == '\n') {
      at_ += 2;
    } else if (c == '\\' && std::string_view("$`\"\\").find(peek(1)) != std::string_view::npos &&
               at_ + 1 < text_.size()) {
      add_literal(word, text_.substr(at_ + 1, 1), true);
      at_ += 2;
    } else {
      add_literal(word, text_.substr(at_, 1), true);
      ++at_;
    }
  }
  fail("a \" is not closed");
}

Word Parser::document() {
  Word made;
  while (!done()) {
    const char c = peek();
    if (c == '$') {
      dollar(made, true);
    } else if (c == '`') {
      backquoted(made, true);
    } else {
      const std::size_t length =
          c == '\\' && std::string_view("$`\\").find(peek(1)) != std::string_view::npos ? 2 : 1;
      add_literal(made, text_.substr(at_ + length - 1, 1), true);
      at_ += length;
    }
  }
  return made;
}

void Parser::dollar(Word& word, bool quoted) {
  const char next = peek(1);
  if (next == '\\' && peek(2) == '\n') return fail("a line is continued inside a word");
  if (next == '(') return substitution(word, Part::Kind::command, quoted);
  if (next == '{') return braced_parameter(word, quoted);
  if (next == '[') return fail("'$[' is not judged");
  if ((next == '\'' || next == '"') && !quoted) only_bash("'$' before a quote");
  if (next == '\'' && !quoted) {
    at_ += 2;
    word.quoted = true;
    add_literal(word, ansi_c(), true);
    return;
  }
  if (next == '"' && !quoted) {
    at_ += 2;
    return double_quoted(word);
  }
  auto part = make_part(Part::Kind::parameter, quoted);
  if (is_name_start(next)) {
    auto end = at_ + 1;
    while (end < text_.size() && is_name_char(text_[end])) ++end;
    part.text = text_.substr(at_ + 1, end - at_ - 1);
  } else if (is_digit(next) ||
             (next != '\0' && std::string_view("@*#?-$!").find(next) != std::string_view::npos)) {
    part.text = next;
    part.many = next == '@' || next == '*';
  } else {
    add_literal(word, "$", quoted);
    ++at_;
    return;
  }
  at_ += 1 + part.text.size();
  word.parts.push_back(std::move(part));
}

void Parser::braced_parameter(Word& word, bool quoted) {
  const Deeper deeper(*this);
  at_ += 2;
  auto part = make_part(Part::Kind::parameter, quoted);
  if (peek() == '!') {
    part.risk = "'${!name}' can run commands";
    ++at_;
  } else if (peek() == '#' && peek(1) != '}') {
    ++at_;
  }
  const auto begin = at_;
  if (is_name_start(peek())) {
    while (is_name_char(peek())) ++at_;
  } else if (is_digit(peek())) {
    while (is_digit(peek())) ++at_;
  } else if (!done() && std::string_view("@*#?-$!").find(peek()) != std::string_view::npos) {
    part.many = peek() == '@' || peek() == '*';
    ++at_;
  }
  if (begin == at_) return fail("a '${' that is not understood");
  part.text = text_.substr(begin, at_ - begin);
  if (take("[")) {
    const auto end = text_.find_first_of("]\n", at_);
    if (end == std::string_view::npos || text_[end] != ']')
      return fail("a '${' that is not understood");
    const auto index = text_.substr(at_, end - at_);
    if (index == "@" || index == "*")
      part.many = true;
    else if (index.empty() || !std::ranges::all_of(index, is_name_char))
      return fail("an array's index that is not plain");
    else if (!std::ranges::all_of(index, is_digit))
      part.risk = "an array's index can run commands";
    at_ = end + 1;
  }
  const bool colon = peek() == ':' &&
                     std::string_view("-+?=").find(peek(1)) != std::string_view::npos &&
                     peek(1) != '\0';
  if (colon) ++at_;
  const char op = peek();
  if (op == '=') part.risk = "'${name=value}' assigns";
  if (op == '@') part.risk = "'${name@...}' can run commands";
  if (op == ':') {
    ++at_;
    const auto end = std::min(text_.find('}', at_), text_.size());
    const auto range = text_.substr(at_, end - at_);
    const auto plain = [](char c) { return is_digit(c) || c == ' ' || c == ':' || c == '-'; };
    const auto named = [&](char c) {
      return plain(c) || is_name_char(c) || c == '$' || c == '+' || c == '#';
    };
    if (!std::ranges::all_of(range, named)) return fail("a '${' that is not understood");
    if (!std::ranges::all_of(range, plain)) part.risk = "arithmetic on variables can run commands";
    at_ = end;
  } else if (op != '}') {
    if (op == '\0' || std::string_view("-+?=#%/^,@").find(op) == std::string_view::npos)
      return fail("a '${' that is not understood");
    ++at_;
    part.words.push_back(parameter_word(quoted));
  }
  if (!take("}")) return fail("a '${' is not closed");
  word.parts.push_back(std::move(part));
}

// The meaning of quotes inside "${...}" is unclear, and nobody needs them.
Word Parser::parameter_word(bool quoted) {
  Word made;
  while (!done() && peek() != '}') {
    const char c = peek();
    if (c == '{' || c == '<' || c == '>' || (c == '\\' && peek(1) == '\n') ||
        (quoted && (c == '\'' || c == '"'))) {
      fail("a '${' that is not understood");
    } else if (c == '$') {
      dollar(made, quoted);
    } else if (c == '`') {
      backquoted(made, quoted);
    } else if (ends_word(c) || (quoted && c != '\\')) {
      add_literal(made, text_.substr(at_, 1), quoted);
      ++at_;
    } else {
      word_part(made);
    }
  }
  return made;
}

// Reads $(...), <(...) or >(...), at its first character.
void Parser::substitution(Word& word, Part::Kind kind, bool quoted) {
  const Deeper deeper(*this);
  if (kind == Part::Kind::process) only_bash("a process substitution");
  if (failed()) return;
  at_ += 2;
  if (kind == Part::Kind::command && peek() == '(') {
    ++at_;
    auto part = make_part(Part::Kind::arithmetic, quoted);
    part.risk = arithmetic("))");
    word.parts.push_back(std::move(part));
    return;
  }
  if (peek() == '\\' && peek(1) == '\n') return fail("a line is continued inside a word");
  auto part = make_part(kind, quoted);
  auto outer = std::move(pending_);
  pending_.clear();
  part.scripts.push_back(list());
  if (!failed() && (!take(")") || !pending_.empty())) fail("a '(' is not closed");
  pending_ = std::move(outer);
  word.parts.push_back(std::move(part));
}

void Parser::backquoted(Word& word, bool quoted) {
  std::string inside;
  for (++at_; peek() != '`'; ++at_) {
    if (done()) return fail("a ` is not closed");
    // In quotes \" has another meaning than in a here-document.
    if (quoted && starts("\\\"")) return fail("a \\\" inside of `...`");
    if (peek() == '\\' && peek(1) != '\0' &&
        std::string_view("`\\$").find(peek(1)) != std::string_view::npos)
      ++at_;
    inside += peek();
  }
  ++at_;
  Parser parser(inside, dialect_, depth_ + 1);
  auto part = make_part(Part::Kind::command, quoted);
  part.scripts.push_back(parser.whole());
  if (parser.failed()) return fail(parser.problem());
  word.parts.push_back(std::move(part));
}

// Reads up to the closer, at the place where bash ends it: where the first parenthesis closes.
// Returns the risk.
std::string Parser::arithmetic(std::string_view closer) {
  bool names = false;
  int open = 1;
  for (; !done(); ++at_) {
    const char c = peek();
    if (c == '(') ++open;
    if (c == ')' && --open == 0) {
      if (!take(closer)) fail("arithmetic or a subshell? Put a blank between '(' and '('");
      return names ? "arithmetic on variables can run commands" : "";
    }
    if (is_name_start(c) || c == '$' || c == '[' || c == ']' || c == '#' || c == '{' || c == '}')
      names = true;
    else if (!is_digit(c) &&
             std::string_view(" \t\n+-*/%<>=!&|^~?:,;()").find(c) == std::string_view::npos)
      break;
    if (c == '$' && (peek(1) == '(' || peek(1) == '\\')) break;
  }
  fail("arithmetic that is not judged");
  return {};
}

}  // namespace reef::shell
