// A timer of a loop: it rings once, at its moment in the loop's time. Loop thread only.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/steady_timer.hpp>

#include "base/loop_time.h"

namespace reef {

class Alarm {
 public:
  explicit Alarm(const Executor& loop);
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Sets it, also anew: what waited for the moment before goes on as after cancel().
  void set(Moment when);
  void set_after(std::chrono::steady_clock::duration duration);
  void cancel();
  Moment when() const { return when_; }

  // Waits until it rings or is cancelled. An error of the wait means nothing when rang() is true.
  template <class Token>
  auto async_wait(Token&& token) {
    return timer_.async_wait(std::forward<Token>(token));
  }
  bool rang() const { return rang_; }
  // Calls `then` from the loop when it rings, and never when it is cancelled or gone before.
  void call(std::function<void()> then);

  // For the source of a test's time: the moment has come.
  void ring();

 private:
  void leave_source();

  LoopTime& time_;
  Moment when_ = {};
  bool waits_for_source_ = false;
  bool rang_ = false;
  std::shared_ptr<bool> called_;  // of call(): ring() sets it
  boost::asio::steady_timer timer_;
};

}  // namespace reef
