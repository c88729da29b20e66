// Random choices for tests: the seed is of the moment unless REEF_SEED gives one; failures print
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace reef::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed), engine_(seed) {}

  std::uint64_t seed() const { return seed_; }
  // 0 to count - 1.
  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(engine_);
  }

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

inline Random seeded() {
  if (const char* given = std::getenv("REEF_SEED"))
    return Random(std::strtoull(given, nullptr, 10));
  return Random(
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
}

}  // namespace reef::test
