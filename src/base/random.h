// Randomness comes in through an interface so that tests can replay it. Loop thread only.
#pragma once

#include <cstdint>
#include <string>

namespace reef {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;

  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // `digits` lower-case hex digits.
  std::string hex(std::size_t digits);
};

// The kernel's generator, in batches.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;

 private:
  std::uint64_t batch_[32] = {};
  std::size_t left_ = 0;
};

// The same seed gives the same numbers on every machine.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;

 private:
  std::uint64_t state_;
};

}  // namespace reef
