// Ends the process when an orderly stop takes too long, for example because something hangs in the
// kernel. Nothing is lost: everything that was acknowledged is durable already.
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
  ~LastResort();  // tells the watching thread that the end was reached
  LastResort(const LastResort&) = delete;
  LastResort& operator=(const LastResort&) = delete;

  // The stop must be over within `patience`, or the process exits. Only the first call counts.
  void arm(std::chrono::milliseconds patience);
  // From now on SIGTERM and SIGINT arm it by themselves, also when the loop that takes them hangs;
  // earlier handlers still run. One object of a process at a time.
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
