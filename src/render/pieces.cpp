#include "render/pieces.h"

#include <utility>

namespace reef::render {
namespace {

constexpr std::size_t kDefinitionsMax = 64U << 10;

std::size_t indent_of(std::string_view line) {
  std::size_t cells = 0;
  for (const char c : line) {
    if (c == ' ') {
      ++cells;
    } else if (c == '\t') {
      cells += 4 - cells % 4;
    } else {
      break;
    }
  }
  return cells;
}

std::string_view stripped(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin);
  while (!line.empty() &&
         (line.back() == '\n' || line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

// How many bytes the marker of a list item has with one space behind it; 0 when it is none.
std::size_t marker(std::string_view text) {
  if (text.empty()) return 0;
  std::size_t size = 0;
  if (text[0] == '-' || text[0] == '*' || text[0] == '+') {
    size = 1;
  } else {
    while (size < text.size() && size < 10 && text[size] >= '0' && text[size] <= '9') ++size;
    if (size == 0 || size >= text.size() || (text[size] != '.' && text[size] != ')')) return 0;
    ++size;
  }
  if (size == text.size()) return size + 1;
  return text[size] == ' ' || text[size] == '\t' ? size + 1 : 0;
}

bool is_rule(std::string_view text) {
  if (text.empty() || (text[0] != '-' && text[0] != '*' && text[0] != '_')) return false;
  std::size_t count = 0;
  for (const char c : text) {
    if (c == text[0]) {
      ++count;
    } else if (c != ' ' && c != '\t') {
      return false;
    }
  }
  return count >= 3;
}

bool is_heading(std::string_view text) {
  const auto end = text.find_first_not_of('#');
  const auto size = end == std::string_view::npos ? text.size() : end;
  return size >= 1 && size <= 6 && (size == text.size() || text[size] == ' ' || text[size] == '\t');
}

// The length of a fence at the beginning of a line's words; 0 when there is none.
std::size_t fence_at(std::string_view text) {
  if (text.empty() || (text[0] != '`' && text[0] != '~')) return 0;
  const auto end = text.find_first_not_of(text[0]);
  const auto size = end == std::string_view::npos ? text.size() : end;
  if (size < 3) return 0;
  // Behind a fence of backticks there are none.
  if (text[0] == '`' && text.find('`', size) != std::string_view::npos) return 0;
  return size;
}

bool is_definition(std::string_view line) {
  if (indent_of(line) > 3) return false;
  const auto text = stripped(line);
  if (text.size() < 5 || text[0] != '[' || text[1] == '^') return false;
  const auto end = text.find("]:");
  return end != std::string_view::npos && end > 1 && end < 200 && text.size() > end + 3 &&
         text.find('[', 1) > end;
}

}  // namespace

void Pieces::cut(std::string_view line, std::vector<std::string>& done) {
  // `line` is the last of what was looked at, and begins the next piece.
  const auto at = looked_ - line.size();
  if (at == 0) return;
  done.push_back(open_.substr(0, at));
  open_.erase(0, at);
  looked_ -= at;
  items_.clear();
  blank_ = false;
}

// Whether the line belongs to the code that is open.
bool Pieces::in_code(std::string_view text, std::size_t indent) {
  if (fence_ == 0) return false;
  if (!text.empty() && text[0] == fence_ && text.size() >= fence_size_ &&
      text.find_first_not_of(fence_) == std::string_view::npos) {
    fence_ = 0;
    // A code outside of lists is over, so the next line begins a piece.
    blank_ = items_.empty();
    return true;
  }
  // A line that stands further left than the words of its item ends the item, and the code with it.
  if (!text.empty() && indent < fence_item_) {
    fence_ = 0;
    return false;
  }
  return true;
}

void Pieces::line(std::string_view all, std::vector<std::string>& done) {
  // cut() moves the text, so the line is a copy.
  const std::string copy(all);
  const std::string_view line = copy;
  const auto text = stripped(line);
  const auto indent = indent_of(line);
  if (in_code(text, indent)) return;
  if (text.empty()) {
    blank_ = true;
    paragraph_ = false;
    return;
  }
  auto mark = is_rule(text) ? 0 : marker(text);
  if (blank_) {
    // Behind a blank line a list goes on with what is indented and with the next item.
    const bool goes_on = !items_.empty() && (indent >= items_.front() || mark > 0);
    if (!goes_on) cut(line, done);
  }
  const bool first = std::exchange(blank_, false) || looked_ == line.size();
  auto words = text;
  auto at = indent;
  if (mark > 0) {
    while (!items_.empty() && items_.back() > indent) items_.pop_back();
    // An item may begin with another item, or with a code.
    for (; mark > 0 && mark <= words.size(); mark = is_rule(words) ? 0 : marker(words)) {
      const auto before = words.size();
      words = stripped(words.substr(mark - 1));
      const auto spaces = before - words.size() - (mark - 1);
      at += words.empty() || spaces > 4 ? mark : before - words.size();
      items_.push_back(at);
    }
    if (mark > words.size() && !words.empty()) items_.push_back(at + mark);
  }
  const bool item = words.size() != text.size() || mark > 0;
  const auto size = fence_at(words);
  const bool interrupts = size > 0 || is_rule(words) || is_heading(words) || words.starts_with('>');
  // A line further left than an item's words ends it, unless it goes on with a paragraph.
  if (!item && (interrupts || !paragraph_))
    while (!items_.empty() && items_.back() > indent) items_.pop_back();
  const bool underlined = paragraph_ && words.find_first_not_of('=') == std::string_view::npos;
  paragraph_ = !words.empty() && size == 0 && !is_rule(words) && !is_heading(words) &&
               (!underlined || (!items_.empty() && indent < items_.back()));
  if (size > 0) {
    if (!item && items_.empty()) cut(line, done);
    fence_ = words[0];
    fence_size_ = size;
    fence_item_ = items_.empty() ? 0 : items_.back();
    return;
  }
  // Within a paragraph nothing is defined.
  defines_ = items_.empty() && (defines_ || first) && is_definition(line) &&
             parse_piece(line, {}, {}).empty();
  if (defines_ && definitions_.size() < kDefinitionsMax) definitions_ += line;
}

std::vector<std::string> Pieces::take(std::string_view text) {
  std::vector<std::string> done;
  open_ += text;
  for (;;) {
    const auto newline = open_.find('\n', looked_);
    if (newline == std::string::npos) return done;
    const auto from = looked_;
    looked_ = newline + 1;
    line(std::string_view(open_).substr(from, looked_ - from), done);
  }
}

}  // namespace reef::render
