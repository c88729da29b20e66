#include "render/layout.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "render/code.h"
#include "render/table.h"
#include "render/width.h"
#include "render/wrap.h"

namespace reef::render {
namespace {

// Lists and quotes within each other leave at least this much for words.
constexpr std::size_t kWordsMin = 8;
constexpr std::size_t kTab = 4;

void append(std::vector<Line>& out, std::vector<Line> lines) {
  out.insert(out.end(), std::make_move_iterator(lines.begin()),
             std::make_move_iterator(lines.end()));
}

// Lines behind a first mark and others below it.
std::vector<Line> behind(std::vector<Line> lines, const Span& first, const std::string& others) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Line line;
    if (i == 0) {
      add(line, first.text, first.style);
    } else {
      add(line, others, kMark);
    }
    for (auto& span : lines[i]) add(line, span.text, span.style, span.link);
    lines[i] = std::move(line);
  }
  return lines;
}

std::size_t left(std::size_t width, std::size_t used) {
  return width > used + kWordsMin ? width - used : std::max<std::size_t>(kWordsMin, 1);
}

std::string with_spaces(std::string_view line) {
  std::string out;
  std::size_t column = 0;
  for (const char c : line) {
    if (c == '\t') {
      const auto count = kTab - column % kTab;
      out.append(count, ' ');
      column += count;
    } else {
      out += c;
      if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++column;
    }
  }
  return out;
}

std::vector<Line> code_lines(const Block& block, std::size_t width) {
  std::string text;
  for (std::string_view rest = block.code; !rest.empty();) {
    const auto newline = rest.find('\n');
    text += with_spaces(rest.substr(0, newline));
    text += '\n';
    if (newline == std::string_view::npos) break;
    rest.remove_prefix(newline + 1);
  }
  std::vector<Line> out;
  for (auto& line : highlight(find_language(block.language), text)) append(out, cut(line, width));
  if (out.empty()) out.emplace_back();
  return out;
}

std::vector<Line> item_lines(const Block& list, const Block& item, unsigned number,
                             std::size_t digits, std::size_t width) {
  auto mark = list.ordered ? fmt::format("{:>{}}. ", number, digits) : std::string("• ");
  if (item.task != Block::Task::none) mark = item.task == Block::Task::done ? "☑ " : "☐ ";
  const auto cells = render::width(mark);
  std::vector<Line> lines;
  for (const auto& inner : item.inner) {
    if (!lines.empty() && !list.tight) lines.emplace_back();
    append(lines, lay_out(inner, left(width, cells)));
  }
  if (lines.empty()) lines.emplace_back();
  return behind(std::move(lines), Span{mark, kMark}, std::string(cells, ' '));
}

std::vector<Line> list_lines(const Block& list, std::size_t width) {
  std::vector<Line> out;
  const auto last =
      list.start + static_cast<unsigned>(std::max<std::size_t>(list.inner.size(), 1)) - 1;
  const auto digits = std::to_string(last).size();
  auto number = list.start;
  for (const auto& item : list.inner) {
    if (!out.empty() && !list.tight) out.emplace_back();
    append(out, item_lines(list, item, number++, digits, width));
  }
  return out;
}

}  // namespace

std::vector<Line> lay_out(const Block& block, std::size_t width) {
  width = std::max<std::size_t>(width, 1);
  switch (block.kind) {
    case Block::Kind::paragraph:
      return wrap(block.words, width);
    case Block::Kind::heading: {
      auto words = block.words;
      for (auto& span : words) {
        if (span.style.role == Role::plain) span.style.role = Role::heading;
        span.style.bold = true;
      }
      return wrap(words, width);
    }
    case Block::Kind::code:
      return code_lines(block, width);
    case Block::Kind::quote:
      return behind(lay_out(block.inner, left(width, 2)), Span{"│ ", kMark}, "│ ");
    case Block::Kind::list:
      return list_lines(block, width);
    case Block::Kind::item:
      return lay_out(block.inner, width);
    case Block::Kind::table:
      return table_lines(block, width);
    case Block::Kind::rule: {
      std::string bar;
      for (std::size_t i = 0; i < std::min<std::size_t>(width, 40); ++i) bar += "─";
      return {Line{Span{bar, kMark}}};
    }
  }
  return {};
}

std::vector<Line> lay_out(const std::vector<Block>& blocks, std::size_t width) {
  std::vector<Line> out;
  for (const auto& block : blocks) {
    if (!out.empty()) out.emplace_back();
    append(out, lay_out(block, width));
  }
  if (out.empty()) out.emplace_back();
  return out;
}

}  // namespace reef::render
