#include "base/helper.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace reef {
namespace {

TEST(Helper, EveryNumberIsDoneOnce) {
  Pool pool(2);
  for (const std::size_t count : {0U, 1U, 2U, 3U, 100U})
    for (int round = 0; round < 50; ++round) {
      Helper helper(pool);
      for (int times = 0; times < 3; ++times) {
        std::vector<std::atomic<int>> done(count);
        bool first = false;
        const auto work = [&](std::size_t n) { ++done[n]; };
        helper.share(count, work, work, [&] { first = true; });
        EXPECT_TRUE(first);
        for (const auto& one : done) EXPECT_EQ(one, 1);
      }
    }
}

TEST(Helper, WorksWhileTheOtherDoes) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core";
  Pool pool(1);
  Helper helper(pool);
  // It is called again and again, until it comes while there is something to do.
  std::atomic<bool> came = false;
  const auto here = [&](std::size_t) {
    for (int i = 0; !came && i < 1000; ++i) std::this_thread::yield();
  };
  const auto there = [&](std::size_t) { came = true; };
  while (!came) helper.share(2, here, there);
}

TEST(Helper, NobodyIsWaitedForWhoDoesNotCome) {
  std::atomic<bool> over = false;
  Pool busy(1);
  busy.post([&over] { over.wait(false); });
  int done = 0;
  {
    Helper helper(busy);
    helper.share(
        100, [&](std::size_t) { ++done; }, [](std::size_t) { FAIL() << "nobody is here"; });
    EXPECT_FALSE(helper.present());
  }
  over = true;
  over.notify_all();
  EXPECT_EQ(done, 100);
}

TEST(Helper, WhatFailsComesOut) {
  Pool pool(2);
  for (int round = 0; round < 100; ++round) {
    Helper helper(pool);
    std::atomic<int> done = 0;
    const auto work = [&](std::size_t n) {
      if (n == 3) throw std::runtime_error("three");
      ++done;
    };
    EXPECT_THROW(helper.share(20, work, work), std::runtime_error);
    EXPECT_LT(done, 20);
    // And it can be used again.
    std::atomic<int> sum = 0;
    const auto add = [&](std::size_t n) { sum += static_cast<int>(n); };
    helper.share(10, add, add);
    EXPECT_EQ(sum, 45);
  }
}

TEST(Helper, LeavesWhenThereIsNothingToDo) {
  Pool pool(1);
  const Helper helper(pool);
  std::atomic<bool> free = false;
  // The only thread of the pool: it gets here when the helper has left.
  pool.post([&free] {
    free = true;
    free.notify_all();
  });
  free.wait(false);
  EXPECT_FALSE(helper.present());
}

}  // namespace
}  // namespace reef
