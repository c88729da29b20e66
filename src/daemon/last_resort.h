// A stop that does not come to its end ends all the same: when something hangs in the kernel, or
// does not let go, the process goes. Nothing is lost: what was promised is durable already.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/files.h"

namespace reef::daemon {

class LastResort {
 public:
  LastResort() = default;
  ~LastResort();  // the end was reached
  LastResort(const LastResort&) = delete;
  LastResort& operator=(const LastResort&) = delete;

  // Gives what follows so much time; the first call counts.
  void arm(std::chrono::milliseconds patience);
  // SIGTERM and SIGINT arm it by themselves from now on, also when the loop hangs that would take
  // them; whoever handled them before still does. One object of a process at a time.
  void hear_signals(std::chrono::milliseconds patience);

 private:
  bool start(std::chrono::milliseconds patience);
  void ring() const;
  void watch(std::chrono::milliseconds patience);

  std::mutex mutex_;  // protects reached_
  std::condition_variable changed_;
  bool reached_ = false;
  bool hears_ = false;
  Fd bell_;  // rung once the stop has begun
  std::thread thread_;
};

}  // namespace reef::daemon
