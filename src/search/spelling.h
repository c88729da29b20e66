// Finds words that differ by a few typing mistakes. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reef::search {

// How many letters may be wrong, missing, added or swapped with the next; 0 when none may.
std::size_t mistakes_allowed(std::string_view word);

// Compares many words with one. A candidate that shares its beginning with the one before costs
// little.
class Nearness {
 public:
  static constexpr std::size_t kWordBytesMax = 32;
  static constexpr std::size_t kMistakesMax = 2;

  // `most` is at most kMistakesMax; only the first kWordBytesMax bytes of the word count.
  Nearness(std::string_view word, std::size_t most);
  // Returns how many mistakes lie between the two; nullopt when there are more than `most`.
  std::optional<std::size_t> of(std::string_view candidate);
  // No word is near that starts with this many bytes of the last candidate; 0 when that is unknown.
  std::size_t hopeless() const { return hopeless_; }

 private:
  std::string word_;
  std::size_t most_;
  std::string last_;  // the candidate that rows_ is about
  std::size_t hopeless_ = 0;
  std::array<std::array<std::uint8_t, kWordBytesMax + 1>, kWordBytesMax + kMistakesMax + 2> rows_;
};

// Returns how many mistakes turn one into the other; nullopt when there are more than `most`.
std::optional<std::size_t> mistakes_between(std::string_view a, std::string_view b,
                                            std::size_t most);

}  // namespace reef::search
