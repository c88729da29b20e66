#include "skills/front_matter.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"

namespace reef::skills {
namespace {

constexpr std::size_t kFieldsMax = 256;  // also for items of a list and for pairs

std::size_t indent_of(std::string_view line) {
  const auto first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? line.size() : first;
}

bool is_blank(std::string_view line) {
  const auto text = trim(line);
  return text.empty() || text.front() == '#';
}

bool is_item(std::string_view text) {
  return text == "-" || text.starts_with("- ");
}

// A '#' begins a comment only at the start or after a space.
std::string_view without_comment(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t'))
      return trim(text.substr(0, i));
  return text;
}

// Appends what the escape at text[at] stands for and moves `at` past it.
void append_escape(std::string& out, std::string_view text, std::size_t& at) {
  const char kind = text[at++];
  const auto hex = [&](std::size_t digits) {
    std::uint32_t point = 0;
    for (std::size_t i = 0; i < digits && at < text.size(); ++i, ++at) {
      const char c = text[at];
      const int value = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (value < 0) break;
      point = point * 16 + static_cast<std::uint32_t>(value);
    }
    utf8::append(out, point);
  };
  switch (kind) {
    case 'n':
      out += '\n';
      break;
    case 't':
      out += '\t';
      break;
    case 'r':
      out += '\r';
      break;
    case 'x':
      hex(2);
      break;
    case 'u':
      hex(4);
      break;
    case 'U':
      hex(8);
      break;
    default:
      out += kind;  // for a quote, backslash, slash or space
  }
}

// The text in the quotes that `text` begins with, and where they end; nullopt when they do not end.
struct Quoted {
  std::string text;
  std::size_t end = 0;  // just past the closing quote
};
std::optional<Quoted> read_quoted(std::string_view text) {
  Quoted out;
  const char quote = text[0];
  for (std::size_t at = 1; at < text.size();) {
    const char c = text[at++];
    if (c == '\\' && quote == '"' && at < text.size()) {
      append_escape(out.text, text, at);
    } else if (c != quote) {
      out.text += c;
    } else if (quote == '\'' && at < text.size() && text[at] == '\'') {
      out.text += quote;
      ++at;
    } else {
      out.end = at;
      return out;
    }
  }
  return std::nullopt;
}

// Splits "key: value"; nullopt when the text is not a pair.
std::optional<std::pair<std::string, std::string_view>> split_pair(std::string_view text) {
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    auto key = read_quoted(text);
    if (!key) return std::nullopt;
    auto rest = trim(text.substr(key->end));
    if (!rest.starts_with(':')) return std::nullopt;
    return std::pair(std::move(key->text), trim(rest.substr(1)));
  }
  for (auto at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1))
    if (at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\t')
      return std::pair(std::string(trim(text.substr(0, at))), trim(text.substr(at + 1)));
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::vector<std::string_view> lines, FrontMatter& out)
      : lines_(std::move(lines)), out_(out) {}

  Status read() {
    while (at_ < lines_.size()) {
      if (is_blank(lines_[at_])) {
        ++at_;
        continue;
      }
      const auto line = lines_[at_];
      if (line[0] == '\t') return wrong("begins with a tab; YAML indents with spaces");
      auto pair = split_pair(trim(line));
      if (indent_of(line) > 0 || !pair || pair->first.empty())
        return wrong(fmt::format("'{}' is no field", utf8::excerpt(trim(line))));
      Field field;
      field.name = std::move(pair->first);
      field.line = number();
      REEF_CHECK(read_value(field, pair->second));
      if (out_.find(field.name)) {
        warn(field.line, fmt::format("'{}' is there twice; the first counts", shown(field.name)));
      } else if (out_.fields.size() < kFieldsMax) {
        out_.fields.push_back(std::move(field));
      } else {
        return Error(Errc::too_large, fmt::format("more than {} fields", kFieldsMax));
      }
    }
    return Ok{};
  }

 private:
  static std::string shown(std::string_view text) { return utf8::excerpt(text); }
  // Line 1 of the file is the dashes, and at_ counts from 0.
  std::size_t number() const { return at_ + 2; }
  Error wrong(std::string_view why) const {
    return Error(Errc::invalid, fmt::format("line {}: {}", number(), why));
  }
  void warn(std::size_t line, std::string_view why) {
    out_.warnings.push_back(fmt::format("line {}: {}", line, why));
  }

  // Returns the next line that is not blank, if it is indented more than `indent`.
  std::optional<std::size_t> next_inside(std::size_t indent) const {
    for (auto i = at_; i < lines_.size(); ++i) {
      if (is_blank(lines_[i])) continue;
      if (indent_of(lines_[i]) > indent) return i;
      return std::nullopt;
    }
    return std::nullopt;
  }

  // at_ must be the line of the field; afterwards it is past the value.
  Status read_value(Field& field, std::string_view text) {
    ++at_;
    if (!text.empty() && (text[0] == '[' || text[0] == '{')) return read_flow(field, text);
    if (!without_comment(text).empty()) {
      REEF_TRY(field.text, read_text(text, 0, field.name));
      return Ok{};
    }
    // A list may be indented no more than its field.
    for (auto i = at_; i < lines_.size(); ++i) {
      if (is_blank(lines_[i])) continue;
      if (is_item(trim(lines_[i]))) return read_list(field, indent_of(lines_[i]));
      break;
    }
    const auto inside = next_inside(0);
    if (!inside) return Ok{};
    at_ = *inside;
    if (split_pair(trim(lines_[at_]))) return read_pairs(field, indent_of(lines_[at_]));
    field.text = fold_plain({}, 0);
    return Ok{};
  }

  Status read_list(Field& field, std::size_t indent) {
    field.kind = Field::Kind::list;
    for (; at_ < lines_.size(); ++at_) {
      if (is_blank(lines_[at_])) continue;
      const auto text = trim(lines_[at_]);
      if (indent_of(lines_[at_]) != indent || !is_item(text)) break;
      if (field.items.size() == kFieldsMax)
        return Error(Errc::too_large, fmt::format("more than {} items", kFieldsMax));
      field.items.push_back(inline_text(trim(text.substr(1)), field.name));
    }
    if (at_ < lines_.size() && indent_of(lines_[at_]) > 0)
      return wrong(
          fmt::format("'{}' is no item of '{}'", shown(trim(lines_[at_])), shown(field.name)));
    return Ok{};
  }

  Status read_pairs(Field& field, std::size_t indent) {
    field.kind = Field::Kind::pairs;
    while (at_ < lines_.size()) {
      const auto line = lines_[at_];
      if (is_blank(line)) {
        ++at_;
        continue;
      }
      if (indent_of(line) == 0) break;
      auto pair = split_pair(trim(line));
      if (indent_of(line) != indent || !pair || pair->first.empty())
        return wrong(fmt::format("'{}' is no pair of '{}'", shown(trim(line)), shown(field.name)));
      if (field.pairs.size() == kFieldsMax)
        return Error(Errc::too_large, fmt::format("more than {} pairs", kFieldsMax));
      const auto here = number();
      ++at_;
      std::string value;
      if (!without_comment(pair->second).empty()) {
        REEF_TRY(value, read_text(pair->second, indent, pair->first));
      } else if (next_inside(indent)) {
        warn(here,
             fmt::format("what stands below '{}' goes deeper than is read", shown(pair->first)));
        while (at_ < lines_.size() && (is_blank(lines_[at_]) || indent_of(lines_[at_]) > indent))
          ++at_;
      }
      field.pairs.emplace_back(std::move(pair->first), std::move(value));
    }
    return Ok{};
  }

  // Reads [a, b] and {a: b}, also over several lines.
  Status read_flow(Field& field, std::string_view first) {
    const bool list = first[0] == '[';
    field.kind = list ? Field::Kind::list : Field::Kind::pairs;
    std::string text(first.substr(1));
    const char closing = list ? ']' : '}';
    std::string part;
    const auto finish = [&] {
      const auto inner = trim(part);
      if (inner.empty()) return;
      if (list) {
        field.items.push_back(inline_text(inner, field.name));
      } else if (auto pair = split_pair(inner)) {
        field.pairs.emplace_back(std::move(pair->first), inline_text(pair->second, field.name));
      } else {
        field.pairs.emplace_back(std::string(inner), std::string());
      }
      part.clear();
    };
    for (std::size_t i = 0;; ++i) {
      if (i == text.size()) {
        const auto inside = next_inside(0);
        if (!inside) return wrong(fmt::format("'{}' has no '{}'", shown(field.name), closing));
        text = " " + std::string(trim(lines_[*inside]));
        at_ = *inside + 1;
        i = 0;
      }
      const char c = text[i];
      if ((c == '"' || c == '\'') && trim(part).empty()) {
        if (const auto quoted = read_quoted(std::string_view(text).substr(i))) {
          part += text.substr(i, quoted->end);
          i += quoted->end - 1;
          continue;
        }
      }
      if (c == closing) break;
      if (c == '[' || c == '{')
        return wrong(fmt::format("'{}' goes deeper than is read", shown(field.name)));
      if (c == ',') {
        if (field.items.size() + field.pairs.size() >= kFieldsMax)
          return Error(Errc::too_large, fmt::format("more than {} items", kFieldsMax));
        finish();
      } else {
        part += c;
      }
    }
    finish();
    return Ok{};
  }

  // Reads a text that begins with `text`; following lines indented more than `indent` may belong to
  // it.
  Result<std::string> read_text(std::string_view text, std::size_t indent, std::string_view name) {
    if (text[0] == '|' || text[0] == '>') return read_block(text, indent);
    if (text[0] == '"' || text[0] == '\'') {
      // A quoted text over several lines is folded, like plain text.
      std::string whole(text);
      for (auto quoted = read_quoted(whole);; quoted = read_quoted(whole)) {
        if (quoted) {
          const auto rest = trim(std::string_view(whole).substr(quoted->end));
          if (rest.empty() || rest[0] == '#') return std::move(quoted->text);
          break;  // text follows the quotes, so they are part of it
        }
        const auto inside = next_inside(indent);
        if (!inside) break;
        whole += ' ';
        whole += trim(lines_[*inside]);
        at_ = *inside + 1;
      }
      warn(number() - 1, fmt::format("the quotes of '{}' are not closed, or not all of it is in "
                                     "them; it is read as it stands",
                                     shown(name)));
      return whole;
    }
    auto out = fold_plain(without_comment(text), indent);
    return plain(std::move(out), name);
  }

  // Returns unquoted text; warns when YAML would read it as something else.
  std::string plain(std::string text, std::string_view name) {
    if (text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
    const bool odd =
        !text.empty() && std::string_view("&*!%@`").find(text[0]) != std::string_view::npos;
    if (odd || text.find(": ") != std::string::npos || text.ends_with(':'))
      warn(number() - 1, fmt::format("'{}' should be in quotes", shown(name)));
    return text;
  }

  std::string inline_text(std::string_view text, std::string_view name) {
    if (text.empty()) return {};
    if (text[0] == '"' || text[0] == '\'')
      if (auto quoted = read_quoted(text)) return std::move(quoted->text);
    return plain(std::string(without_comment(text)), name);
  }

  std::string fold_plain(std::string_view first, std::size_t indent) {
    std::string out(first);
    for (auto inside = next_inside(indent); inside; inside = next_inside(indent)) {
      // An empty line in between becomes a line break.
      const bool gap = std::any_of(lines_.begin() + static_cast<std::ptrdiff_t>(at_),
                                   lines_.begin() + static_cast<std::ptrdiff_t>(*inside),
                                   [](auto line) { return trim(line).empty(); });
      if (!out.empty()) out += gap ? '\n' : ' ';
      out += without_comment(trim(lines_[*inside]));
      at_ = *inside + 1;
    }
    return out;
  }

  //  keeps line ends, > folds them; a following + or - says what happens to the last ones.
  Result<std::string> read_block(std::string_view head, std::size_t indent) {
    const bool folds = head[0] == '>';
    char chomp = ' ';
    std::size_t deep = 0;  // indentation of its lines; 0: that of the first line
    for (const char c : without_comment(head.substr(1))) {
      if (c == '-' || c == '+') {
        chomp = c;
      } else if (c >= '1' && c <= '9') {
        deep = indent + static_cast<std::size_t>(c - '0');
      } else if (c != ' ') {
        --at_;
        return wrong(fmt::format("'{}' is no way to begin a block of text", shown(head)));
      }
    }
    std::vector<std::string_view> block;
    for (; at_ < lines_.size(); ++at_) {
      const auto line = lines_[at_];
      if (trim(line).empty()) {
        block.emplace_back();
        continue;
      }
      if (deep == 0 && indent_of(line) > indent) deep = indent_of(line);
      if (deep == 0 || indent_of(line) < deep) break;
      block.push_back(line.substr(deep));
    }
    std::size_t ends = 0;
    for (; !block.empty() && block.back().empty(); block.pop_back()) ++ends;
    std::string out;
    for (std::size_t i = 0; i < block.size(); ++i) {
      out += block[i];
      if (i + 1 == block.size()) break;
      const bool joins = folds && !block[i].empty() && !block[i + 1].empty() &&
                         block[i][0] != ' ' && block[i + 1][0] != ' ';
      // When folding, the first of several line ends only wraps the text and is dropped.
      const bool swallowed = folds && !block[i].empty() && block[i + 1].empty();
      if (joins) {
        out += ' ';
      } else if (!swallowed) {
        out += '\n';
      }
    }
    if (chomp != '-' && !out.empty()) out += '\n';
    if (chomp == '+') out.append(ends, '\n');
    return out;
  }

  std::vector<std::string_view> lines_;
  FrontMatter& out_;
  std::size_t at_ = 0;
};

}  // namespace

const Field* FrontMatter::find(std::string_view name) const {
  for (const auto& field : fields)
    if (field.name == name) return &field;
  return nullptr;
}

Result<FrontMatter> read_front_matter(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const auto take_line = [&] {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  };
  const auto is_fence = [](std::string_view line, std::string_view fence) {
    return line.starts_with(fence) && trim(line.substr(fence.size())).empty();
  };
  if (!is_fence(take_line(), "---"))
    return Error(Errc::invalid, "does not begin with a line '---' and its fields");
  std::vector<std::string_view> lines;
  for (bool closed = false; !closed;) {
    if (text.empty()) return Error(Errc::invalid, "the fields are not closed by a line '---'");
    const auto line = take_line();
    closed = is_fence(line, "---") || is_fence(line, "...");
    if (!closed) lines.push_back(line);
  }
  FrontMatter out;
  REEF_CHECK(Reader(std::move(lines), out).read());
  out.body = std::string(text);
  return out;
}

}  // namespace reef::skills
