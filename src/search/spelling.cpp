#include "search/spelling.h"

#include <algorithm>

namespace reef::search {
namespace {

constexpr std::size_t kOneMistakeBytes = 6;
constexpr std::size_t kTwoMistakesBytes = 9;

}  // namespace

std::size_t mistakes_allowed(std::string_view word) {
  if (word.size() > Nearness::kWordBytesMax) return 0;
  if (word.size() >= kTwoMistakesBytes) return 2;
  return word.size() >= kOneMistakeBytes ? 1 : 0;
}

// Damerau's distance without overlapping swaps, one row for each byte of the candidate. A row's
// least number is never below that of the row before.
Nearness::Nearness(std::string_view word, std::size_t most)
    : word_(word.substr(0, kWordBytesMax)), most_(std::min(most, kMistakesMax)) {
  for (std::size_t j = 0; j <= word_.size(); ++j) rows_[0][j] = static_cast<std::uint8_t>(j);
}

std::optional<std::size_t> Nearness::of(std::string_view candidate) {
  std::size_t same = 0;
  const auto known = std::min(candidate.size(), last_.size());
  while (same < known && candidate[same] == last_[same]) ++same;
  if (hopeless_ > 0 && same >= hopeless_) return std::nullopt;
  hopeless_ = 0;
  last_.resize(same);
  const auto width = word_.size();
  for (auto i = same + 1; i <= candidate.size(); ++i) {
    last_.push_back(candidate[i - 1]);
    auto& row = rows_[i];
    const auto& above = rows_[i - 1];
    row[0] = static_cast<std::uint8_t>(i);
    auto least = row[0];
    for (std::size_t j = 1; j <= width; ++j) {
      const bool match = candidate[i - 1] == word_[j - 1];
      int cost = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (match ? 0 : 1)});
      if (i > 1 && j > 1 && candidate[i - 1] == word_[j - 2] && candidate[i - 2] == word_[j - 1])
        cost = std::min(cost, rows_[i - 2][j - 2] + 1);
      row[j] = static_cast<std::uint8_t>(cost);
      least = std::min(least, row[j]);
    }
    if (least > most_) {
      hopeless_ = i;
      return std::nullopt;
    }
  }
  const std::size_t total = rows_[candidate.size()][width];
  if (total > most_) return std::nullopt;
  return total;
}

std::optional<std::size_t> mistakes_between(std::string_view a, std::string_view b,
                                            std::size_t most) {
  if (a.size() > Nearness::kWordBytesMax || b.size() > Nearness::kWordBytesMax) return std::nullopt;
  return Nearness(a, most).of(b);
}

}  // namespace reef::search
