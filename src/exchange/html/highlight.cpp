#include "exchange/html/highlight.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "exchange/html/escape.h"

namespace reef::exchange::html {
namespace {

// Longer code is shown without colours: every span costs a browser more than its bytes.
constexpr std::size_t kCodeBytesMax = 256U << 10;

struct Language {
  std::string_view names;          // separated by spaces
  std::string_view line_comments;  // the same
  std::string_view block_begin, block_end;
  std::string_view quotes;
  std::string_view keywords;
  bool fold_case = false;
};

constexpr std::string_view kCWords =
    "abstract alignas alignof and as asm async auto await bool boolean break byte case catch char "
    "class "
    "co_await co_return co_yield concept const consteval constexpr constinit continue crate "
    "debugger "
    "decltype def default defer delete do double dyn else enum explicit export extends extern "
    "false "
    "final finally float fn for foreach friend from func function get go goto if impl implements "
    "import in inline instanceof int interface internal is let long loop map match mod module move "
    "mut mutable namespace new nil noexcept not null nullptr of operator or override package "
    "private "
    "protected protocol pub public range readonly ref register requires return sealed select self "
    "set "
    "short signed sizeof static static_assert struct super switch template this throw throws trait "
    "true try type typedef typeid typename typeof undefined union unsafe unsigned use using val "
    "var "
    "virtual void volatile when where while with yield";
constexpr std::string_view kScriptWords =
    "and as assert async await begin break case class continue def del do done elif else elsif end "
    "ensure "
    "esac except export False false fi finally for from function global if import in is lambda let "
    "local "
    "module next nil None nonlocal not null or pass raise redo require rescue retry return self "
    "set "
    "source super then True true try undef unless until when while with yield";
constexpr std::string_view kSqlWords =
    "add all alter and as asc begin between by case check column commit constraint create cross "
    "default "
    "delete desc distinct drop else end exists explain foreign from full group having if in index "
    "inner "
    "insert into is join key left like limit not null offset on or order outer pragma primary "
    "references "
    "returning right rollback select set table then transaction trigger union unique update using "
    "values "
    "view when where with";

constexpr std::array kLanguages = {
    Language{"c cc cpp c++ cxx h hpp objc java kotlin kt scala js javascript jsx mjs ts typescript "
             "tsx go "
             "golang rust rs cs csharp swift dart zig php proto groovy",
             "//", "/*", "*/", "\"'`", kCWords},
    Language{"py python sh bash zsh shell console terminal ruby rb perl pl r make makefile "
             "dockerfile elixir "
             "nix cmake fish awk",
             "#", "", "", "\"'`", kScriptWords},
    Language{"yaml yml toml ini conf env properties", "# ;", "", "", "\"'",
             "true false null yes no on off"},
    Language{"json json5 jsonc", "//", "/*", "*/", "\"", "true false null"},
    Language{"sql sqlite postgresql mysql", "--", "/*", "*/", "'\"", kSqlWords, true},
    Language{"lua haskell hs ada elm", "--", "", "", "\"'", kScriptWords},
    Language{"css scss less", "", "/*", "*/", "\"'", "import media important from to and not only"},
    Language{"html xml svg vue", "", "<!--", "-->", "\"'", ""},
};

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

const Language* find_language(std::string_view name) {
  if (name.empty()) return nullptr;
  for (const auto& language : kLanguages)
    if (has_word(language.names, name)) return &language;
  return nullptr;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Painter {
 public:
  Painter(const Language& language, std::string_view code) : language_(language), rest_(code) {}

  std::string run() {
    while (!rest_.empty())
      if (!comment() && !quoted() && !word()) plain_ += take(1);
    flush();
    return std::move(out_);
  }

 private:
  std::string_view take(std::size_t size) {
    const auto text = rest_.substr(0, size);
    rest_.remove_prefix(text.size());
    if (!text.empty()) before_ = text.back();
    return text;
  }

  void flush() {
    out_ += escaped(plain_);
    plain_.clear();
  }

  void paint(char kind, std::size_t size) {
    flush();
    out_ += "<span class=\"";
    out_.push_back(kind);
    out_ += "\">";
    out_ += escaped(take(size));
    out_ += "</span>";
  }

  bool comment() {
    if (!language_.block_begin.empty() && rest_.starts_with(language_.block_begin)) {
      const auto end = rest_.find(language_.block_end, language_.block_begin.size());
      paint('c', end == std::string_view::npos ? rest_.size() : end + language_.block_end.size());
      return true;
    }
    auto marks = language_.line_comments;
    while (!marks.empty()) {
      const auto space = marks.find(' ');
      const auto mark = marks.substr(0, space);
      marks.remove_prefix(space == std::string_view::npos ? marks.size() : space + 1);
      if (!rest_.starts_with(mark)) continue;
      // A '#' inside a word or the '//' of an address does not begin a comment.
      if (is_word(before_) || before_ == ':' || before_ == '$') return false;
      paint('c', std::min(rest_.find('\n'), rest_.size()));
      return true;
    }
    return false;
  }

  bool quoted() {
    const char quote = rest_.front();
    if (language_.quotes.find(quote) == std::string_view::npos) return false;
    if (quote == '\'' && is_word(before_)) return false;  // don't
    const bool many_lines = quote == '`';
    std::size_t at = 1;
    for (; at < rest_.size(); ++at) {
      if (rest_[at] == '\\') {
        ++at;
      } else if (rest_[at] == quote) {
        paint('s', at + 1);
        return true;
      } else if (rest_[at] == '\n' && !many_lines) {
        break;
      }
    }
    return false;  // never closed, so it is a quotation mark
  }

  bool word() {
    if (!is_word(rest_.front())) return false;
    std::size_t size = 1;
    const bool number = is_digit(rest_.front());
    while (size < rest_.size() && (is_word(rest_[size]) || (number && rest_[size] == '.'))) ++size;
    const auto text = rest_.substr(0, size);
    const auto known = language_.fold_case ? utf8::lower_ascii(text) : std::string(text);
    if (number) {
      paint('n', size);
    } else if (has_word(language_.keywords, known)) {
      paint('k', size);
    } else if (size < rest_.size() && rest_[size] == '(') {
      paint('f', size);
    } else {
      plain_ += take(size);
    }
    return true;
  }

  const Language& language_;
  std::string_view rest_;
  char before_ = '\n';
  std::string plain_, out_;
};

std::string painted_difference(std::string_view code) {
  std::string out;
  while (!code.empty()) {
    const auto newline = code.find('\n');
    const auto line = code.substr(0, newline);
    code.remove_prefix(newline == std::string_view::npos ? code.size() : newline + 1);
    char kind = ' ';
    if (line.starts_with("+++") || line.starts_with("---") || line.starts_with("@@") ||
        line.starts_with("diff "))
      kind = 'h';
    else if (line.starts_with('+'))
      kind = 'a';
    else if (line.starts_with('-'))
      kind = 'd';
    if (kind == ' ') {
      out += escaped(line);
    } else {
      out += "<span class=\"";
      out.push_back(kind);
      out += "\">" + escaped(line) + "</span>";
    }
    if (newline != std::string_view::npos) out.push_back('\n');
  }
  return out;
}

}  // namespace

std::string highlighted(std::string_view language, std::string_view code) {
  const auto name = utf8::lower_ascii(language);
  if (code.size() > kCodeBytesMax) return escaped(code);
  if (name == "diff" || name == "patch") return painted_difference(code);
  const auto* known = find_language(name);
  return known ? Painter(*known, code).run() : escaped(code);
}

}  // namespace reef::exchange::html
