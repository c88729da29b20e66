#include "render/table.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "render/width.h"
#include "render/wrap.h"

namespace reef::render {
namespace {

constexpr std::size_t kGap = 3;  // " │ " between columns
// A column is not made narrower than this as long as the table can be shown at all.
constexpr std::size_t kColumnMin = 6;

std::size_t width_of(const Line& line) {
  std::size_t cells = 0;
  for (const auto& span : line) cells += width(span.text);
  return cells;
}

void pad(Line& line, std::size_t cells) {
  if (cells > 0) add(line, std::string(cells, ' '));
}

Line aligned(Line words, std::size_t cells, Block::Align align) {
  const auto used = width_of(words);
  const auto free = cells > used ? cells - used : 0;
  const auto before = align == Block::Align::right    ? free
                      : align == Block::Align::center ? free / 2
                                                      : 0;
  Line out;
  pad(out, before);
  for (auto& span : words) add(out, span.text, span.style, span.link);
  pad(out, free - before);
  return out;
}

// Takes from the widest columns until all fit; empty when they cannot.
std::vector<std::size_t> fit(std::vector<std::size_t> wanted, std::size_t room) {
  const auto sum = [&] { return std::accumulate(wanted.begin(), wanted.end(), std::size_t{0}); };
  std::size_t least = 0;
  for (const auto cells : wanted) least += std::min(cells, kColumnMin);
  if (least > room) return {};
  for (auto total = sum(); total > room;) {
    // The widest ones give until they are as wide as the next, or all fits.
    const auto widest = *std::max_element(wanted.begin(), wanted.end());
    std::size_t next = 0, count = 0;
    for (const auto cells : wanted) {
      if (cells == widest) ++count;
      if (cells < widest) next = std::max(next, cells);
    }
    const auto floor = std::max(next, kColumnMin);
    const auto over = total - room;
    const auto step = std::max<std::size_t>(
        1, std::min(widest - std::min(floor, widest - 1), (over + count - 1) / count));
    for (auto& cells : wanted)
      if (cells == widest && total > room) {
        const auto give = std::min({step, cells - 1, total - room});
        cells -= give;
        total -= give;
      }
  }
  return wanted;
}

std::vector<Line> as_records(const Block& table, std::size_t width) {
  std::vector<Line> out;
  const auto& head = table.rows.front();
  for (std::size_t r = 1; r < table.rows.size(); ++r) {
    if (r > 1) out.emplace_back();
    for (std::size_t c = 0; c < table.rows[r].size(); ++c) {
      Line line;
      if (c < head.size())
        for (auto span : head[c]) {
          span.style.bold = true;
          add(line, span.text, span.style, span.link);
        }
      add(line, ": ", kMark);
      for (const auto& span : table.rows[r][c]) add(line, span.text, span.style, span.link);
      for (auto& part : wrap(line, width)) out.push_back(std::move(part));
    }
  }
  if (table.rows.size() == 1)
    for (const auto& cell : head)
      for (auto& part : wrap(cell, width)) out.push_back(std::move(part));
  return out;
}

Line bar(const std::vector<std::size_t>& columns) {
  std::string text;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (c > 0) text += "─┼─";
    for (std::size_t i = 0; i < columns[c]; ++i) text += "─";
  }
  Line out;
  add(out, text, kMark);
  return out;
}

}  // namespace

std::vector<Line> table_lines(const Block& table, std::size_t width) {
  if (table.rows.empty()) return {Line()};
  std::vector<std::size_t> wanted(table.rows.front().size(), 1);
  for (const auto& row : table.rows)
    for (std::size_t c = 0; c < std::min(row.size(), wanted.size()); ++c)
      wanted[c] = std::max(wanted[c], width_of(row[c]));
  const auto gaps = wanted.empty() ? 0 : kGap * (wanted.size() - 1);
  const auto columns = width > gaps ? fit(wanted, width - gaps) : std::vector<std::size_t>();
  if (columns.empty()) return as_records(table, width);

  std::vector<Line> out;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    std::vector<std::vector<Line>> cells;
    std::size_t height = 1;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      auto words = c < table.rows[r].size() ? table.rows[r][c] : Line();
      if (r == 0)
        for (auto& span : words) span.style.bold = true;
      cells.push_back(wrap(words, columns[c]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t i = 0; i < height; ++i) {
      Line line;
      for (std::size_t c = 0; c < columns.size(); ++c) {
        if (c > 0) add(line, " │ ", kMark);
        const auto align = c < table.columns.size() ? table.columns[c] : Block::Align::left;
        for (auto& span : aligned(i < cells[c].size() ? cells[c][i] : Line(), columns[c], align))
          add(line, span.text, span.style, span.link);
      }
      out.push_back(std::move(line));
    }
    if (r == 0) out.push_back(bar(columns));
  }
  return out;
}

}  // namespace reef::render
