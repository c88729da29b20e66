#include "daemon/last_resort.h"

#include <csignal>
#include <unistd.h>

#include <gtest/gtest.h>

namespace reef::daemon {
namespace {

TEST(LastResortDeathTest, EndsAProcessThatHangsAtItsEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        LastResort last;
        last.arm(std::chrono::milliseconds(20));
        for (;;) ::pause();
      },
      testing::ExitedWithCode(0), "");
}

TEST(LastResortDeathTest, EndsAProcessThatHangsWhereItWouldTakeTheSignal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::signal(SIGTERM, [](int) {});  // a loop that hangs does not react either
        LastResort last;
        last.hear_signals(std::chrono::milliseconds(20));
        std::raise(SIGTERM);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(0), "");
}

TEST(LastResort, LeavesASignalToWhoHandlesIt) {
  static int handled = 0;
  const auto before = std::signal(SIGTERM, [](int) { ++handled; });
  {
    LastResort last;
    last.hear_signals(std::chrono::hours(1));
    std::raise(SIGTERM);
    EXPECT_EQ(handled, 1);
  }
  std::raise(SIGTERM);
  EXPECT_EQ(handled, 2) << "and so it does afterwards";
  std::signal(SIGTERM, before);
}

TEST(LastResort, DoesNothingWhenTheEndIsReached) {
  {
    LastResort last;
    last.arm(std::chrono::hours(1));
    last.arm(std::chrono::milliseconds(0));  // only the first call counts
  }
  LastResort never;
}

}  // namespace
}  // namespace reef::daemon
