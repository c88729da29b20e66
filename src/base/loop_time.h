// Monotonic time belongs to the loop, as its timers do. Whatever waits on a loop, for a deadline, a
// pause or an idle time, counts by the loop's time: the system's steady clock, unless a test has
// put a time of its own into the loop and moves it. Loop thread only.
#pragma once

#include <chrono>

#include <boost/asio/execution_context.hpp>

#include "base/task.h"

namespace reef {

// A point in the time of a loop. It means nothing outside of this process.
using Moment = std::chrono::steady_clock::time_point;

class Alarm;

// Gives a loop its time when that is not the system's.
class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual Moment steady() const = 0;
  // The alarm waits for its moment, until it is removed; the source calls ring() then.
  virtual void add(Alarm& alarm) = 0;
  virtual void remove(Alarm& alarm) = 0;
};

// Every loop has one. Looking it up takes some ten nanoseconds; a class that asks for the time with
// every message keeps a reference.
class LoopTime final : public boost::asio::execution_context::service {
 public:
  using key_type = LoopTime;
  static boost::asio::execution_context::id id;

  static LoopTime& of(const Executor& loop);
  explicit LoopTime(boost::asio::execution_context& loop) : service(loop) {}

  Moment now() const { return source_ ? source_->steady() : std::chrono::steady_clock::now(); }
  // Call it before anything waits; nullptr is the system's time.
  void use(TimeSource* source) { source_ = source; }
  TimeSource* source() const { return source_; }

 private:
  void shutdown() override {}

  TimeSource* source_ = nullptr;
};

inline Moment steady_now(const Executor& loop) {
  return LoopTime::of(loop).now();
}

}  // namespace reef
