#include "daemon/memory_keeper.h"

#include <chrono>
#include <utility>

#include <malloc.h>

#include "base/notify.h"

namespace reef::daemon {
namespace {

constexpr std::chrono::milliseconds kPause{1'500};
// With less than this free, walking through the heap does not pay.
constexpr std::size_t kFreeBytesMax = 32U << 20;

// The bytes the allocator holds and nobody uses.
std::size_t free_bytes() {
  return ::mallinfo2().fordblks;
}

}  // namespace

MemoryKeeper::MemoryKeeper(Executor loop, Pool& pool, std::function<void()> let_go,
                           std::function<bool()> busy)
    : pool_(pool),
      let_go_(std::move(let_go)),
      busy_(std::move(busy)),
      tasks_(std::move(loop), "memory") {}

void MemoryKeeper::note() {
  again_ = true;
  if (!std::exchange(waiting_, true)) tasks_.spawn(look_later());
}

Task<void> MemoryKeeper::look_later() {
  while (std::exchange(again_, false) || busy_()) {
    co_await sleep_for(kPause);
    let_go_();
    // The walk locks parts of the heap, so it must not run on the loop.
    auto work = [] { return free_bytes() > kFreeBytesMax && ::malloc_trim(0) != 0; };
    static_cast<void>(co_await pool_.run(work));
  }
  waiting_ = false;
}

Task<void> MemoryKeeper::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace reef::daemon
