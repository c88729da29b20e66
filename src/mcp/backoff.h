// How long to leave a server alone that failed: twice as long each time, up to a limit, and not to
// the millisecond, so that many that failed together do not come back together. A plain value.
#pragma once

#include <chrono>
#include <cstdint>

namespace reef::mcp {

struct Backoff {
  std::chrono::milliseconds min{1'000}, max{60'000};
  int failures = 0;  // one after another

  // Three quarters of this, and up to a quarter more by chance, is the pause after so many
  // failures.
  std::chrono::milliseconds longest() const;
  // One more; the pause until the next attempt. `chance` is any number.
  std::chrono::milliseconds fail(std::uint64_t chance);
  void succeed() { failures = 0; }
};

}  // namespace reef::mcp
