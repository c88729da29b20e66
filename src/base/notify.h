// A condition for coroutines of one loop: wait() returns at the next notify_all(), deadline, or
// spuriously; callers re-check what they wait for in a loop. Loop thread only.
#pragma once

#include <chrono>

#include <boost/asio/steady_timer.hpp>

#include "base/task.h"

namespace reef {

class Notify {
 public:
  explicit Notify(Executor loop);

  Task<void> wait();
  // False when the deadline passed first.
  Task<bool> wait_until(std::chrono::steady_clock::time_point deadline);
  void notify_all();

 private:
  Executor loop_;
  boost::asio::steady_timer never_;
  std::uint64_t generation_ = 0;
  // One timer per waiter with a deadline; they live on the waiters' frames.
  std::vector<boost::asio::steady_timer*> timed_;
};

// Returns after `duration`; throws operation_aborted when the task is cancelled.
Task<void> sleep_for(std::chrono::steady_clock::duration duration);
// Gives every other ready task of the loop a chance to run.
Task<void> yield_to_loop();

}  // namespace reef
