// When a server that failed is tried again.
#include "mcp/backoff.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"

namespace reef::mcp {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, ThePauseDoublesUpToItsLimit) {
  Backoff backoff{milliseconds(1'000), milliseconds(60'000)};
  for (const int seconds : {1, 2, 4, 8, 16, 32, 60, 60, 60})
    EXPECT_EQ(backoff.fail(0), milliseconds(seconds * 1'000));
}

TEST(Backoff, ChanceTakesAtMostAQuarterAndNeverAdds) {
  SeededRandom random(7);
  for (int failures = 0; failures < 12; ++failures) {
    std::set<milliseconds> seen;
    for (int i = 0; i < 1'000; ++i) {
      Backoff backoff{milliseconds(1'000), milliseconds(60'000), failures};
      const auto pause = backoff.fail(random.next());
      const auto most = backoff.longest();
      EXPECT_LE(pause, most);
      EXPECT_GE(pause, most - most / 4);
      seen.insert(pause);
    }
    EXPECT_GT(seen.size(), 100U) << "they are spread";
  }
  Backoff extreme{milliseconds(1'000), milliseconds(60'000)};
  EXPECT_GE(extreme.fail(std::numeric_limits<std::uint64_t>::max()), milliseconds(750));
}

TEST(Backoff, SuccessBeginsAnew) {
  Backoff backoff{milliseconds(1'000), milliseconds(60'000)};
  for (int i = 0; i < 5; ++i) backoff.fail(0);
  backoff.succeed();
  EXPECT_EQ(backoff.fail(0), milliseconds(1'000));
  EXPECT_EQ(backoff.fail(0), milliseconds(2'000));
}

TEST(Backoff, AnyLimitsAndAnyNumberOfFailuresAreABoundedPause) {
  for (const int min : {0, 1, 3, 1'000, 90'000})
    for (const int max : {0, 1, 7, 60'000}) {
      Backoff backoff{milliseconds(min), milliseconds(max), std::numeric_limits<int>::max() - 1};
      for (int i = 0; i < 3; ++i) {
        const auto pause = backoff.fail(static_cast<std::uint64_t>(i));
        EXPECT_GE(pause.count(), 0);
        EXPECT_LE(pause.count(), max);
      }
    }
}

}  // namespace
}  // namespace reef::mcp
