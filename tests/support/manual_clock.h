// Time that only a test moves: the time of day, and the time of a loop. Whoever waits on that loop
// waits until advance() has come to its moment; nothing sleeps. Declare it right behind the loop.
#pragma once

#include <set>

#include <boost/asio/io_context.hpp>

#include "base/alarm.h"
#include "base/clock.h"
#include "support/run.h"

namespace reef::test {

class ManualClock final : public Clock, public TimeSource {
 public:
  explicit ManualClock(boost::asio::io_context& io);
  ~ManualClock() override;
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  TimePoint now() const override;
  Moment steady() const override { return now_; }

  // Moves both by `time`, stopping at every moment that somebody waits for on the way, the earliest
  // first: those who wait for it are woken in the order in which they began, and the loop runs all
  // that is ready before time goes on. Work on other threads takes no time and is not waited for.
  void advance(std::chrono::milliseconds time);
  // Moves to the next moment that somebody waits for; false when there is none.
  bool advance_to_next();
  // How long it is until then; nullopt when nobody waits.
  std::optional<std::chrono::milliseconds> until_next() const;
  // Somebody set the time of day; nobody's waiting changes by that.
  void set_time_of_day(TimePoint time);
  std::size_t waiting() const { return alarms_.size(); }

  // Runs the task to its end, moving on whenever nothing is ready. It may wait for nothing outside
  // of the loop: no thread, no process. One that goes on for too many moments fails the test.
  void run(Task<void> task);
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    run(store_result(std::move(task), result));
    return std::move(*result);
  }

 private:
  struct Waiting {
    Moment when;
    std::uint64_t number;
    Alarm* alarm;
    auto operator<=>(const Waiting&) const = default;
  };
  void add(Alarm& alarm) override;
  void remove(Alarm& alarm) override;
  void advance_to(Moment target);

  boost::asio::io_context& io_;
  // Not at the beginning of time, which stands for "never" here and there.
  Moment now_{std::chrono::hours(1)};
  TimePoint day_{std::chrono::milliseconds(1'794'779'830'302)};  // when the steady time began
  std::set<Waiting> alarms_;
  std::uint64_t last_ = 0;
};

}  // namespace reef::test
