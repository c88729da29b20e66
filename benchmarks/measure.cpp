#include "measure.h"

#include <algorithm>
#include <unistd.h>

#include <time.h>

#include "base/assert.h"

namespace reef::benchmarks {

Nanos Samples::percentile(unsigned percent) const {
  REEF_ASSERT(!all_.empty() && percent <= 100);
  auto sorted = all_;
  const auto rank = std::max<std::size_t>(1, (sorted.size() * percent + 99) / 100);
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

void settle() {
  ::sync();
}

Nanos cpu_time_of(int pid) {
  clockid_t clock = {};
  timespec used = {};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
    return Nanos(0);
  return std::chrono::seconds(used.tv_sec) + Nanos(used.tv_nsec);
}

}  // namespace reef::benchmarks
