// The time of a loop, and what waits by it: none of this sleeps.
#include "base/loop_time.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include "base/notify.h"
#include "base/task_group.h"
#include "support/manual_clock.h"

namespace reef {
namespace {

using namespace std::chrono_literals;

class LoopTimeTest : public testing::Test {
 protected:
  Moment now() { return steady_now(io.get_executor()); }

  boost::asio::io_context io{1};
  test::ManualClock clock{io};
  TaskGroup tasks{io.get_executor(), "test"};
  std::vector<std::string> order;
};

TEST(LoopTime, IsTheSystemsUnlessATestHasItsOwn) {
  boost::asio::io_context io(1);
  const auto before = std::chrono::steady_clock::now();
  const auto between = steady_now(io.get_executor());
  EXPECT_GE(between, before);
  EXPECT_LE(between, std::chrono::steady_clock::now());
  {
    test::ManualClock clock(io);
    const auto stands = steady_now(io.get_executor());
    EXPECT_EQ(steady_now(io.get_executor()), stands);
    clock.advance(5ms);
    EXPECT_EQ(steady_now(io.get_executor()), stands + 5ms);
  }
  EXPECT_GE(steady_now(io.get_executor()), before);
}

Task<void> note_after(std::chrono::milliseconds pause, std::string name,
                      std::vector<std::string>& order) {
  co_await sleep_for(pause);
  order.push_back(std::move(name));
}

TEST_F(LoopTimeTest, PausesEndInTheOrderOfTheirMomentsAndThenOfTheirBeginning) {
  tasks.spawn(note_after(3h, "last", order));
  tasks.spawn(note_after(20ms, "second", order));
  tasks.spawn(note_after(20ms, "third", order));
  tasks.spawn(note_after(10ms, "first", order));
  test::run_ready(io);
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(clock.until_next(), 10ms);
  clock.advance(19ms);
  EXPECT_EQ(order, (std::vector<std::string>{"first"}));
  clock.advance(1ms);
  EXPECT_EQ(order, (std::vector<std::string>{"first", "second", "third"}));
  clock.advance(3h);
  EXPECT_EQ(order.size(), 4U);
  EXPECT_EQ(clock.waiting(), 0U);
}

Task<void> tick(int times, std::vector<Moment>& ticks) {
  const auto loop = co_await boost::asio::this_coro::executor;
  for (int i = 0; i < times; ++i) {
    co_await sleep_for(1min);
    ticks.push_back(steady_now(loop));
  }
}

TEST_F(LoopTimeTest, OneLongStepIsManyShortOnesToThoseWhoWaitAgainAndAgain) {
  std::vector<Moment> ticks;
  const auto begin = now();
  tasks.spawn(tick(3, ticks));
  clock.advance(1h);
  EXPECT_EQ(ticks, (std::vector<Moment>{begin + 1min, begin + 2min, begin + 3min}));
  EXPECT_EQ(now(), begin + 1h);
}

TEST_F(LoopTimeTest, TheTimeOfDayMovesAlongAndMayBeSet) {
  const auto day = clock.now();
  clock.advance(90s);
  EXPECT_EQ(clock.now(), day + 90s);
  const auto steady = now();
  clock.set_time_of_day(day - 24h);
  EXPECT_EQ(clock.now(), day - 24h);
  EXPECT_EQ(now(), steady) << "who waits does not care what day it is";
}

TEST_F(LoopTimeTest, ANotificationComesBeforeTheDeadlineOrTheDeadlinePasses) {
  Notify notify(io.get_executor());
  std::optional<bool> notified;
  tasks.spawn(test::store_result(notify.wait_until(now() + 1h), notified));
  clock.advance(59min);
  EXPECT_FALSE(notified);
  notify.notify_all();
  test::run_ready(io);
  EXPECT_EQ(notified, true);
  notified.reset();
  tasks.spawn(test::store_result(notify.wait_until(now() + 1h), notified));
  clock.advance(1h);
  EXPECT_EQ(notified, false);
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(LoopTimeTest, WaitingForAConditionEndsWithItOrWithThePatience) {
  Notify notify(io.get_executor());
  int value = 0;
  const auto is_two = [&value] { return value == 2; };
  std::optional<bool> came;
  tasks.spawn(test::store_result(notify.wait_for(1min, is_two), came));
  test::run_ready(io);
  value = 1;
  notify.notify_all();
  clock.advance(59s);
  EXPECT_FALSE(came) << "what it waits for has not come";
  value = 2;
  notify.notify_all();
  test::run_ready(io);
  EXPECT_EQ(came, true);
  value = 0;
  EXPECT_FALSE(clock.run(notify.wait_for(1min, is_two)));
  EXPECT_FALSE(clock.run(notify.wait_for(-1min, is_two)))
      << "a patience that is over waits for nothing";
}

Task<void> note_the_end(std::vector<std::string>& order) {
  try {
    co_await sleep_for(1h);
    order.push_back("slept");
  } catch (const boost::system::system_error& error) {
    order.push_back(error.code() == boost::asio::error::operation_aborted ? "cancelled" : "?");
  }
}

TEST_F(LoopTimeTest, ACancelledPauseEndsAtOnceAndIsNotWaitedForAnyMore) {
  tasks.spawn(note_the_end(order));
  test::run_ready(io);
  EXPECT_EQ(clock.waiting(), 1U);
  tasks.cancel();
  test::run_ready(io);
  EXPECT_EQ(order, (std::vector<std::string>{"cancelled"}));
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(LoopTimeTest, AnAlarmRingsOnceAtTheMomentItWasSetToLast) {
  int rings = 0;
  Alarm alarm(io.get_executor());
  const auto count = [&rings] { ++rings; };
  alarm.set_after(1min);
  alarm.call(count);
  alarm.set_after(1h);  // the one before does not ring any more
  alarm.call(count);
  clock.advance(59min);
  EXPECT_EQ(rings, 0);
  clock.advance(1min);
  EXPECT_EQ(rings, 1);
  clock.advance(24h);
  EXPECT_EQ(rings, 1);
  alarm.set(now());  // already there
  alarm.call(count);
  test::run_ready(io);
  EXPECT_EQ(rings, 2);
}

TEST_F(LoopTimeTest, AnAlarmThatIsCancelledOrGoneDoesNotRing) {
  int rings = 0;
  Alarm alarm(io.get_executor());
  alarm.set_after(1min);
  alarm.call([&rings] { ++rings; });
  alarm.cancel();
  {
    Alarm gone(io.get_executor());
    gone.set_after(1min);
    gone.call([&rings] { ++rings; });
  }
  clock.advance(1h);
  EXPECT_EQ(rings, 0);
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(LoopTimeTest, AGroupIsWaitedForNoLongerThanThePatience) {
  tasks.spawn(note_after(1h, "one", order));
  EXPECT_FALSE(clock.run(tasks.join_within(30min)));
  EXPECT_TRUE(clock.run(tasks.join_within(30min)));
  EXPECT_EQ(order.size(), 1U);
}

}  // namespace
}  // namespace reef
