// Readers of a turn see the same, whenever they come and however slow they are.
#include "runtime/event_log.h"

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/run.h"

namespace reef::runtime {
namespace {

class EventLogTest : public testing::Test {
 protected:
  // Reads to the end, as "text" and "call:progress" words.
  std::string read(EventLog& from, EventLog::Place& place) {
    std::string out;
    for (;;) {
      const auto event = test::run(io, from.next(place));
      if (!event) return out + "error";
      if (!*event) return out + "end";
      if (const auto* chunk = std::get_if<Chunk>(&**event)) out += chunk->text + " ";
      if (const auto* progress = std::get_if<ToolProgress>(&**event))
        out += progress->call_id + ":" + progress->text + " ";
      if (const auto* ask = std::get_if<AskUser>(&**event)) out += "?" + ask->id + " ";
      if (std::holds_alternative<ToolsComplete>(**event)) return out;
    }
  }
  std::string read_all() {
    EventLog::Place place;
    return read(*log, place);
  }

  boost::asio::io_context io{1};
  std::shared_ptr<EventLog> log = std::make_shared<EventLog>(io.get_executor());
};

TEST_F(EventLogTest, ProgressIsJoinedByCallAndReadInOrder) {
  log->push(ToolProgress{"a", "1"});
  log->push(ToolProgress{"a", "2"});
  log->push(ToolProgress{"b", "3"});
  log->push(ToolProgress{"a", "4"});
  log->close();
  EXPECT_EQ(read_all(), "a:12 b:3 a:4 end");
}

TEST_F(EventLogTest, ProgressNobodyReadsIsBounded) {
  const std::string piece(1000, 'x');
  for (int i = 0; i < 10'000; ++i) log->push(ToolProgress{"a", piece});
  log->push(ToolProgress{"a", "the end"});
  for (int i = 0; i < 10'000; ++i) log->push(ToolProgress{i % 2 ? "b" : "c", "y"});
  log->push(Chunk{"word"});
  log->close();
  const auto all = read_all();
  EXPECT_LT(all.size(), 140'000U);
  EXPECT_TRUE(all.ends_with("c:y b:y word end")) << "the last is kept";
  EventLog::Place place;
  int events = 0;
  while (test::value_of(test::run(io, log->next(place)))) ++events;
  EXPECT_LT(events, 300);
}

TEST_F(EventLogTest, ASlowReaderOfProgressGoesOnWhereSomethingIsLeft) {
  EventLog::Place place;
  log->push(ToolProgress{"a", "first"});
  log->push(ToolsComplete{});
  EXPECT_EQ(read(*log, place), "a:first ");
  for (int i = 0; i < 1000; ++i) log->push(ToolProgress{"a", fmt::format("{:0>1000}é", i)});
  log->close();
  const auto rest = read(*log, place);
  EXPECT_TRUE(rest.ends_with("999é end"));
  EXPECT_LT(rest.size(), 140'000U);
}

TEST_F(EventLogTest, TakingBackOneEventHidesNoOther) {
  EventLog::Place early;
  log->push(Chunk{"one"});
  log->push(AskUser{"q1", "c", {}});
  log->push(ToolsComplete{});
  EXPECT_EQ(read(*log, early), "one ?q1 ");
  log->push(Chunk{"two"});
  log->push(AskUser{"q2", "c", {}});
  log->withdraw("q2");
  log->withdraw("q1");
  log->push(Chunk{"three"});
  log->close();
  EXPECT_EQ(read(*log, early), "two three end");
}

TEST_F(EventLogTest, AReaderIsLedToTheLogWhereItsTurnGoesOn) {
  const auto other = std::make_shared<EventLog>(io.get_executor());
  other->push(Chunk{"before"});
  log->attach();
  EXPECT_FALSE(other->has_readers());
  const auto place = other->end();
  other->push(ToolsComplete{});
  log->push(Chunk{"mine"});
  log->go_on_in(other, place);
  EXPECT_TRUE(other->has_readers());
  other->push(Chunk{"after"});
  other->close();
  EventLog::Place mine;
  EXPECT_EQ(read(*log, mine), "mine ");
  EXPECT_EQ(read(*log, mine), "after end");
  EXPECT_EQ(read(*log, mine), "end");
  log->detach();
  EXPECT_FALSE(other->has_readers());
}

}  // namespace
}  // namespace reef::runtime
