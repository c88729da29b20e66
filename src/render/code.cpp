#include "render/code.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/utf8.h"
#include "render/languages.h"

namespace reef::render {
namespace {

constexpr std::size_t kCodeBytesMax = 1U << 20;
// Longer lines are data, not code.
constexpr std::size_t kLineBytesMax = 16U << 10;

template <class Use>
void each_word(std::string_view words, const Use& use) {
  while (!words.empty()) {
    const auto space = words.find(' ');
    if (space != 0) use(words.substr(0, space));
    if (space == std::string_view::npos) return;
    words.remove_prefix(space + 1);
  }
}

using Names = std::unordered_map<std::string, const Language*>;

const Names& names() {
  static const Names all = [] {
    Names out;
    for (const auto& language : languages())
      each_word(language.names, [&](auto name) { out.try_emplace(std::string(name), &language); });
    return out;
  }();
  return all;
}

const Names& files() {
  static const Names all = [] {
    Names out;
    for (const auto& language : languages())
      each_word(language.files, [&](auto name) { out.try_emplace(std::string(name), &language); });
    return out;
  }();
  return all;
}

// The words of a language, made once.
struct Words {
  std::unordered_set<std::string_view> keywords, types;
};

const Words& words_of(const Language& language) {
  static const std::vector<Words> all = [] {
    std::vector<Words> out;
    for (const auto& one : languages()) {
      auto& words = out.emplace_back();
      each_word(one.keywords, [&](auto word) { words.keywords.insert(word); });
      each_word(one.types, [&](auto word) { words.types.insert(word); });
    }
    return out;
  }();
  return all[static_cast<std::size_t>(&language - languages().data())];
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

const Language* find_language(std::string_view name) {
  // Behind a fence there may be more than a name: ```cpp title="x", ```{.python}
  while (!name.empty() && (name.front() == '{' || name.front() == '.' || name.front() == ' '))
    name.remove_prefix(1);
  name = name.substr(0, name.find_first_of(" \t,{}:;"));
  if (name.empty() || name.size() > 40) return nullptr;
  const auto found = names().find(utf8::lower_ascii(name));
  return found == names().end() ? nullptr : found->second;
}

const Language* language_of_file(std::string_view path) {
  const auto slash = path.find_last_of('/');
  const auto name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (const auto whole = files().find(std::string(name)); whole != files().end())
    return whole->second;
  const auto dot = name.find_last_of('.');
  if (dot == std::string_view::npos) return nullptr;
  const auto ending = std::string(name.substr(dot));
  auto found = files().find(ending);
  if (found == files().end()) found = files().find(utf8::lower_ascii(ending));
  return found == files().end() ? nullptr : found->second;
}

std::vector<std::string_view> language_names() {
  std::vector<std::string_view> out;
  for (const auto& language : languages())
    each_word(language.names, [&](auto name) { out.push_back(name); });
  return out;
}

// Paints one line.
class LinePainter {
 public:
  LinePainter(Highlighter& state, const Language& language, std::string_view line)
      : state_(state), language_(language), words_(words_of(language)), line_(line) {}

  Line run() {
    switch (language_.way) {
      case Language::Way::diff:
        diff();
        break;
      case Language::Way::settings:
        settings();
        break;
      case Language::Way::markup:
        markup();
        break;
      case Language::Way::words:
        while (at_ < line_.size())
          if (!open() && !comment() && !quoted() && !prefixed() && !word()) plain(1);
        break;
    }
    flush();
    return std::move(out_);
  }

 private:
  using Open = Highlighter::Open;

  std::string_view rest() const { return line_.substr(at_); }
  char before() const { return at_ == 0 ? '\n' : line_[at_ - 1]; }
  bool is_word(char c) const {
    return is_letter(c) || is_digit(c) ||
           (c != 0 && language_.word_signs.find(c) != std::string_view::npos);
  }

  void plain(std::size_t size) { at_ += size; }
  void flush() {
    if (at_ > drawn_) add(out_, line_.substr(drawn_, at_ - drawn_));
    drawn_ = at_;
  }
  void paint(Role role, std::size_t size) {
    flush();
    at_ = std::min(at_ + size, line_.size());
    add(out_, line_.substr(drawn_, at_ - drawn_), Style{.role = role});
    drawn_ = at_;
  }

  // Goes on with what an earlier line left open.
  bool open() {
    if (state_.open_ == Open::comment) {
      paint(Role::comment, comment_end(0));
      return true;
    }
    if (state_.open_ == Open::text) {
      const auto& quote = language_.quotes[state_.string_];
      const auto end = end_of(quote, 0);
      if (end != std::string_view::npos) state_.open_ = Open::nothing;
      paint(Role::string, std::min(end, rest().size()));
      return true;
    }
    return false;
  }

  // Finds the end of the open comment, from `from` on; leaves the state as it is behind that.
  std::size_t comment_end(std::size_t from) {
    const auto text = rest();
    while (from < text.size()) {
      if (text.substr(from).starts_with(language_.block_end)) {
        from += language_.block_end.size();
        if (--state_.depth_ == 0) {
          state_.open_ = Open::nothing;
          return from;
        }
      } else if (language_.nested && text.substr(from).starts_with(language_.block_begin)) {
        from += language_.block_begin.size();
        ++state_.depth_;
      } else {
        ++from;
      }
    }
    return text.size();
  }

  bool comment() {
    if (!language_.block_begin.empty() && rest().starts_with(language_.block_begin)) {
      // Ruby's stand at the beginning of a line.
      const bool word = is_letter(language_.block_begin.back());
      if (!word || at_ == 0) {
        state_.open_ = Open::comment;
        state_.depth_ = 1;
        paint(Role::comment, comment_end(language_.block_begin.size()));
        return true;
      }
    }
    bool found = false;
    each_word(language_.line_comments, [&](std::string_view mark) {
      if (found || !rest().starts_with(mark)) return;
      // A '#' within a word and the '//' of an address begin nothing.
      const char last = before();
      if (mark == "#" && (is_word(last) || last == '$' || last == '&')) return;
      if (mark == "//" && last == ':') return;
      if (mark == ";" && language_.fold_case == false && language_.block_begin.empty() &&
          is_word(last))
        return;
      found = true;
    });
    if (found) paint(Role::comment, rest().size());
    return found;
  }

  // Finds the end of an open string; npos when it is not on this line.
  std::size_t end_of(const Quote& quote, std::size_t from) const {
    const auto text = rest();
    while (from < text.size()) {
      if (quote.escape && text[from] == '\\') {
        from += 2;
      } else if (text.substr(from).starts_with(quote.end)) {
        const auto behind = from + quote.end.size();
        if (quote.twice && text.substr(behind).starts_with(quote.end)) {
          from = behind + quote.end.size();
        } else {
          return behind;
        }
      } else {
        ++from;
      }
    }
    return std::string_view::npos;
  }

  bool quoted() {
    for (std::size_t i = 0; i < language_.quotes.size(); ++i) {
      const auto& quote = language_.quotes[i];
      if (unclosed_ >> i & 1U || !rest().starts_with(quote.begin)) continue;
      // don't; Rust's 'a is a lifetime, Haskell's x' a name.
      if (quote.begin == "'" && is_word(before())) continue;
      if (is_letter(quote.begin.front()) && is_word(before())) continue;
      const auto end = end_of(quote, quote.begin.size());
      if (end != std::string_view::npos) {
        paint(Role::string, end);
        return true;
      }
      // A quote that is never closed is a mark, not a string.
      if (!quote.lines) {
        unclosed_ |= 1U << i;
        continue;
      }
      state_.open_ = Open::text;
      state_.string_ = i;
      paint(Role::string, rest().size());
      return true;
    }
    return false;
  }

  // #include, @decorator, $variable, \command, %register
  bool prefixed() {
    if (language_.prefix == 0 || rest().front() != language_.prefix || rest().size() < 2)
      return false;
    if (is_word(before())) return false;
    std::size_t size = 1;
    if (language_.prefix == '$' && rest()[1] == '{') {
      const auto end = rest().find('}');
      if (end == std::string_view::npos) return false;
      size = end + 1;
    } else {
      while (size < rest().size() && (is_letter(rest()[size]) || is_digit(rest()[size]))) ++size;
      if (size == 1) return false;
    }
    paint(language_.prefix == '$' || language_.prefix == '%' ? Role::type : Role::keyword, size);
    return true;
  }

  bool word() {
    const char first = rest().front();
    const bool number = is_digit(first) || (first == '.' && rest().size() > 1 &&
                                            is_digit(rest()[1]) && !is_word(before()));
    if (!number && !is_word(first)) return false;
    std::size_t size = 1;
    while (size < rest().size() &&
           (is_word(rest()[size]) ||
            (number && (rest()[size] == '.' || (rest()[size] == '\'' && size + 1 < rest().size() &&
                                                is_digit(rest()[size + 1]))))))
      ++size;
    const auto text = rest().substr(0, size);
    const auto role = number ? Role::number : role_of(text, size);
    if (role == Role::plain) {
      plain(size);
    } else {
      paint(role, size);
    }
    return true;
  }

  Role role_of(std::string_view text, std::size_t size) const {
    std::string folded;
    if (language_.fold_case) text = folded = utf8::lower_ascii(text);
    if (words_.keywords.contains(text)) return Role::keyword;
    const bool called = size < rest().size() && rest()[size] == '(';
    if (words_.types.contains(text)) return called ? Role::function : Role::type;
    return called ? Role::function : Role::plain;
  }

  // Keys in front of a colon or an equals sign; [sections].
  void settings() {
    const auto indent = line_.find_first_not_of(" \t-");
    const bool fresh = state_.open_ == Open::nothing;
    if (fresh && indent != std::string_view::npos && line_[indent] == '[' &&
        language_.block_begin.empty()) {
      const auto end = line_.find(']', indent);
      if (end != std::string_view::npos &&
          line_.find_first_not_of(" \t]", end) == std::string_view::npos) {
        paint(Role::keyword, line_.size());
        return;
      }
    }
    while (at_ < line_.size()) {
      if (open() || comment()) continue;
      if (key()) continue;
      if (quoted() || word()) continue;
      plain(1);
    }
  }

  bool key() {
    const auto text = rest();
    std::size_t size = 0;
    if (text.front() == '"') {
      const auto end = end_of(Quote{"\"", "\""}, 1);
      if (end == std::string_view::npos) return false;
      size = end;
    } else {
      const char last = before();
      if (last != '\n' && last != ' ' && last != '\t' && last != '{' && last != ',') return false;
      while (size < text.size() && (is_word(text[size]) || text[size] == '.' || text[size] == '-'))
        ++size;
    }
    if (size == 0) return false;
    auto behind = size;
    while (behind < text.size() && text[behind] == ' ') ++behind;
    if (behind >= text.size() || (text[behind] != ':' && text[behind] != '=')) return false;
    // A time and an address are no keys.
    if (text[behind] == ':' && text.front() != '"' && behind + 1 < text.size() &&
        text[behind + 1] != ' ' && text[behind + 1] != '\t')
      return false;
    paint(Role::type, size);
    return true;
  }

  void markup() {
    while (at_ < line_.size()) {
      if (open() || comment()) continue;
      if (state_.depth_ == 0 && rest().front() == '<' && rest().size() > 1 &&
          (is_letter(rest()[1]) || rest()[1] == '/' || rest()[1] == '!' || rest()[1] == '?')) {
        std::size_t size = 2;
        while (size < rest().size() && (is_letter(rest()[size]) || is_digit(rest()[size]) ||
                                        rest()[size] == '-' || rest()[size] == ':'))
          ++size;
        paint(Role::keyword, size);
        in_tag_ = true;
      } else if (in_tag_ && rest().front() == '>') {
        paint(Role::keyword, 1);
        in_tag_ = false;
      } else if (in_tag_ && quoted()) {
        continue;
      } else if (in_tag_ && is_letter(rest().front())) {
        std::size_t size = 1;
        while (size < rest().size() && (is_letter(rest()[size]) || is_digit(rest()[size]) ||
                                        rest()[size] == '-' || rest()[size] == ':'))
          ++size;
        paint(Role::type, size);
      } else if (rest().front() == '&') {
        const auto end = rest().find(';');
        if (end != std::string_view::npos && end < 12) {
          paint(Role::number, end + 1);
        } else {
          plain(1);
        }
      } else {
        plain(1);
      }
    }
  }

  void diff() {
    const auto is = [this](std::string_view what) { return line_.starts_with(what); };
    auto role = Role::plain;
    if (is("@@")) {
      state_.head_ = false;
      role = Role::heading;
    } else if (is("diff ") || is("Index: ")) {
      state_.head_ = true;
      role = Role::heading;
    } else if (state_.head_ &&
               (is("+++ ") || is("--- ") || is("index ") || is("new file") || is("deleted file") ||
                is("similarity ") || is("rename ") || is("Binary files "))) {
      role = Role::heading;
    } else if (is("--- ") && line_.size() > 4 &&
               (line_.substr(4).starts_with("a/") || line_.substr(4).starts_with("/dev/null"))) {
      // The next file of a diff without "diff" lines.
      state_.head_ = true;
      role = Role::heading;
    } else if (is("+")) {
      role = Role::added;
    } else if (is("-")) {
      role = Role::removed;
    } else if (is("\\")) {
      role = Role::comment;
    }
    if (role == Role::plain) {
      plain(line_.size());
    } else {
      paint(role, line_.size());
    }
  }

  Highlighter& state_;
  const Language& language_;
  const Words& words_;
  const std::string_view line_;
  std::size_t at_ = 0;
  std::size_t drawn_ = 0;
  bool in_tag_ = false;
  // The strings begun and not closed on this line: each is looked for once.
  unsigned unclosed_ = 0;
  Line out_;
};

Line Highlighter::next(std::string_view line) {
  if (!language_ || line.size() > kLineBytesMax) {
    Line out;
    add(out, line);
    return out;
  }
  return LinePainter(*this, *language_, line).run();
}

std::vector<Line> highlight(const Language* language, std::string_view code) {
  std::vector<Line> out;
  Highlighter highlighter(code.size() > kCodeBytesMax ? nullptr : language);
  while (!code.empty()) {
    const auto newline = code.find('\n');
    out.push_back(highlighter.next(code.substr(0, newline)));
    if (newline == std::string_view::npos) break;
    code.remove_prefix(newline + 1);
  }
  return out;
}

}  // namespace reef::render
