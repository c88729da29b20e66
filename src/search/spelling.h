// Words nobody ever wrote are most often misspelt. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reef::search {

// How many letters may be wrong, missing, too many or swapped with the next; 0: it must be right.
std::size_t mistakes_allowed(std::string_view word);

// Compares many words with one. Those that begin like the one before cost little.
class Nearness {
 public:
  static constexpr std::size_t kWordBytesMax = 32;
  static constexpr std::size_t kMistakesMax = 2;

  // `most` is at most kMistakesMax; no more of the word counts than kWordBytesMax bytes.
  Nearness(std::string_view word, std::size_t most);
  // How many mistakes lie between; nullopt: more than `most`.
  std::optional<std::size_t> of(std::string_view candidate);
  // So many bytes of the last candidate: nothing that begins so is near. 0: they do not tell.
  std::size_t hopeless() const { return hopeless_; }

 private:
  std::string word_;
  std::size_t most_;
  std::string last_;  // the bytes rows_ are about
  std::size_t hopeless_ = 0;
  std::array<std::array<std::uint8_t, kWordBytesMax + 1>, kWordBytesMax + kMistakesMax + 2> rows_;
};

// How many it takes from one to the other; nullopt: more than `most`.
std::optional<std::size_t> mistakes_between(std::string_view a, std::string_view b,
                                            std::size_t most);

}  // namespace reef::search
