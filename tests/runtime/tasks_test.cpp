#include "runtime/tasks.h"

#include <gtest/gtest.h>

#include "support/run.h"

namespace reef::runtime {
namespace {

using State = TaskInfo::State;

class TasksTest : public testing::Test {
 protected:
  std::unique_ptr<Tasks::Entry> begin(const std::string& what, std::function<void()> cancel = {}) {
    return tasks.begin(TaskInfo{"turn", what}, std::move(cancel));
  }
  // Waits for the next change, as "what detail state".
  std::string next(TaskWatch& watch) {
    const auto change = test::run(io, watch.next());
    auto out =
        change.task.what + " " + change.task.detail + " " + std::string(name_of(change.task.state));
    if (change.missed > 0) out += " missed " + std::to_string(change.missed);
    return out;
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  Tasks tasks{io.get_executor(), clock};
};

TEST_F(TasksTest, AreListedInTheOrderTheyBeganUntilTheyEnd) {
  auto one = begin("one");
  auto two = begin("two");
  ASSERT_EQ(tasks.list().size(), 2U);
  EXPECT_EQ(tasks.list()[0]->what, "one");
  EXPECT_EQ(tasks.list()[0]->id, "t1");
  one->end(State::done);
  ASSERT_EQ(tasks.list().size(), 1U);
  EXPECT_EQ(tasks.list()[0]->what, "two");
  two.reset();
  EXPECT_TRUE(tasks.list().empty());
}

TEST_F(TasksTest, CancelAsksOnceAndOnlyWhatRuns) {
  int asked = 0;
  auto one = begin("one", [&] { ++asked; });
  auto two = begin("two");
  EXPECT_TRUE(tasks.list()[0]->can_cancel);
  EXPECT_FALSE(tasks.list()[1]->can_cancel);
  EXPECT_TRUE(tasks.cancel("t1"));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(tasks.cancel("t2").error().code, Errc::unsupported);
  for (const auto* none : {"", "t", "t3", "x1", "t1x", "t-1", "t99999999999999999999999"})
    EXPECT_EQ(tasks.cancel(none).error().code, Errc::not_found) << none;
  one->end(State::cancelled);
  EXPECT_EQ(tasks.cancel("t1").error().code, Errc::not_found);
}

TEST_F(TasksTest, AnEndFromWithinItsOwnCancelIsFine) {
  std::unique_ptr<Tasks::Entry> one;
  one = begin("one", [&] { one->end(State::cancelled); });
  EXPECT_TRUE(tasks.cancel("t1"));
  EXPECT_TRUE(tasks.list().empty());
}

TEST_F(TasksTest, AWatcherIsToldWhatRunsAndThenEveryChange) {
  auto one = begin("one");
  const auto watch = tasks.watch();
  EXPECT_EQ(next(*watch), "one  running");
  one->update(0.5, "half");
  EXPECT_EQ(next(*watch), "one half running");
  one->end(State::done);
  EXPECT_EQ(next(*watch), "one half done");
  begin("two");
  EXPECT_EQ(next(*watch), "two  failed") << "an entry that goes away is a failure";
}

TEST_F(TasksTest, ASlowWatcherGetsTheLastStateOfEachAndIsToldWhatItMissed) {
  const auto watch = tasks.watch();
  auto one = begin("one");
  for (int i = 0; i < 5000; ++i) one->update(-1, std::to_string(i));
  EXPECT_EQ(next(*watch), "one 4999 running");
  for (std::size_t i = 0; i < TaskWatch::kChangesMax + 3; ++i) begin("many");
  EXPECT_EQ(next(*watch), "many  failed missed 3");
}

TEST_F(TasksTest, DetailsAreOneBoundedLine) {
  auto one = begin("one");
  one->update(-1, std::string(10'000, 'x') + "\n\x1b[31m");
  EXPECT_LE(tasks.list()[0]->detail.size(), Tasks::kDetailBytesMax + 3);
}

}  // namespace
}  // namespace reef::runtime
