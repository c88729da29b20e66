#include "mcp/backoff.h"

#include <algorithm>

namespace reef::mcp {

using std::chrono::milliseconds;

milliseconds Backoff::longest() const {
  auto out = std::min(min, max);
  // Stops doubling at the limit, which also prevents overflow.
  for (int i = 1; i < failures && out < max; ++i) out = out > max / 2 ? max : out * 2;
  return out;
}

milliseconds Backoff::fail(std::uint64_t chance) {
  // More failures make no difference, and the counter must not overflow.
  failures = std::min(failures + 1, 1'000);
  const auto most = longest();
  const auto spread = static_cast<std::uint64_t>(most.count()) / 4;
  return most - milliseconds(static_cast<std::int64_t>(chance % (spread + 1)));
}

}  // namespace reef::mcp
