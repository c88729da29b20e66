#include "base/helper.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

namespace reef {
namespace {

TEST(Helper, EveryNumberIsDoneOnce) {
  Helper helper;
  for (const std::size_t count : {0U, 1U, 2U, 3U, 100U})
    for (int round = 0; round < 50; ++round) {
      helper.call();
      for (int times = 0; times < 3; ++times) {
        std::vector<std::atomic<int>> done(count);
        bool first = false;
        const auto work = [&](std::size_t n) { ++done[n]; };
        helper.share(count, work, work, [&] { first = true; });
        EXPECT_TRUE(first);
        for (const auto& one : done) EXPECT_EQ(one, 1);
      }
      helper.dismiss();
    }
}

TEST(Helper, WorksWhileTheOtherDoes) {
  ::cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) < 2)
    GTEST_SKIP() << "with one core nobody comes";
  Helper helper;
  // The helper thread is called until it once comes while there is still something to do.
  std::atomic<bool> came = false;
  const auto here = [&](std::size_t) {
    for (int i = 0; !came && i < 1000; ++i) std::this_thread::yield();
  };
  const auto there = [&](std::size_t) { came = true; };
  while (!came) helper.share(2, here, there);
}

TEST(Helper, AHelperThatDoesNotComeIsNotWaitedFor) {
  Helper helper;
  int done = 0;
  // In at least one of these rounds all work is done before the helper has woken up.
  for (int round = 0; round < 1000; ++round) {
    std::atomic<int> others = 0;
    helper.share(
        2, [&](std::size_t) { ++done; }, [&](std::size_t) { ++others; });
    done += others;
    helper.dismiss();
  }
  EXPECT_EQ(done, 2000);
}

TEST(Helper, AnExceptionComesOut) {
  Helper helper;
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> done = 0;
    const auto work = [&](std::size_t n) {
      if (n == 3) throw std::runtime_error("three");
      ++done;
    };
    EXPECT_THROW(helper.share(20, work, work), std::runtime_error);
    EXPECT_LT(done, 20);
    // The helper can be used again.
    std::atomic<int> sum = 0;
    const auto add = [&](std::size_t n) { sum += static_cast<int>(n); };
    helper.share(10, add, add);
    EXPECT_EQ(sum, 45);
  }
}

TEST(Helper, SleepsWhenThereIsNothingToDo) {
  Helper helper;
  helper.call();
  while (helper.present()) std::this_thread::yield();
  helper.call();
  helper.dismiss();
  while (helper.present()) std::this_thread::yield();
}

TEST(Helper, GoesAtAnyMoment) {
  for (int round = 0; round < 200; ++round) {
    Helper helper;
    if (round % 3 > 0) helper.call();
    if (round % 3 > 1) helper.dismiss();
  }
}

}  // namespace
}  // namespace reef
