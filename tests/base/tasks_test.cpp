#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/notify.h"
#include "base/pool.h"
#include "base/shield.h"
#include "base/side_by_side.h"
#include "base/task_group.h"
#include "support/run.h"

namespace reef {
namespace {

namespace asio = boost::asio;

Task<void> wait_forever(bool& ended_by_cancel) {
  try {
    co_await sleep_for(std::chrono::hours(1));
  } catch (const boost::system::system_error&) {
    ended_by_cancel = true;
    throw;
  }
}

TEST(TaskGroup, CancelEndsItsTasksAndJoinWaitsForThem) {
  asio::io_context io(1);
  TaskGroup group(io.get_executor(), "test");
  bool first = false;
  bool second = false;
  group.spawn(wait_forever(first));
  group.spawn(wait_forever(second));
  test::run_ready(io);
  EXPECT_EQ(group.size(), 2U);
  group.cancel();
  test::run(io, group.join());
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_EQ(group.size(), 0U);
}

TEST(TaskGroup, OneIsCancelledByItsIdAndTheOthersGoOn) {
  asio::io_context io(1);
  TaskGroup group(io.get_executor(), "test");
  bool first = false;
  bool second = false;
  const auto id = group.spawn(wait_forever(first));
  group.spawn(wait_forever(second));
  test::run_ready(io);
  group.cancel(id);
  test::run_ready(io);
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  EXPECT_EQ(group.size(), 1U);
  group.cancel(id);  // long gone
  group.cancel();
  test::run(io, group.join());
}

Task<void> throw_something() {
  co_await yield_to_loop();
  throw std::runtime_error("expected by this test");
}

TEST(TaskGroup, AnExceptionEndsOneTaskAndNotTheOthers) {
  asio::io_context io(1);
  TaskGroup group(io.get_executor(), "test");
  bool cancelled = false;
  group.spawn(throw_something());
  group.spawn(wait_forever(cancelled));
  test::run_ready(io);
  EXPECT_EQ(group.size(), 1U);
  group.cancel();
  test::run(io, group.join());
  EXPECT_TRUE(cancelled);
}

TEST(TaskGroup, ADestroyedGroupStopsItsTasks) {
  asio::io_context io(1);
  bool cancelled = false;
  {
    TaskGroup group(io.get_executor(), "test");
    group.spawn(wait_forever(cancelled));
    test::run_ready(io);
  }
  test::run_ready(io);
  EXPECT_TRUE(cancelled);
}

Task<int> wait_for_value(Notify& notify, const int& value) {
  while (value == 0) co_await notify.wait();
  co_return value;
}

Task<void> set_value(Notify& notify, int& value) {
  co_await yield_to_loop();
  value = 7;
  notify.notify_all();
}

TEST(Notify, WakesEveryWaiter) {
  asio::io_context io(1);
  Notify notify(io.get_executor());
  int value = 0;
  TaskGroup group(io.get_executor(), "test");
  group.spawn(set_value(notify, value));
  EXPECT_EQ(test::run(io, wait_for_value(notify, value)), 7);
}

TEST(Notify, ADeadlinePassesBySystemTimeToo) {
  asio::io_context io(1);
  Notify notify(io.get_executor());
  EXPECT_FALSE(test::run(io, notify.wait_for(std::chrono::milliseconds(1))));
}

Task<int> count_on_pool(Pool& pool, int rounds) {
  const auto loop_thread = std::this_thread::get_id();
  int elsewhere = 0;
  for (int i = 0; i < rounds; ++i) {
    auto work = [&] { return std::this_thread::get_id() != loop_thread; };
    const bool other_thread = co_await pool.run(work);
    if (other_thread && std::this_thread::get_id() == loop_thread) ++elsewhere;
  }
  co_return elsewhere;
}

TEST(Pool, RunsWorkElsewhereAndComesBackToTheLoop) {
  asio::io_context io(1);
  Pool pool(4);
  EXPECT_EQ(test::run(io, count_on_pool(pool, 200)), 200);
}

Task<int> count_in_shares(Pool& pool, std::size_t shares) {
  const auto loop_thread = std::this_thread::get_id();
  std::atomic<int> count = 0;
  bool here = false;
  auto work = [&](std::size_t share) {
    EXPECT_NE(std::this_thread::get_id(), loop_thread);
    count += static_cast<int>(share) + 1;
  };
  co_await pool.run_each(shares, work, [&] { here = std::this_thread::get_id() == loop_thread; });
  EXPECT_EQ(std::this_thread::get_id(), loop_thread);
  EXPECT_TRUE(here);
  co_return count;
}

Task<bool> share_fails(Pool& pool) {
  std::atomic<int> ended = 0;
  auto work = [&](std::size_t share) {
    if (share == 1) throw std::runtime_error("one of them");
    ++ended;
  };
  try {
    co_await pool.run_each(4, work, [] {});
  } catch (const std::runtime_error&) {
    co_return ended == 3;  // the others were waited for
  }
  co_return false;
}

TEST(Pool, SharesRunElsewhereWhileTheLoopDoesItsOwn) {
  asio::io_context io(1);
  Pool pool(4);
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(test::run(io, count_in_shares(pool, 0)), 0);
    EXPECT_EQ(test::run(io, count_in_shares(pool, 6)), 21);
    EXPECT_TRUE(test::run(io, share_fails(pool)));
  }
}

TEST(Pool, FinishesQueuedWorkBeforeItIsGone) {
  std::atomic<int> done = 0;
  {
    Pool pool(2);
    for (int i = 0; i < 100; ++i) pool.post([&] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

Task<int> many_steps(int& reached) {
  for (reached = 0; reached < 10; ++reached) co_await yield_to_loop();
  co_return reached;
}

Task<void> shielded_steps(int& reached, bool& went_on) {
  static_cast<void>(co_await shielded(many_steps(reached)));
  went_on = true;
  co_await yield_to_loop();
  went_on = false;  // not reached: the cancellation is seen at the await above
}

TEST(Shield, ACancelledTaskFinishesWhatIsShieldedAndStopsAfterIt) {
  asio::io_context io(1);
  TaskGroup group(io.get_executor(), "test");
  int reached = 0;
  bool went_on = false;
  group.spawn(shielded_steps(reached, went_on));
  io.restart();
  while (reached < 2) io.run_one();
  group.cancel();
  test::run(io, group.join());
  EXPECT_EQ(reached, 10);
  EXPECT_TRUE(went_on);
}

TEST(SideBySide, AllIsDoneOnceAndAnExceptionComesOut) {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    std::vector<std::atomic<int>> done(100);
    std::atomic<std::size_t> next = 0;
    side_by_side(threads, [&] {
      for (auto n = next++; n < done.size(); n = next++) ++done[n];
    });
    for (const auto& times : done) EXPECT_EQ(times, 1);
    EXPECT_THROW(side_by_side(threads, [] { throw std::runtime_error("no"); }), std::runtime_error);
  }
}

}  // namespace
}  // namespace reef
