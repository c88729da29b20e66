// A stop that does not come to its end ends all the same: when something hangs in the kernel, or
// does not let go, the process goes. Nothing is lost: what was promised is durable already.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace reef::daemon {

class LastResort {
 public:
  LastResort() = default;
  ~LastResort();  // the end was reached
  LastResort(const LastResort&) = delete;
  LastResort& operator=(const LastResort&) = delete;

  // Gives what follows so much time; the first call counts.
  void arm(std::chrono::milliseconds patience);

 private:
  void watch(std::chrono::milliseconds patience);

  std::mutex mutex_;  // protects reached_
  std::condition_variable changed_;
  bool reached_ = false;
  std::thread thread_;
};

}  // namespace reef::daemon
