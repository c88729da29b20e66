// When memory is given back: a moment after work was done, and never while nothing happens.
#include "daemon/memory_keeper.h"

#include <gtest/gtest.h>

#include "support/manual_clock.h"

namespace reef::daemon {
namespace {

using namespace std::chrono_literals;

class MemoryKeeperTest : public testing::Test {
 protected:
  ~MemoryKeeperTest() override { test::run(io, keeper.stop()); }

  // Lets time pass; a check runs on a thread.
  void pass(std::chrono::milliseconds time, std::size_t expected) {
    clock.advance(time);
    test::run_until(io, [&] { return let_go == expected; });
  }
  bool waits() {
    return test::run_until(io, [this] { return clock.waiting() == 1; });
  }

  boost::asio::io_context io{1};
  test::ManualClock clock{io};
  Pool pool{1};
  std::size_t let_go = 0;
  bool busy = false;
  MemoryKeeper keeper{io.get_executor(), pool, [this] { ++let_go; }, [this] { return busy; }};
};

TEST_F(MemoryKeeperTest, ManyRequestsAreOneCheckAMomentLater) {
  for (int i = 0; i < 100; ++i) keeper.note();
  pass(1499ms, 0);
  pass(1ms, 1);
  EXPECT_TRUE(test::run_until(io, [this] { return clock.waiting() == 0; }));
  pass(24h, 1);
}

TEST_F(MemoryKeeperTest, WorkThatGoesOnIsFollowedByAnotherCheck) {
  busy = true;
  keeper.note();
  pass(1500ms, 1);
  ASSERT_TRUE(waits());
  pass(1500ms, 2);
  ASSERT_TRUE(waits());
  busy = false;
  pass(1500ms, 3);
  EXPECT_TRUE(test::run_until(io, [this] { return clock.waiting() == 0; }));
  keeper.note();
  ASSERT_TRUE(waits()) << "and it begins again with the next request";
  pass(1500ms, 4);
}

}  // namespace
}  // namespace reef::daemon
