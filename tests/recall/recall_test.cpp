// The index of all sessions: kept up to date whatever happens to them, in bulk and one by one.
#include "recall/recall.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::recall {
namespace {

class RecallTest : public testing::Test {
 protected:
  ~RecallTest() override {
    if (recall) test::run(io, recall->stop());
    test::run(io, sessions.stop());
  }

  void load() {
    recall =
        std::make_unique<Recall>(io.get_executor(), sessions, store, pool, files, folder / "index");
    ASSERT_TRUE(test::run(io, recall->load()));
  }
  void unload() {
    test::run(io, recall->stop());
    recall.reset();
  }

  session::SessionId say(const std::string& sender, const std::vector<std::string>& texts) {
    session::Sessions::New request{*session::Key::of_pair("reef", sender), "reef", sender, "", {}};
    for (const auto& text : texts) {
      session::UserMessage message;
      message.content.push_back(session::TextBlock{text});
      message.time = clock.now();
      request.drafts.push_back(session::draft_message(message));
    }
    return test::value_of(test::run(io, sessions.create(std::move(request))))->id();
  }
  SearchResult ask(const std::string& query) {
    Ask asked;
    asked.query = query;
    return test::value_of(test::run(io, recall->search(std::move(asked))));
  }
  std::size_t hits(const std::string& query) { return ask(query).hits.size(); }
  // Asks for all hits, page by page.
  std::vector<Found> all(const std::string& query, bool by_session) {
    std::vector<Found> out;
    for (bool more = true; more;) {
      Ask asked;
      asked.query = query;
      asked.limit = kHitsMax;
      asked.offset = out.size();
      asked.by_session = by_session;
      auto answer = test::value_of(test::run(io, recall->search(std::move(asked))));
      more = answer.more;
      EXPECT_EQ(answer.hits.size() == kHitsMax || !more, true);
      for (auto& hit : answer.hits) out.push_back(std::move(hit));
    }
    return out;
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  test::TempDir folder;
  PosixFiles files;
  Pool pool{2};
  session::Sessions sessions{
      io.get_executor(),
      store,
      catalog,
      clock,
      random,
      session::Sessions::Needs{.on_change = [this](const session::SessionId& id, bool rewritten) {
        if (recall) recall->changed(id, rewritten);
      }}};
  std::unique_ptr<Recall> recall;
};

TEST_F(RecallTest, AMessageIsFoundAtOnceAndAfterARestart) {
  load();
  const auto id = say("ann", {"the greenhouse pump leaks", "it is the seal"});
  const auto found = ask("greenhouse");
  ASSERT_FALSE(found.hits.empty());
  EXPECT_EQ(found.hits[0].session, id);
  EXPECT_EQ(found.hits[0].items.size(), 2U);
  EXPECT_EQ(found.hits[0].items[0].snippet, "the greenhouse pump leaks");
  unload();
  load();
  EXPECT_EQ(hits("+seal"), 1U);
}

TEST_F(RecallTest, ManyNewSessionsAreTakenInTogetherAndEachOnce) {
  const std::string ballast(2000, 'x');
  constexpr int kSessions = 400;  // more than is read one by one
  for (int i = 0; i < kSessions; ++i)
    say("s" + std::to_string(i), {"only" + std::to_string(i) + "here " + ballast, "common"});
  load();
  EXPECT_EQ(hits("+only7here"), 1U);
  EXPECT_EQ(hits("+only399here"), 1U);
  EXPECT_EQ(recall->documents(), std::uint64_t{kSessions} * 2);
  // Sessions taken in as bulk can grow like any other.
  const auto id = *sessions.current(*session::Key::of_pair("reef", "s7"));
  session::UserMessage message;
  message.content.push_back(session::TextBlock{"later words"});
  auto session = test::value_of(test::run(io, sessions.open(id)));
  ASSERT_TRUE(test::run(io, session->append(session::draft_message(message))));
  const auto later = ask("+later");
  ASSERT_EQ(later.hits.size(), 1U);
  EXPECT_EQ(later.hits[0].items[later.hits[0].hit].index, 2U) << "numbered behind the others";
  unload();
  load();
  EXPECT_EQ(recall->documents(), std::uint64_t{kSessions} * 2 + 1);
}

TEST_F(RecallTest, SessionsThatGoAwayWhileTheyAreTakenInAreNotFound) {
  const std::string ballast(2000, 'x');
  std::vector<session::SessionId> ids;
  for (int i = 0; i < 300; ++i)
    ids.push_back(say("s" + std::to_string(i), {"only" + std::to_string(i) + "here " + ballast}));
  load();
  for (int i = 0; i < 300; i += 2)
    ASSERT_TRUE(test::run(io, sessions.trash(ids[static_cast<std::size_t>(i)])));
  EXPECT_EQ(hits("+only4here"), 0U);
  EXPECT_EQ(hits("+only5here"), 1U);
  EXPECT_EQ(recall->documents(), 150U);
}

// Another program changes the files.
TEST_F(RecallTest, MessagesAnotherProgramRemovedAreNotFoundAfterARescan) {
  load();
  const auto cut = say("ann", {"the greenhouse pump leaks", "it is the seal"});
  const auto removed = say("bob", {"another greenhouse"});
  EXPECT_EQ(hits("+greenhouse"), 2U);
  auto& bytes = store.raw().at(cut);
  bytes.resize(bytes.rfind('\n', bytes.size() - 2) + 1);
  store.raw().erase(removed);
  // The hit says that its entry is gone.
  const auto lost = ask("another");
  ASSERT_EQ(lost.hits.size(), 1U);
  EXPECT_EQ(lost.hits[0].entry, "");
  EXPECT_TRUE(lost.hits[0].items[0].truncated);
  ASSERT_TRUE(test::run(io, sessions.rescan()));
  EXPECT_EQ(hits("seal"), 0U);
  EXPECT_EQ(hits("another"), 0U);
  EXPECT_EQ(hits("+greenhouse"), 1U);
}

TEST_F(RecallTest, PagesFollowEachOtherToTheLastHit) {
  load();
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i)
    texts.push_back(
        fmt::format("quokka {} {}", i, std::string(static_cast<std::size_t>(i) % 7, 'x')));
  say("ann", texts);
  say("bob", {"quokka once", "something else"});
  for (const auto* query : {"+quokka", "quokka", "quokka something"}) {
    SCOPED_TRACE(query);
    const auto found = all(query, false);
    std::set<std::string> entries;
    for (std::size_t i = 0; i < found.size(); ++i) {
      entries.insert(found[i].session.text() + found[i].entry);
      if (i > 0) EXPECT_LE(found[i].score, found[i - 1].score) << i;
    }
    EXPECT_EQ(entries.size(), found.size()) << "each once";
    EXPECT_GE(found.size(), 301U);
    EXPECT_LE(found.size(), 302U);
  }
}

TEST_F(RecallTest, ATalkativeSessionHidesNoOther) {
  load();
  say("chatty", std::vector<std::string>(220, "quokka quokka"));
  constexpr std::size_t kOthers = 30;
  for (std::size_t i = 0; i < kOthers; ++i)
    say(fmt::format("s{}", i), {"a long message that names the quokka only in passing, " +
                                std::string(100, 'x') + " and goes on about other things"});
  const auto found = all("quokka", true);
  std::set<std::string> sessions;
  for (const auto& one : found) sessions.insert(std::string(one.session.text()));
  EXPECT_EQ(found.size(), kOthers + 1);
  EXPECT_EQ(sessions.size(), found.size());
}

TEST_F(RecallTest, AWindowHasAtMostSixteenItemsAndUsesItsRoom) {
  load();
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) texts.push_back(fmt::format("word{} here", i));
  say("ann", texts);
  const auto window = [&](const std::string& query, std::size_t before, std::size_t after) {
    Ask asked;
    asked.query = query;
    asked.before = before;
    asked.after = after;
    auto answer = test::value_of(test::run(io, recall->search(std::move(asked))));
    const auto& hit = answer.hits.at(0);
    EXPECT_EQ(fmt::format("word{} here", hit.items.at(hit.hit).index), hit.items[hit.hit].snippet);
    return std::pair(hit.hit, hit.items.size());
  };
  EXPECT_EQ(window("+word20", 4, 4), std::pair(4UL, 9UL));
  EXPECT_EQ(window("+word20", 100, 100), std::pair(7UL, 16UL));
  EXPECT_EQ(window("+word20", 16, 0), std::pair(15UL, 16UL));
  EXPECT_EQ(window("+word20", 0, 16), std::pair(0UL, 16UL));
  EXPECT_EQ(window("+word0", 100, 100), std::pair(0UL, 16UL));
  EXPECT_EQ(window("+word39", 100, 100), std::pair(15UL, 16UL));
  EXPECT_EQ(window("+word2", 16, 16), std::pair(2UL, 16UL));
}

TEST_F(RecallTest, ConditionsAloneFindEverythingThatFulfilsThem) {
  load();
  const auto ann = say("ann", {"alpha", "beta"});
  const auto bob = say("bob", {"alpha", "gamma"});
  EXPECT_EQ(hits("role:user"), 4U);
  EXPECT_EQ(hits("role:user -alpha"), 2U);
  EXPECT_EQ(hits("in:" + std::string(ann.text())), 2U);
  EXPECT_EQ(hits("-in:" + std::string(ann.text()) + " +alpha"), 1U);
  EXPECT_EQ(hits("in:" + std::string(ann.text()) + " in:" + std::string(bob.text()) + " +alpha"),
            2U);
  EXPECT_EQ(hits("role:tool"), 0U);
  EXPECT_EQ(hits("role:USER"), 4U);
  // An unknown operator counts as words; a negated one as words that must be absent.
  EXPECT_EQ(hits("+alpha -is:bogus -role:bogus -before:bogus"), 2U);
}

TEST_F(RecallTest, TheSearchThatFindsDamageAnswersFromTheTranscripts) {
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) texts.push_back(fmt::format("unique{}word of many {}", i, i % 17));
  say("ann", texts);
  load();
  ASSERT_EQ(hits("+unique1234word"), 1U);
  unload();
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "index"))
    if (entry.path().extension() == ".seg") file = entry.path();
  ASSERT_FALSE(file.empty());
  const auto whole = test::read_file(file);
  std::size_t rebuilt = 0;
  for (std::size_t at = 100; at < whole.size(); at += whole.size() / 23) {
    SCOPED_TRACE(at);
    auto changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    const auto manifest = test::read_file(folder / "index/manifest");
    test::write_file(file, changed);
    load();
    EXPECT_EQ(hits("+unique1234word"), 1U);
    EXPECT_EQ(hits("+unique7word"), 1U);
    EXPECT_EQ(hits("\"of many 3\""), 10U);
    unload();
    if (!std::filesystem::exists(file)) ++rebuilt;
    std::filesystem::remove_all(folder / "index");
    std::filesystem::create_directory(folder / "index");
    test::write_file(file, whole);
    test::write_file(folder / "index/manifest", manifest);
  }
  EXPECT_GT(rebuilt, 5U) << "some of it was noticed";
}

// Windows overlap: an item that stands in several is read once and shown in each, and is marked in
// the window whose hit it is.
TEST_F(RecallTest, WindowsOfHitsThatStandTogetherAreEachWhole) {
  load();
  constexpr std::size_t kMessages = 40;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const auto rest = i % 10 == 5 ? std::string(40'000, 'x') : std::string();
    texts.push_back(fmt::format("message {} {}{}", i, i % 3 == 0 ? "about pumps " : "", rest));
  }
  const auto id = say("ann", texts);
  const auto answer = ask("+pumps");
  ASSERT_EQ(answer.hits.size(), 10U);
  for (const auto& hit : answer.hits) {
    const auto found = hit.items[hit.hit].index;
    SCOPED_TRACE(found);
    EXPECT_EQ(hit.entry, hit.items[hit.hit].entry);
    EXPECT_FALSE(hit.items[hit.hit].matches.empty());
    const auto first = found - std::min<std::uint32_t>(found, 4);
    ASSERT_EQ(hit.items.size(), std::min<std::size_t>(found + 5, kMessages) - first);
    for (std::size_t at = 0; at < hit.items.size(); ++at) {
      const auto& item = hit.items[at];
      EXPECT_EQ(item.index, first + at);
      EXPECT_TRUE(item.snippet.starts_with(fmt::format("message {} ", item.index)));
      EXPECT_EQ(item.matches.empty(), at != hit.hit);
      EXPECT_EQ(item.truncated, item.index % 10 == 5);
      EXPECT_FALSE(item.entry.empty());
    }
  }
}

TEST_F(RecallTest, EveryWordOfALongMessageIsFound) {
  std::string text = "first ";
  for (std::uint32_t i = 0; i < search::kWordsMax; ++i) text += i % 2 == 0 ? "lorem " : "ipsum ";
  for (int i = 0; i < 300'000; ++i) text += "again ";
  text += "src/far/Quokka.cpp \u6771\u4eac\u90fd \u00bd fooBar_baz last";
  load();
  say("ann", {text});
  for (const bool in_bulk : {false, true}) {
    SCOPED_TRACE(in_bulk);
    if (in_bulk) {
      unload();
      std::filesystem::remove_all(folder / "index");
      load();
    }
    for (const char* word : {"first", "again", "quokka", "src/far/quokka.cpp", "\u6771\u4eac",
                             "\u00bd", "foobar_baz", "bar", "last"})
      EXPECT_EQ(hits(word), 1U) << word;
    const auto answer = ask("quokka");
    const auto& item = answer.hits[0].items[answer.hits[0].hit];
    EXPECT_NE(item.snippet.find("src/far/Quokka.cpp"), std::string::npos) << item.snippet;
  }
}

TEST(ReadPiece, SaysWhereWordsWereLeftOut) {
  const auto line = [](const std::string& words) {
    return R"({"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z",)"
           R"("message":{"role":"user","content":")" +
           words + "\"}}\n";
  };
  std::string same, different;
  for (int i = 0; i < 400'000; ++i) {
    same += "word ";
    different += fmt::format("w{}x ", i);
  }
  const auto few = read_piece(line(same + "end"), 0);
  EXPECT_TRUE(few.cut.empty());
  ASSERT_EQ(few.documents.size(), 1U);
  EXPECT_TRUE(few.documents[0].said.parts[0].text.ends_with(" word end"));
  EXPECT_LT(few.documents[0].said.parts[0].text.size(), same.size() / 4);
  const auto many = read_piece(line(different), 0);
  EXPECT_EQ(many.cut, std::vector<std::string>{"a1"});
  ASSERT_EQ(many.documents.size(), 1U);
}

}  // namespace
}  // namespace reef::recall
