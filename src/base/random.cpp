#include "base/random.h"

#include <sys/random.h>

#include "base/assert.h"

namespace reef {

std::uint64_t Random::below(std::uint64_t bound) {
  REEF_ASSERT(bound > 0);
  // Values above the largest multiple of bound are thrown away: they would favour small results.
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  std::uint64_t value = next();
  while (value >= limit) value = next();
  return value % bound;
}

std::string Random::hex(std::size_t digits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(digits);
  while (text.size() < digits) {
    std::uint64_t bits = next();
    for (int i = 0; i < 16 && text.size() < digits; ++i, bits >>= 4)
      text.push_back(kDigits[bits & 15U]);
  }
  return text;
}

std::uint64_t SystemRandom::next() {
  if (left_ == 0) {
    // At most 256 bytes are always delivered whole.
    const auto got = ::getrandom(batch_, sizeof batch_, 0);
    REEF_ASSERT(got == static_cast<ssize_t>(sizeof batch_));
    left_ = std::size(batch_);
  }
  return batch_[--left_];
}

// splitmix64
std::uint64_t SeededRandom::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace reef
