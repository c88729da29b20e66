// Work that is abandoned: its waiter goes on at once; the work is cancelled and ends when it can.
#include "base/errand.h"

#include <atomic>
#include <future>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include "base/pool.h"
#include "support/run.h"

namespace reef {
namespace {

class ErrandTest : public testing::Test {
 protected:
  Task<int> hang() {
    ++begun;
    struct Gone {
      int& ended;
      ~Gone() { ++ended; }
    } const gone{ended};
    for (;;) co_await sleep_for(std::chrono::hours(1));
    co_return 0;
  }
  Task<int> give(int value) {
    co_await yield_to_loop();
    co_return value;
  }
  Task<int> fail() {
    co_await yield_to_loop();
    throw std::runtime_error("boom");
  }

  boost::asio::io_context io{1};
  std::shared_ptr<StopSign> sign = std::make_shared<StopSign>(io.get_executor());
  Errands errands{io.get_executor(), "test"};
  int begun = 0, ended = 0;
};

TEST_F(ErrandTest, GivesWhatTheTaskGives) {
  EXPECT_EQ(test::run(io, errands.run(give(7), sign)), 7);
  EXPECT_THROW(test::run(io, errands.run(fail(), sign)), std::runtime_error);
}

TEST_F(ErrandTest, AnErrandIsAbandonedWhenTheSignIsSetAndThenEnds) {
  TaskGroup others(io.get_executor(), "others");
  others.spawn([](auto& self) -> Task<void> {
    co_await yield_to_loop();
    while (self.begun == 0) co_await yield_to_loop();
    self.sign->set();
  }(*this));
  EXPECT_EQ(test::run(io, errands.run(hang(), sign)), std::nullopt);
  test::run_ready(io);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(test::run(io, errands.run(hang(), sign)), std::nullopt) << "the sign stays";
  EXPECT_EQ(begun, 1) << "and nothing is begun";
}

TEST_F(ErrandTest, AnErrandIsAbandonedWhenItsWaiterIsCancelled) {
  TaskGroup waiting(io.get_executor(), "waiting");
  waiting.spawn([](auto& self) -> Task<void> {
    co_await yield_to_loop();
    static_cast<void>(co_await self.errands.run(self.hang(), self.sign));
  }(*this));
  test::run_ready(io);
  ASSERT_EQ(begun, 1);
  waiting.cancel();
  test::run(io, waiting.join());
  test::run_ready(io);
  EXPECT_EQ(ended, 1);
}

TEST(PoolTest, AbandonedWorkIsToldAndNobodyWaitsForIt) {
  boost::asio::io_context io{1};
  Pool pool(1);
  auto told = std::make_shared<std::promise<void>>();
  auto heard = told->get_future();
  auto begun = std::make_shared<std::atomic<bool>>(false);
  TaskGroup waiting(io.get_executor(), "waiting");
  bool aborted = false;
  waiting.spawn([](Pool& threads, auto done, auto started, bool& left) -> Task<void> {
    auto work = [done, started](std::stop_token stop) {
      std::promise<void> asked;
      const std::stop_callback wake(stop, [&asked] { asked.set_value(); });
      *started = true;
      asked.get_future().wait();
      done->set_value();
      return 1;
    };
    try {
      static_cast<void>(co_await threads.run_leavable(work));
    } catch (const boost::system::system_error& error) {
      left = error.code() == boost::asio::error::operation_aborted;
    }
  }(pool, told, begun, aborted));
  test::run(io, [](auto started) -> Task<void> {
    while (!*started) co_await yield_to_loop();
  }(begun));
  waiting.cancel();
  test::run(io, waiting.join());
  EXPECT_TRUE(aborted);
  heard.wait();
}

TEST(PoolTest, WorkThatIsNotAbandonedGivesItsValueOrException) {
  boost::asio::io_context io{1};
  Pool pool(1);
  const auto five = [](std::stop_token stop) { return stop.stop_requested() ? 0 : 5; };
  const auto bad = [](std::stop_token) -> int { throw std::runtime_error("boom"); };
  EXPECT_EQ(test::run(io, pool.run_leavable(five)), 5);
  EXPECT_THROW(test::run(io, pool.run_leavable(bad)), std::runtime_error);
}

}  // namespace
}  // namespace reef
