// How long to wait before a failed server is tried again: twice as long each time, up to a limit,
// with some chance, so that servers that failed together are not all retried together. A plain
// value.
#pragma once

#include <chrono>
#include <cstdint>

namespace reef::mcp {

struct Backoff {
  std::chrono::milliseconds min{1'000}, max{60'000};
  int failures = 0;  // in a row

  // The longest pause after this many failures; the actual pause is at most a quarter shorter.
  std::chrono::milliseconds longest() const;
  // Counts a failure and returns the pause until the next attempt. `chance` is any random number.
  std::chrono::milliseconds fail(std::uint64_t chance);
  void succeed() { failures = 0; }
};

}  // namespace reef::mcp
