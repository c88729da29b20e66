// A condition for coroutines of one loop: wait() returns at the next notify_all(), deadline, or
// spuriously; callers re-check what they wait for in a loop. Deadlines are moments in the time of
// the loop. Loop thread only.
#pragma once

#include <vector>

#include "base/alarm.h"
#include "base/task.h"

namespace reef {

class Notify {
 public:
  explicit Notify(Executor loop);

  Task<void> wait();
  // False when the deadline passed first.
  Task<bool> wait_until(Moment deadline);
  // The same for a time from now on.
  Task<bool> wait_for(std::chrono::steady_clock::duration patience);
  // Waits until `done` says so; false when the patience ended first.
  template <class F>
  Task<bool> wait_for(std::chrono::steady_clock::duration patience, F done) {
    const auto deadline = steady_now(loop_) + patience;
    while (!done()) {
      if (steady_now(loop_) >= deadline) co_return false;
      static_cast<void>(co_await wait_until(deadline));
    }
    co_return true;
  }
  void notify_all();

 private:
  Executor loop_;
  boost::asio::steady_timer never_;
  std::uint64_t generation_ = 0;
  // One alarm per waiter with a deadline; they live on the waiters' frames.
  std::vector<Alarm*> timed_;
};

// Returns after `duration` of the loop's time; throws operation_aborted when the task is cancelled.
Task<void> sleep_for(std::chrono::steady_clock::duration duration);
// Gives every other ready task of the loop a chance to run.
Task<void> yield_to_loop();

}  // namespace reef
