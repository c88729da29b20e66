// Silent replies and messages of programs: what is shown and what is kept.
#include <gtest/gtest.h>

#include "runtime/segments.h"
#include "runtime/window_stage.h"

namespace reef::runtime {
namespace {

struct Shown {
  std::string text;
  bool started = false;
  bool silent = false;
};

// Cuts the reply where `cuts` has a bit: bit 0 is after the first character.
Shown shown(const std::string& reply, unsigned cuts) {
  boost::asio::io_context io;
  EventLog events(io.get_executor());
  Shown out;
  events.observe([&](const Event& event) {
    if (const auto* chunk = std::get_if<Chunk>(&event)) out.text += chunk->text;
    if (std::holds_alternative<TextStart>(event)) out.started = true;
  });
  const std::string agent = "reef";
  Segments segments(events, agent, {});
  std::string piece;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    piece += reply[i];
    if (i + 1 < reply.size() && (cuts >> i & 1U) == 0) continue;
    segments.take({model::Delta::Kind::text, std::exchange(piece, {})});
  }
  segments.close();
  out.silent = segments.silent();
  return out;
}

TEST(Silent, ASilentReplyIsNeverShownHoweverItIsSplit) {
  for (const std::string reply : {"NO_REPLY", "NO_REPLY.", "NO_REPLY ok", "NO_REPLY\nx"})
    for (unsigned cuts = 0; cuts < 1U << (reply.size() - 1); ++cuts) {
      const auto seen = shown(reply, cuts);
      ASSERT_TRUE(seen.silent) << reply << " " << cuts;
      ASSERT_EQ(seen.text, "") << reply << " " << cuts;
      ASSERT_FALSE(seen.started) << reply << " " << cuts;
    }
}

TEST(Silent, ASimilarReplyIsShownWholeHoweverItIsSplit) {
  for (const std::string reply : {" NO_REPLY", "no_reply", "NO_REPLYING", "NO_REPLY_2", "NO_REPL",
                                  "N", "NO", "NOT now", "NO REPLY", "No_REPLY"})
    for (unsigned cuts = 0; cuts < 1U << (reply.size() - 1); ++cuts) {
      const auto seen = shown(reply, cuts);
      ASSERT_FALSE(seen.silent) << reply << " " << cuts;
      ASSERT_EQ(seen.text, reply) << cuts;
    }
}

TEST(Silent, HeldTextCausesNoEvent) {
  boost::asio::io_context io;
  EventLog events(io.get_executor());
  std::string told;
  events.observe([&](const Event& event) {
    if (const auto* chunk = std::get_if<Chunk>(&event)) told += chunk->text;
    if (const auto* thought = std::get_if<Thinking>(&event)) told += thought->text;
    if (std::holds_alternative<ThinkingStart>(event)) told += "<";
  });
  const std::string agent = "reef";
  Segments segments(events, agent, {false, false});
  segments.take({model::Delta::Kind::thinking, "a thought"});
  segments.take({model::Delta::Kind::text, "an answer"});
  segments.close();
  EXPECT_EQ(told, "");
  EXPECT_EQ(segments.take_held(), "an answer");
  EXPECT_EQ(segments.take_held(), "");
  EXPECT_EQ(told, "");
}

TEST(Silent, OnlyABeginningIsHeldBack) {
  boost::asio::io_context io;
  EventLog events(io.get_executor());
  std::string text;
  events.observe([&](const Event& event) {
    if (const auto* chunk = std::get_if<Chunk>(&event)) text += chunk->text;
  });
  const std::string agent = "reef";
  Segments segments(events, agent, {});
  segments.take({model::Delta::Kind::text, "NO"});
  EXPECT_EQ(text, "");
  segments.take({model::Delta::Kind::text, "W"});
  EXPECT_EQ(text, "NOW");
  segments.take({model::Delta::Kind::text, " NO_REPLY"});
  EXPECT_EQ(text, "NOW NO_REPLY");
}

class SilentTurns : public WindowStage {
 protected:
  SilentTurns() { set_up(0); }
};

TEST_F(SilentTurns, ASilentReplyIsKeptAndHidden) {
  model->words = "NO_REPLY nothing to say";
  const auto seen = turn("anything new?");
  EXPECT_EQ(seen.text, "");
  EXPECT_FALSE(seen.text_started);
  EXPECT_TRUE(seen.end.silent);
  EXPECT_EQ(seen.end.error, "");
  const auto all = transcript();
  const auto& reply = all.entries().back();
  EXPECT_TRUE(session::is_hidden(reply));
  EXPECT_EQ(session::text_of(*session::message_of(reply)), "NO_REPLY nothing to say");
  EXPECT_EQ(sessions.find(id())->last_role, "user");
  EXPECT_FALSE(sessions.find(id())->flag("hasUnread"));
}

TEST_F(SilentTurns, TheLastReplyOfATurnDecides) {
  model->script = {"call look", "NO_REPLY"};
  EXPECT_TRUE(turn("go").end.silent);
  model->script = {"call look", "here it is"};
  const auto seen = turn("go");
  EXPECT_FALSE(seen.end.silent);
  EXPECT_EQ(seen.text, "here it is");
}

TEST_F(SilentTurns, WordsOfAProgramAreKeptAndMarked) {
  const auto first = hidden_turn("Always write notes to /tmp/x now.");
  EXPECT_TRUE(first.end.hidden);
  EXPECT_EQ(sessions.find(id())->preview, "");
  const auto second = turn("hello there");
  EXPECT_FALSE(second.end.hidden);
  EXPECT_EQ(sessions.find(id())->preview, "hello there");
  EXPECT_EQ(heard, std::vector<std::string>{"hello there"});
  const auto messages = kept();
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_TRUE(session::is_hidden(messages[0]));
  EXPECT_FALSE(session::is_hidden(messages[1])) << "it was answered aloud";
  EXPECT_FALSE(session::is_hidden(messages[2]));
  // The model is given all of them.
  EXPECT_EQ(model->requests.back().messages.size(), 3U);
}

}  // namespace
}  // namespace reef::runtime
