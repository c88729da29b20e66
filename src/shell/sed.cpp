// sed scripts: allows everything but w, W and e, as commands and as flags of s.
#include <algorithm>

#include "shell/programs.h"

namespace reef::shell {
namespace {

class SedScript {
 public:
  explicit SedScript(std::string_view text) : text_(text) {}

  bool harmless() {
    while (at_ < text_.size())
      if (!command()) return false;
    return true;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip(std::string_view characters) {
    while (at_ < text_.size() && characters.find(text_[at_]) != std::string_view::npos) ++at_;
  }
  // Moves past a [...] of a regular expression. A delimiter inside is none to GNU sed, but may be
  // one to others, so it is refused, as is anything that hides the end of the brackets.
  bool skip_brackets(char delimiter) {
    ++at_;
    if (peek() == '^') ++at_;
    if (peek() == ']') return false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == ']') return true;
      if (c == delimiter || c == '\n') return false;
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (c == '\\' && (next == ']' || next == '\\' || next == delimiter)) return false;
      if (c == '[' && (next == ':' || next == '.' || next == '=')) {
        const auto end = text_.find(std::string(1, next) + "]", at_ + 2);
        if (end == std::string_view::npos ||
            text_.substr(at_ + 2, end - at_ - 2).find_first_not_of("abcdefghijklmnopqrstuvwxyz") !=
                std::string_view::npos)
          return false;
        at_ = end + 1;
      }
    }
    return false;
  }
  // Moves past the text up to the next unescaped delimiter; false when there is none.
  bool skip_delimited(char delimiter, bool regex) {
    if (delimiter == '\0' || delimiter == '\n' || delimiter == '\\' || delimiter == '[')
      return false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') return false;
      if (c == '\\') {
        ++at_;
      } else if (c == delimiter) {
        ++at_;
        return true;
      } else if (c == '[') {
        if (!regex || !skip_brackets(delimiter)) return false;
      }
    }
    return false;
  }
  bool address() {
    const char c = peek();
    if (c == '/' || c == '\\') {
      if (c == '\\') ++at_;
      const char delimiter = peek();
      ++at_;
      if (!skip_delimited(delimiter, true)) return false;
      skip("IM");
      return true;
    }
    skip("0123456789$~+");
    return true;
  }
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  bool command() {
    skip(" \t\n;");
    if (at_ >= text_.size()) return true;
    if (!address()) return false;
    skip(" \t");
    if (peek() == ',') {
      ++at_;
      skip(" \t");
      if (!address()) return false;
    }
    skip(" \t!");
    const char name = peek();
    ++at_;
    switch (name) {
      case '{':
        return true;
      case '}':
      case '=':
      case 'd':
      case 'D':
      case 'g':
      case 'G':
      case 'h':
      case 'H':
      case 'n':
      case 'N':
      case 'p':
      case 'P':
      case 'x':
      case 'z':
      case 'F':
        return ends();
      case 'l':
      case 'q':
      case 'Q':
        skip(" 0123456789");
        return ends();
      case 'b':
      case 't':
      case 'T':
      case ':':
        skip(" \t");
        while (at_ < text_.size() &&
               std::string_view(" \t\n;}").find(text_[at_]) == std::string_view::npos)
          ++at_;
        return ends();
      case '#':
        skip_line();
        return true;
      case 'a':
      case 'i':
      case 'c':
        // Takes text up to the end of the script; text of several lines is refused.
        return text_.find('\n', at_) == std::string_view::npos && (at_ = text_.size(), true);
      case 'y':
      case 's': {
        const char delimiter = peek();
        ++at_;
        if (!skip_delimited(delimiter, name == 's') || !skip_delimited(delimiter, false))
          return false;
        if (name == 's') skip("gpiIM0123456789");
        return ends();
      }
      default:
        return false;
    }
  }
  bool ends() {
    skip(" \t");
    return at_ >= text_.size() ||
           std::string_view(";\n}#").find(text_[at_]) != std::string_view::npos;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Objection objection_to_sed(Call call) {
  const Options known{
      .flags = "nErsuz",
      .valued = "el",
      .long_flags = "quiet silent regexp-extended posix debug separate null-data sandbox",
      .long_valued = "expression line-length"};
  const auto sorted = sort_options("sed", known, call.data(), call.data() + call.size());
  if (!sorted.objection.empty()) return sorted.objection;
  const Objection writes = "this sed script can write files or run programs";
  bool scripted = false;
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (call[i].is("--")) break;
    const auto& word = call[i].prefix;
    if (word.starts_with("--")) {
      if (!word.starts_with("--expression")) continue;
      scripted = true;
      const auto equals = word.find('=');
      const Argument* script = equals == std::string::npos ? &call[++i] : &call[i];
      if (!script->literal) return writes;
      const auto text =
          std::string_view(*script->literal).substr(equals == std::string::npos ? 0 : equals + 1);
      if (!SedScript(text).harmless()) return writes;
    } else if (word.starts_with("-") && word.size() > 1) {
      const auto letter = word.find_first_of("el", 1);
      if (letter == std::string::npos) continue;
      const bool attached = letter + 1 < word.size();
      if (word[letter] == 'e') {
        scripted = true;
        const Argument* script = attached ? &call[i] : &call[i + 1];
        if (!script->literal) return writes;
        const auto text = std::string_view(*script->literal).substr(attached ? letter + 1 : 0);
        if (!SedScript(text).harmless()) return writes;
      }
      if (!attached) ++i;
    }
  }
  if (scripted) return {};
  if (sorted.operands.empty()) return "'sed' without a script";
  const auto& script = sorted.operands.front();
  return script.literal && SedScript(*script.literal).harmless() ? Objection() : writes;
}

}  // namespace reef::shell
