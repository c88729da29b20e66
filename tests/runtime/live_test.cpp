// What readers of a running turn see, whenever they come, and that what is kept for them is
// bounded.
#include "runtime/live.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace reef::runtime {
namespace {

std::string shown(const LiveTurn::Piece& piece) {
  if (const auto* kept = std::get_if<LiveTurn::Kept>(&piece))
    return fmt::format("[{}{}]", kept->bytes, kept->replaces ? "!" : "");
  const auto& event = std::get<Event>(piece);
  if (const auto* chunk = std::get_if<Chunk>(&event)) return chunk->text;
  if (const auto* thought = std::get_if<Thinking>(&event)) return "(" + thought->text + ")";
  if (const auto* progress = std::get_if<ToolProgress>(&event))
    return "<" + progress->call_id + progress->text + ">";
  if (std::holds_alternative<End>(event)) return "end";
  return "?";
}

std::string read(const LiveTurn& turn, LiveTurn::Place& place) {
  std::string out;
  while (const auto piece = turn.next(place)) out += shown(*piece);
  return out;
}

TEST(LiveTest, AReaderGoesOnWhereItWasByteForByte) {
  LiveTurn turn(1, 100);
  turn.take(Chunk{"one "});
  auto place = turn.begin();
  EXPECT_EQ(read(turn, place), "one ");
  turn.take(Chunk{"two "});
  const auto away = place;
  turn.take(Chunk{"three "});
  turn.take(Thinking{"hm"});
  EXPECT_EQ(read(turn, place), "two three (hm)");
  place = away;
  EXPECT_TRUE(turn.has(place));
  EXPECT_EQ(read(turn, place), "two three (hm)") << "the same again";
  place = turn.begin();
  EXPECT_EQ(read(turn, place), "one two three (hm)");
  EXPECT_EQ(turn.base(), 100U);
}

TEST(LiveTest, WhatIsDurableIsSaidNoMoreToThoseWhoComeAndStillToThoseWhoRead) {
  LiveTurn turn(1, 100);
  turn.take(Chunk{"first"});
  LiveTurn::Place slow = turn.begin();
  EXPECT_EQ(read(turn, slow), "first");
  turn.take(Chunk{" reply"});
  turn.keep(200, true);
  turn.take(Chunk{"second"});
  auto fresh = turn.begin();
  EXPECT_EQ(turn.base(), 200U);
  EXPECT_EQ(read(turn, fresh), "[200!]second");
  EXPECT_EQ(read(turn, slow), " reply[200!]second");
  LiveTurn::Place slowest{};
  turn.keep(300, true);
  EXPECT_TRUE(turn.has(slowest)) << "all it missed is among the entries";
  EXPECT_EQ(read(turn, slowest), "[300!]");
  EXPECT_EQ(read(turn, slow), "[300!]");
}

TEST(LiveTest, MarksThatReplaceNothingAreOneWhileNothingIsSaid) {
  LiveTurn turn(1, 0);
  for (std::uint64_t bytes = 1; bytes <= 100; ++bytes) turn.keep(bytes, false);
  auto place = turn.begin();
  EXPECT_EQ(read(turn, place), "[100]");
}

TEST(LiveTest, ALongReplyLosesItsBeginningAndWhoDidNotReadItIsTold) {
  LiveTurn turn(1, 7);
  auto place = turn.begin();
  turn.take(Chunk{"begin "});
  const LiveTurn::Place early{0, 3};
  const std::string words(10'000, 'x');
  for (int i = 0; i < 1000; ++i) turn.take(Chunk{words});
  turn.take(Chunk{"the end"});
  EXPECT_FALSE(turn.has(place));
  EXPECT_FALSE(turn.has(early));
  EXPECT_GT(turn.given_up(), 7'000'000U);
  place = turn.begin();
  EXPECT_EQ(turn.base(), 7U);
  const auto rest = read(turn, place);
  EXPECT_TRUE(rest.ends_with("xthe end"));
  EXPECT_LE(rest.size(), 2 * LiveTurn::kBytesMax);
  EXPECT_GE(rest.size(), LiveTurn::kBytesMax / 2);
  EXPECT_EQ(rest.size() + turn.given_up(), 6 + 1000 * words.size() + 7)
      << "not a byte is uncounted";
  turn.keep(8, true);
  EXPECT_TRUE(turn.has(early)) << "now it is among the entries";
  EXPECT_EQ(turn.given_up(), 0U);
}

TEST(LiveTest, ManySmallThingsAreBoundedToo) {
  LiveTurn turn(1, 0);
  for (int i = 0; i < 100'000; ++i) turn.take(ToolProgress{i % 2 ? "a" : "b", "y"});
  auto place = turn.begin();
  int pieces = 0;
  while (turn.next(place)) ++pieces;
  EXPECT_LE(pieces, static_cast<int>(LiveTurn::kItemsMax));
  EXPECT_FALSE(turn.has(LiveTurn::Place{}));
}

TEST(LiveTest, LongOutputsAndArgumentsAreLeftToTheEntries) {
  LiveTurn turn(1, 0);
  ToolStart start;
  start.calls.push_back({"c", "write", std::string(1U << 20, 'x')});
  turn.take(start);
  turn.take(ToolResult{"c", std::string(1U << 20, 'x'), {}, false});
  auto place = turn.begin();
  const auto first = turn.next(place);
  EXPECT_EQ(std::get<ToolStart>(std::get<Event>(*first)).calls[0].arguments, "");
  const auto second = turn.next(place);
  EXPECT_EQ(std::get<ToolResult>(std::get<Event>(*second)).output.size(),
            LiveTurn::kOutputBytesMax);
}

TEST(LiveTest, AnEndTakesBackWhatWasNotKept) {
  LiveTurn lost(1, 10);
  lost.take(Chunk{"never kept"});
  lost.end(End{}, 10);
  auto place = lost.begin();
  EXPECT_EQ(read(lost, place), "[10!]end");
  LiveTurn kept(2, 10);
  kept.take(Chunk{"kept"});
  kept.keep(20, true);
  kept.end(End{}, 20);
  LiveTurn::Place behind{};
  EXPECT_EQ(read(kept, behind), "kept[20!]end") << "who is a little behind hears it to its end";
}

TEST(LiveTest, PlacesThatNeverWereAreNone) {
  LiveTurn turn(1, 0);
  turn.take(Chunk{"abc"});
  turn.take(End{});
  EXPECT_TRUE(turn.has({0, 3}));
  EXPECT_FALSE(turn.has({0, 4}));
  EXPECT_FALSE(turn.has({1, 1}));
  EXPECT_TRUE(turn.has({2, 0}));
  EXPECT_FALSE(turn.has({2, 1}));
  EXPECT_FALSE(turn.has({3, 0}));
  EXPECT_FALSE(turn.has({UINT64_MAX, UINT64_MAX}));
}

// A reader that is away at random, and one that never is.
TEST(LiveTest, PutTogetherAllReadersHeardTheSame) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SeededRandom random(seed);
    LiveTurn turn(seed, 0);
    // What is live, and what was when it became durable.
    struct Reader {
      LiveTurn::Place place;
      std::string live;
      std::uint64_t kept = 0;
      void hear(const LiveTurn& from) {
        ASSERT_TRUE(from.has(place));
        while (const auto piece = from.next(place)) {
          const auto* mark = std::get_if<LiveTurn::Kept>(&*piece);
          if (mark && mark->replaces) {
            live.clear();
            kept = mark->bytes;
          }
          // However it came in pieces.
          if (!mark)
            for (const char letter : shown(*piece))
              if (std::isalpha(static_cast<unsigned char>(letter)) != 0) live += letter;
        }
      }
    } never, away;
    std::uint64_t bytes = 0;
    for (int step = 0; step < 400; ++step) {
      const auto what = random.below(10);
      if (what < 5) {
        turn.take(Chunk{std::string(1 + random.below(50), 'c')});
      } else if (what < 7) {
        turn.take(Thinking{std::string(1 + random.below(50), 't')});
      } else if (what < 8) {
        turn.take(ToolProgress{random.below(2) ? "1" : "2", "p"});
      } else {
        turn.keep(++bytes, random.below(2) == 0);
      }
      never.hear(turn);
      if (random.below(8) == 0) away.hear(turn);
    }
    away.hear(turn);
    EXPECT_EQ(away.live, never.live) << "seed " << seed;
    EXPECT_EQ(away.kept, never.kept) << "seed " << seed;
  }
}

}  // namespace
}  // namespace reef::runtime
