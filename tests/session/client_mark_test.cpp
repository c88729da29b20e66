// What clients name, and what a person is asked, as entries of a transcript and in rows.
#include "session/client_mark.h"

#include <gtest/gtest.h>

#include "session/catalog.h"
#include "session/decision.h"
#include "session/session.h"
#include "session/transcript.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"

namespace reef::session {
namespace {

const ClientMark kMark{"m\"1\n", "ann", "0123456789abcdef"};

SessionId own_id() {
  return *SessionId::parse("261115-swift-river");
}

Entry custom(std::string_view type, json::object data, std::string_view id = "e") {
  return make_entry(Draft{"custom", json::object{{"customType", type}, {"data", std::move(data)}}},
                    EntryId{std::string(id)}, std::nullopt, *parse_iso("2026-11-15T10:00:00.000Z"));
}

Entry asked(std::string id, std::string kind = "question") {
  return custom(kDecisionType, {{"id", std::move(id)},
                                {"state", "asked"},
                                {"kind", std::move(kind)},
                                {"about", "Which\ncolour?"},
                                {"expiresAt", "2026-11-15T10:05:00.000Z"}});
}

TEST(ClientMark, IsFoundAgainInTheLineItWasWrittenTo) {
  UserMessage message;
  message.content.push_back(TextBlock{R"(it says "client":{"id":"x","sum":"y"} and means it)"});
  auto draft = draft_message(message);
  const auto plain = make_entry(draft, EntryId{"a"}, std::nullopt, TimePoint());
  put_mark(draft.fields, kMark);
  const auto marked = make_entry(draft, EntryId{"b"}, EntryId{"a"}, TimePoint());
  // As a tool's arguments it stands there unescaped, and names nothing.
  AssistantMessage reply;
  reply.content.push_back(ToolCallBlock{
      "c", "t", json::object{{"client", json::object{{"id", "x"}, {"sum", "y"}}}}, {}});
  const auto call = make_entry(draft_message(reply), EntryId{"c"}, EntryId{"b"}, TimePoint());
  const auto bytes =
      entry_line(plain) + entry_line(marked) + entry_line(call) + R"({"client":{"id":)";
  const auto found = marks_in(bytes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].mark, kMark);
  EXPECT_FALSE(found[0].unanswered);
  EXPECT_FALSE(has_mark(plain.body));
}

TEST(ClientMark, ASessionTellsWhichRequestItWasMadeFor) {
  auto other = kMark;
  other.sum = "fedcba9876543210";
  auto foreign = kMark;
  foreign.sender = "bob";
  EXPECT_EQ(is_made_for(made_for(kMark), kMark), Made::same);
  EXPECT_EQ(is_made_for(made_for(other), kMark), Made::other);
  EXPECT_EQ(is_made_for(made_for(foreign), kMark), Made::no);
  EXPECT_EQ(is_made_for("", kMark), Made::no);
}

TEST(ClientMark, HasAnEnd) {
  EXPECT_TRUE(check_client_id("x"));
  EXPECT_TRUE(check_client_id(std::string(256, 'x')));
  EXPECT_FALSE(check_client_id(std::string(257, 'x')));
  EXPECT_FALSE(check_client_id(""));
}

TEST(Decision, WaitsInTheRowUntilItIsSettled) {
  auto row = start_row(own_id(), Header{});
  fold(row, asked("261115-swift-river.1"));
  fold(row, asked("261115-swift-river.2", "failed"));
  ASSERT_EQ(row.waiting.size(), 2U);
  EXPECT_EQ(row.waiting[0].about, "Which colour?");
  EXPECT_EQ(format_iso(row.waiting[0].expires), "2026-11-15T10:05:00.000Z");
  fold(row, custom(kDecisionType, {{"id", "261115-swift-river.1"}, {"state", "answered"}}));
  ASSERT_EQ(row.waiting.size(), 1U);
  EXPECT_EQ(row.waiting[0].kind, "failed");
  // The catalog keeps it as it is.
  const auto read = read_record(json::write(to_json(row)));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->row.waiting, row.waiting);
  EXPECT_EQ(json::write(to_json(read->row)), json::write(to_json(row)));
}

TEST(Decision, OfAnotherSessionOrOfNoneWaitsNowhere) {
  auto row = start_row(own_id(), Header{});
  for (const auto* id : {"", ".", "x", "261115-other.1", "261115-swift-river", "../x.1"})
    fold(row, asked(id));
  EXPECT_TRUE(row.waiting.empty());
  for (int i = 0; i < 1000; ++i) fold(row, asked("261115-swift-river." + std::to_string(i)));
  EXPECT_EQ(row.waiting.size(), Waiting::kMax) << "a hostile transcript asks without end";
}

class DecisionsOfSessions : public testing::Test {
 protected:
  ~DecisionsOfSessions() override { test::run(io, sessions.stop()); }

  SessionId make() {
    auto made = test::value_of(test::run(io, sessions.create({{}, "reef", "user", "/", {}})));
    const auto id = made->id();
    UserMessage words;
    words.content.push_back(TextBlock{"hi"});
    auto said = draft_message(words);
    put_mark(said.fields, kMark);
    std::vector<Draft> drafts;
    drafts.push_back(std::move(said));
    drafts.push_back(
        draft_decision({{"id", id.text() + ".1"}, {"state", "asked"}, {"kind", "plan"}}));
    test::value_of(test::run(io, made->append(std::move(drafts))));
    return id;
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  Sessions sessions{io.get_executor(), store, catalog, clock, random};
};

TEST_F(DecisionsOfSessions, AreNotTakenAlongByAFork) {
  const auto id = make();
  EXPECT_EQ(sessions.find(id)->waiting.size(), 1U);
  EXPECT_EQ(sessions.find(id)->marks, 1U);
  const auto fork = test::value_of(test::run(io, sessions.fork(id, std::nullopt)));
  EXPECT_TRUE(sessions.find(fork)->waiting.empty());
  EXPECT_EQ(sessions.find(fork)->marks, 0U);
  EXPECT_EQ(store.raw().at(fork).find("reef.decision"), std::string::npos);
}

TEST_F(DecisionsOfSessions, AreClosedByTheTrash) {
  const auto id = make();
  ASSERT_TRUE(test::run(io, sessions.trash(id)));
  ASSERT_TRUE(test::run(io, sessions.restore(id)));
  EXPECT_TRUE(sessions.find(id)->waiting.empty());
  EXPECT_NE(store.raw().at(id).find("put in the trash"), std::string::npos);
}

}  // namespace
}  // namespace reef::session
