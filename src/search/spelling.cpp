#include "search/spelling.h"

#include <algorithm>
#include <array>

namespace reef::search {
namespace {

constexpr std::size_t kOneMistakeBytes = 6;
constexpr std::size_t kTwoMistakesBytes = 9;
constexpr std::size_t kWordBytesMax = 32;

}  // namespace

std::size_t mistakes_allowed(std::string_view word) {
  if (word.size() > kWordBytesMax) return 0;
  if (word.size() >= kTwoMistakesBytes) return 2;
  return word.size() >= kOneMistakeBytes ? 1 : 0;
}

// Damerau's distance without overlapping swaps, row by row.
std::optional<std::size_t> mistakes_between(std::string_view a, std::string_view b,
                                            std::size_t most) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() > kWordBytesMax || b.size() - a.size() > most) return std::nullopt;
  std::array<std::array<std::size_t, kWordBytesMax + 1>, 3> rows;
  auto *before = &rows[0], *last = &rows[1], *row = &rows[2];
  for (std::size_t j = 0; j <= b.size(); ++j) (*last)[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    (*row)[0] = i;
    auto least = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto cost = std::min(
          {(*last)[j] + 1, (*row)[j - 1] + 1, (*last)[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost = std::min(cost, (*before)[j - 2] + 1);
      (*row)[j] = cost;
      least = std::min(least, cost);
    }
    if (least > most) return std::nullopt;
    auto* const oldest = before;
    before = last;
    last = row;
    row = oldest;
  }
  const auto total = (*last)[b.size()];
  if (total > most) return std::nullopt;
  return total;
}

}  // namespace reef::search
