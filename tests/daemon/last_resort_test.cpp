#include "daemon/last_resort.h"

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

TEST(LastResort, DoesNothingWhenTheEndIsReached) {
  {
    LastResort last;
    last.arm(std::chrono::hours(1));
    last.arm(std::chrono::milliseconds(0));  // the first counts
  }
  LastResort never;
}

}  // namespace
}  // namespace reef::daemon
