#include "table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "base/assert.h"

namespace reef::benchmarks {

Table::Table(std::string title, std::vector<std::string> heads) : title_(std::move(title)) {
  rows_.push_back(std::move(heads));
}

void Table::add(std::vector<std::string> cells) {
  REEF_ASSERT(cells.size() == rows_.front().size());
  rows_.push_back(std::move(cells));
}

void Table::note(std::string text) {
  notes_.push_back(std::move(text));
}

void Table::print() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  fmt::print("\n{}\n", title_);
  for (const auto& row : rows_) {
    auto line = fmt::format("  {:<{}}", row.front(), widths.front());
    for (std::size_t i = 1; i < row.size(); ++i) line += fmt::format("  {:>{}}", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
  for (const auto& text : notes_) fmt::print("  {}\n", text);
  std::fflush(stdout);
}

std::string number(double value) {
  const auto size = std::abs(value);
  if (size < 1) return fmt::format("{:.3f}", value);
  if (size < 10) return fmt::format("{:.2f}", value);
  if (size < 100) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

}  // namespace reef::benchmarks
