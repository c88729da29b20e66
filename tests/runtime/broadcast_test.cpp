#include "runtime/broadcast.h"

#include <gtest/gtest.h>

#include "support/run.h"

namespace reef::runtime {
namespace {

class BroadcastTest : public testing::Test {
 protected:
  void publish(Event event, const std::string& session = "s", const std::string& agent = "reef") {
    broadcast.publish(Scene{agent, "user", "agent:reef:user", session, false}, event, TimePoint());
  }
  Happening next(Subscription& subscription) { return test::run(io, subscription.next()); }

  boost::asio::io_context io{1};
  Broadcast broadcast{io.get_executor()};
};

TEST_F(BroadcastTest, EverySubscriberHasItsOwnQueueAndFilter) {
  const auto all = broadcast.subscribe({});
  const auto ends = broadcast.subscribe(
      [](const Scene&, const Event& event) { return std::holds_alternative<End>(event); });
  publish(Start{"reef"});
  publish(Chunk{"a"});
  publish(End{});
  EXPECT_TRUE(std::holds_alternative<End>(next(*ends).event));
  EXPECT_TRUE(std::holds_alternative<Start>(next(*all).event));
  EXPECT_EQ(std::get<Chunk>(next(*all).event).text, "a");
  EXPECT_TRUE(std::holds_alternative<End>(next(*all).event));
}

TEST_F(BroadcastTest, PiecesOfOneTurnThatNobodyHasReadAreJoinedAndThoseOfTwoAreNot) {
  const auto all = broadcast.subscribe({});
  publish(Chunk{"a"});
  publish(Chunk{"b"});
  publish(Chunk{"c"}, "other");
  publish(Chunk{"d"});
  EXPECT_EQ(std::get<Chunk>(next(*all).event).text, "ab");
  EXPECT_EQ(std::get<Chunk>(next(*all).event).text, "c");
  EXPECT_EQ(std::get<Chunk>(next(*all).event).text, "d");
}

// CrabTalk's subscribers lost events without being told when they fell behind.
TEST_F(BroadcastTest, W6_ASlowReaderIsToldHowMuchItMissedAtOnce) {
  const auto slow = broadcast.subscribe({});
  constexpr std::uint64_t kMany = Subscription::kEventsMax + 500;
  for (std::uint64_t i = 0; i < kMany; ++i) publish(TextStart{"reef"});
  publish(End{});
  const auto first = next(*slow);
  EXPECT_EQ(first.missed, kMany + 1 - Subscription::kEventsMax);
  std::uint64_t got = 1;
  for (;; ++got) {
    const auto happening = next(*slow);
    EXPECT_EQ(happening.missed, 0U);
    if (std::holds_alternative<End>(happening.event)) break;
  }
  EXPECT_EQ(got + 1 + first.missed, kMany + 1) << "what was read and what was missed is all";
}

TEST_F(BroadcastTest, AQueueIsBoundedInBytesToo) {
  const auto slow = broadcast.subscribe({});
  ToolStart big;
  big.calls.push_back({"id", "bash", std::string(100'000, 'x')});
  for (int i = 0; i < 50; ++i) publish(big);
  const auto first = next(*slow);
  EXPECT_GE(first.missed, 39U);
  EXPECT_LT(first.missed, 50U);
  // An event that is larger than the whole queue is still delivered.
  ToolStart huge;
  huge.calls.push_back({"id", "bash", std::string(3U << 20, 'x')});
  publish(huge);
  const auto last = next(*slow);
  EXPECT_GT(last.missed, 0U);
  EXPECT_EQ(std::get<ToolStart>(last.event).calls[0].arguments.size(), 3U << 20);
}

TEST_F(BroadcastTest, LongOutputsAreCutBeforeTheyAreQueued) {
  const auto all = broadcast.subscribe({});
  publish(ToolResult{"id", std::string(1U << 20, 'x'), {}, false});
  EXPECT_EQ(std::get<ToolResult>(next(*all).event).output.size(),
            Subscription::kOutputBytesMax + 1);
}

TEST_F(BroadcastTest, ASubscriberThatIsGoneCostsNothing) {
  {
    const auto gone = broadcast.subscribe({});
    EXPECT_EQ(broadcast.subscribers(), 1U);
  }
  publish(Start{"reef"});
  EXPECT_EQ(broadcast.subscribers(), 0U);
}

}  // namespace
}  // namespace reef::runtime
