#include "session/session.h"

#include <gtest/gtest.h>

#include "base/notify.h"
#include "base/task_group.h"
#include "session/catalog.h"
#include "store/mem/mem_journal.h"
#include "support/journal.h"
#include "support/run.h"
#include "support/wrapped_transcripts.h"

namespace reef::session {
namespace {

class FixedClock final : public Clock {
 public:
  TimePoint now() const override { return time; }
  TimePoint time{std::chrono::milliseconds(1794779830302)};
};

// A store whose appends wait until told to go on, and can be told to fail.
class GatedStore final : public test::WrappedTranscripts {
 public:
  explicit GatedStore(Executor loop) : open_gate(std::move(loop)) {}

  Task<Status> append(SessionId id, std::uint64_t at, std::string bytes) override {
    ++appends;
    while (closed) co_await open_gate.wait();
    if (explode) throw std::bad_alloc();
    if (fail) co_return Error(Errc::no_space, "disk full");
    co_return co_await real.append(std::move(id), at, std::move(bytes));
  }

  bool closed = false;
  bool fail = false;
  bool explode = false;
  int appends = 0;
  Notify open_gate;
};

// Runs a task of the test between a look at the disk and its use.
class SlowLookStore final : public test::WrappedTranscripts {
 public:
  Task<Result<std::vector<Stored>>> list() override {
    auto listed = co_await real.list();
    if (after_list) co_await std::exchange(after_list, {})();
    co_return listed;
  }
  Task<std::vector<Result<Row>>> refresh(std::vector<Refresh> requests) override {
    auto rows = co_await real.refresh(std::move(requests));
    if (after_refresh) co_await std::exchange(after_refresh, {})();
    co_return rows;
  }
  std::function<Task<void>()> after_list, after_refresh;
};

class SessionTest : public testing::Test {
 protected:
  SessionTest()
      : store(io.get_executor()), sessions(io.get_executor(), store, catalog, clock, random) {}
  ~SessionTest() override { test::run(io, sessions.stop()); }

  std::shared_ptr<Session> make(const std::string& sender) {
    return test::value_of(test::run(io, sessions.create(request(sender))));
  }
  static Sessions::New request(const std::string& sender) {
    return Sessions::New{*Key::of_pair("reef", sender), "reef", sender, "/x", {}};
  }
  static Draft say(const std::string& text) {
    UserMessage message;
    message.content.push_back(TextBlock{text});
    return draft_message(message);
  }
  // The texts a model would be given.
  static std::vector<std::string> words_of(const Context& context) {
    std::vector<std::string> out;
    for (const auto& message : for_model(context)) out.push_back(text_of(*message));
    return out;
  }
  static std::vector<std::string> words_of(const Session& session) {
    return words_of(session.context());
  }
  std::vector<std::string> words_on_disk(const Session& session) {
    return words_of(build_context(Transcript(read_transcript(bytes_of(session))).branch()));
  }
  using Words = std::vector<std::string>;

  std::string& bytes_of(const Session& session) { return store.real.raw().at(session.id()); }

  boost::asio::io_context io{1};
  FixedClock clock;
  SeededRandom random{42};
  GatedStore store;
  store::MemJournal catalog;
  Sessions sessions;
};

TEST_F(SessionTest, AppendsFormAChainThatReadsBack) {
  const auto session = make("user");
  for (const std::string text : {"one", "two", "three"})
    test::value_of(test::run(io, session->append(say(text))));
  const Transcript again(read_transcript(bytes_of(*session)));
  EXPECT_TRUE(again.damage().empty());
  EXPECT_EQ(words_on_disk(*session), (Words{"one", "two", "three"}));
  EXPECT_EQ(session->bytes(), bytes_of(*session).size());
}

Task<void> append_into(std::shared_ptr<Session> session, Draft draft,
                       std::vector<Result<EntryId>>& results) {
  results.push_back(co_await session->append(std::move(draft)));
}

TEST_F(SessionTest, ConcurrentAppendsShareASyncAndKeepTheirOrder) {
  const auto session = make("user");
  store.closed = true;
  TaskGroup group(io.get_executor(), "test");
  std::vector<Result<EntryId>> results;
  for (int i = 0; i < 10; ++i)
    group.spawn(append_into(session, say("m" + std::to_string(i)), results));
  test::run_ready(io);
  EXPECT_EQ(store.appends, 1);
  EXPECT_TRUE(results.empty()) << "acknowledged before it was stored";
  store.closed = false;
  store.open_gate.notify_all();
  test::run(io, group.join());
  EXPECT_EQ(store.appends, 2) << "the nine that waited share one write";
  ASSERT_EQ(results.size(), 10U);
  for (const auto& result : results) EXPECT_TRUE(result);
  const auto words = words_of(*session);
  ASSERT_EQ(words.size(), 10U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(words[std::size_t(i)], "m" + std::to_string(i));
}

TEST_F(SessionTest, EntriesOfOneAppendAreWrittenTogetherOrNotAtAll) {
  const auto session = make("user");
  const auto first = test::value_of(test::run(io, session->append(say("one"))));
  const auto appends = store.appends;
  const auto last =
      test::value_of(test::run(io, session->append({say("two"), say("three"), say("four")})));
  EXPECT_EQ(store.appends, appends + 1);
  EXPECT_EQ(session->leaf(), last);
  EXPECT_EQ(words_of(*session), (Words{"one", "two", "three", "four"}));
  EXPECT_EQ(words_on_disk(*session), words_of(*session));
  const auto before = bytes_of(*session);
  store.fail = true;
  EXPECT_FALSE(test::run(io, session->append({say("lost"), say("lost too")})));
  store.fail = false;
  EXPECT_EQ(bytes_of(*session), before);
  // Entries appended after an entry that is not the leaf also follow each other.
  test::value_of(test::run(io, session->append({say("other"), say("end")}, first)));
  EXPECT_EQ(words_of(*session), (Words{"one", "other", "end"}));
  const auto nothing = test::run(io, session->append(std::vector<Draft>()));
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Errc::invalid);
}

TEST_F(SessionTest, ATitleAndAFlagOfOneChangeAreWrittenTogetherOrNotAtAll) {
  const auto session = make("user");
  const auto before = bytes_of(*session);
  const auto appends = store.appends;
  store.fail = true;
  EXPECT_FALSE(
      test::run(io, sessions.patch(session->id(), {{"name", "A title"}, {"isFlagged", true}})));
  EXPECT_EQ(bytes_of(*session), before);
  store.fail = false;
  EXPECT_TRUE(
      test::run(io, sessions.patch(session->id(), {{"name", "A title"}, {"isFlagged", true}})));
  EXPECT_EQ(store.appends, appends + 2);
  const auto* row = sessions.find(session->id());
  ASSERT_TRUE(row);
  EXPECT_EQ(row->text("name"), "A title");
  EXPECT_TRUE(row->flag("isFlagged"));
}

TEST_F(SessionTest, AFailedAppendChangesNothingAndTheNextOneWorks) {
  const auto session = make("user");
  test::value_of(test::run(io, session->append(say("one"))));
  const auto before = bytes_of(*session);
  store.fail = true;
  const auto failed = test::run(io, session->append(say("lost")));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::no_space);
  EXPECT_EQ(bytes_of(*session), before);
  EXPECT_EQ(words_of(*session), Words{"one"});
  store.fail = false;
  test::value_of(test::run(io, session->append(say("two"))));
  EXPECT_EQ(words_of(*session), (Words{"one", "two"}));
  EXPECT_TRUE(Transcript(read_transcript(bytes_of(*session))).damage().empty());
}

TEST_F(SessionTest, EntriesAnotherProgramAppendedAreTakenIn) {
  const auto session = make("user");
  const auto mine = test::value_of(test::run(io, session->append(say("mine"))));
  auto theirs = make_entry(say("theirs"), EntryId{"feedbeef"}, mine, clock.now());
  bytes_of(*session) += entry_line(theirs);
  test::value_of(test::run(io, session->append(say("mine again"))));
  EXPECT_EQ(words_of(*session), (Words{"mine", "theirs", "mine again"}));
  EXPECT_EQ(words_on_disk(*session), words_of(*session));
  EXPECT_TRUE(Transcript(read_transcript(bytes_of(*session))).damage().empty());
}

TEST_F(SessionTest, ACancelledAppendIsStillStoredOnceAndLaterOnesWork) {
  const auto session = make("user");
  store.closed = true;
  std::vector<Result<EntryId>> results;
  {
    TaskGroup group(io.get_executor(), "test");
    group.spawn(append_into(session, say("started"), results));
    test::run_ready(io);
    group.cancel();
    test::run_ready(io);
    store.closed = false;
    store.open_gate.notify_all();
    test::run(io, group.join());
  }
  test::value_of(test::run(io, session->append(say("next"))));
  EXPECT_EQ(words_of(*session), (Words{"started", "next"}));
}

TEST_F(SessionTest, SessionsAreFoundAgainAfterARestart) {
  const auto first = make("alice");
  const auto second = make("bob");
  test::value_of(test::run(io, second->append(say("hello there"))));

  Sessions after(io.get_executor(), store, catalog, clock, random);
  ASSERT_TRUE(test::run(io, after.load()));
  EXPECT_EQ(after.size(), 2U);
  EXPECT_EQ(after.current(*Key::of_pair("reef", "alice")), first->id());
  EXPECT_EQ(after.current(*Key::of_pair("reef", "bob")), second->id());
  EXPECT_FALSE(after.current(*Key::of_pair("reef", "Alice")));
  const auto row = after.find(second->id());
  ASSERT_TRUE(row);
  EXPECT_EQ(row->message_count, 1U);
  EXPECT_EQ(row->preview, "hello there");
  EXPECT_EQ(row->agent(), "reef");
  EXPECT_EQ(row->sender(), "bob");
  test::run(io, after.stop());
}

TEST_F(SessionTest, IdsThatAreTakenGetANumber) {
  SeededRandom same(42);
  Sessions twin(io.get_executor(), store, catalog, clock, same);
  const auto first = make("a");
  const auto second = test::value_of(test::run(io, twin.create(request("b"))));
  EXPECT_EQ(second->id().text(), first->id().text() + "-2");
  test::run(io, twin.stop());
}

Task<void> open_into(Sessions& sessions, SessionId id,
                     std::vector<std::shared_ptr<Session>>& opened) {
  auto session = co_await sessions.open(std::move(id));
  if (session) opened.push_back(*session);
}

TEST_F(SessionTest, OpeningTwiceAtOnceGivesOneObject) {
  const auto id = make("user")->id();
  Sessions after(io.get_executor(), store, catalog, clock, random);
  ASSERT_TRUE(test::run(io, after.load()));
  std::vector<std::shared_ptr<Session>> opened;
  TaskGroup group(io.get_executor(), "test");
  for (int i = 0; i < 3; ++i) group.spawn(open_into(after, id, opened));
  test::run(io, group.join());
  ASSERT_EQ(opened.size(), 3U);
  EXPECT_EQ(opened[0], opened[1]);
  EXPECT_EQ(opened[0], opened[2]);
  test::run(io, after.stop());
}

TEST_F(SessionTest, AnExceptionInAnAppendIsAnErrorAndTheNextOneWorks) {
  const auto session = make("user");
  store.explode = true;
  const auto failed = test::run(io, session->append(say("lost")));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::internal);
  store.explode = false;
  test::value_of(test::run(io, session->append(say("kept"))));
  EXPECT_EQ(words_of(*session), Words{"kept"});
}

TEST_F(SessionTest, ResetBindsANewSessionAndResumeTheOldOneAgain) {
  const auto key = *Key::of_pair("reef", "user");
  const auto first = make("user");
  const auto second = make("user");
  EXPECT_EQ(sessions.current(key), second->id()) << "made in the same millisecond, later wins";
  test::value_of(test::run(io, sessions.resume(first->id(), std::nullopt)));
  EXPECT_EQ(sessions.current(key), first->id());
  // The binding is recovered from the catalog and from the transcripts alone.
  for (const bool with_catalog : {false, true}) {
    if (!with_catalog) ASSERT_TRUE(test::run(io, catalog.replace("")));
    Sessions after(io.get_executor(), store, catalog, clock, random);
    ASSERT_TRUE(test::run(io, after.load()));
    EXPECT_EQ(after.current(key), first->id());
    test::run(io, after.stop());
  }
}

TEST_F(SessionTest, RewindMovesTheLeafAndSurvivesARestart) {
  const auto session = make("user");
  const auto one = test::value_of(test::run(io, session->append(say("one"))));
  test::value_of(test::run(io, session->append(say("two"))));
  ASSERT_TRUE(test::run(io, sessions.rewind(session->id(), one)));
  EXPECT_EQ(words_of(*session), Words{"one"});
  test::value_of(test::run(io, session->append(say("other two"))));
  EXPECT_EQ(words_of(*session), (Words{"one", "other two"}));
  EXPECT_EQ(words_on_disk(*session), words_of(*session));
  const auto before = bytes_of(*session);
  EXPECT_EQ(test::run(io, sessions.rewind(session->id(), EntryId{"nope"})).error().code,
            Errc::not_found);
  EXPECT_EQ(bytes_of(*session), before);
}

TEST_F(SessionTest, AForkHasTheBranchAndNothingElse) {
  const auto session = make("user");
  const auto one = test::value_of(test::run(io, session->append(say("one"))));
  const auto two = test::value_of(test::run(io, session->append(say("two"))));
  ASSERT_TRUE(test::run(io, sessions.label(session->id(), one, "start")));
  ASSERT_TRUE(test::run(io, sessions.label(session->id(), two, "later")));
  const auto whole = test::value_of(test::run(io, sessions.fork(session->id(), std::nullopt)));
  const auto part = test::value_of(test::run(io, sessions.fork(session->id(), one)));
  const auto whole_session = test::value_of(test::run(io, sessions.open(whole)));
  const auto part_session = test::value_of(test::run(io, sessions.open(part)));
  EXPECT_EQ(words_of(*whole_session), (Words{"one", "two"}));
  EXPECT_EQ(words_of(*part_session), Words{"one"});
  const auto transcript = test::value_of(test::run(io, sessions.read(part)));
  EXPECT_TRUE(transcript.damage().empty());
  EXPECT_TRUE(transcript.find(one)) << "ids are kept";
  EXPECT_EQ(transcript.labels(), (std::map<std::string, std::string>{{one.text, "start"}}));
  EXPECT_FALSE(transcript.header().parent_session.empty());
  EXPECT_EQ(sessions.current(*Key::of_pair("reef", "user")), session->id());
}

TEST_F(SessionTest, MetadataIsAppendedAndMerged) {
  const auto session = make("user");
  const auto header = bytes_of(*session).substr(0, bytes_of(*session).find('\n'));
  ASSERT_TRUE(
      test::run(io, sessions.patch(session->id(), {{"isFlagged", true}, {"name", "Title"}})));
  ASSERT_TRUE(test::run(
      io, sessions.patch(session->id(), {{"isFlagged", nullptr}, {"permissionMode", "safe"}})));
  const auto* row = sessions.find(session->id());
  EXPECT_FALSE(row->flag("isFlagged"));
  EXPECT_EQ(row->name(), "Title");
  EXPECT_EQ(row->text("permissionMode"), "safe");
  EXPECT_EQ(bytes_of(*session).substr(0, header.size()), header);
  for (const json::object& bad :
       {json::object{{"colour", "red"}}, json::object{{"isFlagged", "yes"}},
        json::object{{"permissionMode", "wild"}}, json::object{{"labels", "a"}}, json::object{}}) {
    const auto before = bytes_of(*session);
    EXPECT_FALSE(test::run(io, sessions.patch(session->id(), bad))) << json::write(bad);
    EXPECT_EQ(bytes_of(*session), before);
  }
}

TEST_F(SessionTest, NotesAreCollectedAndWrittenAtTheEnd) {
  const auto session = make("user");
  const auto before = store.appends;
  for (int i = 0; i < 20; ++i) sessions.note(session->id(), {{"lastUsedAt", i}});
  sessions.note(session->id(), {{"hasUnread", true}});
  test::run(io, sessions.stop());
  EXPECT_EQ(store.appends, before + 1);
  const auto row = make_row(session->id(), bytes_of(*session));
  EXPECT_TRUE(row.flag("hasUnread"));
  EXPECT_EQ(json::find_int(row.meta, "lastUsedAt"), 19);
}

TEST_F(SessionTest, TheTrashGivesTheKeyBackToTheSessionBefore) {
  const auto key = *Key::of_pair("reef", "user");
  const auto first = make("user")->id();
  const auto second = make("user")->id();
  ASSERT_TRUE(test::run(io, sessions.trash(second)));
  EXPECT_EQ(sessions.current(key), first);
  EXPECT_EQ(sessions.find(second), nullptr);
  EXPECT_EQ(test::run(io, sessions.trash(second)).error().code, Errc::not_found);
  ASSERT_TRUE(test::run(io, sessions.restore(second)));
  EXPECT_EQ(sessions.current(key), second);
}

TEST_F(SessionTest, AnyStateOfTheCatalogGivesTheSameRows) {
  for (const std::string sender : {"a", "b", "c"}) {
    const auto session = make(sender);
    test::value_of(test::run(io, session->append(say("from " + sender))));
    ASSERT_TRUE(test::run(io, sessions.patch(session->id(), {{"name", "T" + sender}})));
  }
  test::run(io, sessions.stop());
  const auto rows_of = [](Sessions& all) {
    std::string out;
    Query query;
    query.sort = Query::Sort::name;
    const auto page = all.list(query);
    for (const auto* row : page->rows) out += json::write(to_json(*row)) + "\n";
    return out;
  };
  const auto expected = rows_of(sessions);
  const auto good = test::bytes_of(io, catalog);
  ASSERT_GT(good.size(), 100U);
  std::vector<std::string> states = {"", "garbage", good, good + "half a rec", good + good};
  for (std::size_t cut = 0; cut < good.size(); cut += 37) states.push_back(good.substr(0, cut));
  SeededRandom flips(9);
  for (int i = 0; i < 50; ++i) {
    auto damaged = good;
    damaged[flips.below(damaged.size())] ^= static_cast<char>(1U << flips.below(8));
    states.push_back(damaged);
  }
  for (const auto& state : states) {
    ASSERT_TRUE(test::run(io, catalog.replace(state)));
    Sessions after(io.get_executor(), store, catalog, clock, random);
    ASSERT_TRUE(test::run(io, after.load()));
    EXPECT_EQ(rows_of(after), expected);
    test::run(io, after.stop());
    // The catalog it wrote is whole again.
    const auto mended = test::value_of(read_catalog(source_of(test::bytes_of(io, catalog))));
    EXPECT_FALSE(mended.damaged);
    EXPECT_EQ(mended.rows.size(), 3U);
  }
}

TEST(Rescan, ChangesDuringARescanWin) {
  boost::asio::io_context io{1};
  FixedClock clock;
  SeededRandom random{7};
  SlowLookStore store;
  store::MemJournal catalog;
  Sessions sessions(io.get_executor(), store, catalog, clock, random);
  const auto make = [&](const std::string& sender) {
    return sessions.create(Sessions::New{*Key::of_pair("reef", sender), "reef", sender, "/x", {}});
  };
  const auto say = [](const std::string& text) {
    UserMessage message;
    message.content.push_back(TextBlock{text});
    return draft_message(message);
  };
  const auto talk = test::value_of(test::run(io, make("ann")));
  const auto gone = test::value_of(test::run(io, make("bob")))->id();
  const auto trashed = test::value_of(test::run(io, make("eve")))->id();
  test::value_of(test::run(io, talk->append(say("one"))));
  // Another program appends; while its lines are read, this one appends too and trashes a session.
  for (const auto& id : {talk->id(), trashed})
    store.real.raw().at(id) += R"({"type":"custom","id":"aa","parentId":null,"timestamp":"x"})"
                               "\n";
  store.real.raw().erase(gone);
  std::optional<SessionId> fresh;
  store.after_list = [&]() -> Task<void> { fresh = test::value_of(co_await make("new"))->id(); };
  store.after_refresh = [&]() -> Task<void> {
    EXPECT_TRUE((co_await talk->append(say("two"))).ok());
    EXPECT_TRUE((co_await sessions.trash(trashed)).ok());
  };
  ASSERT_TRUE(test::run(io, sessions.rescan()));
  EXPECT_EQ(sessions.find(gone), nullptr);
  EXPECT_EQ(sessions.find(trashed), nullptr);
  ASSERT_NE(sessions.find(*fresh), nullptr);
  ASSERT_NE(sessions.find(talk->id()), nullptr);
  EXPECT_EQ(sessions.find(talk->id())->bytes, store.real.raw().at(talk->id()).size());
  EXPECT_EQ(sessions.find(talk->id())->message_count, 2U);
  test::run(io, sessions.stop());
}

// A watch on sessions, and another program.
class WatchedSessions : public testing::Test {
 protected:
  ~WatchedSessions() override { test::run(io, sessions.stop()); }

  SessionId make(const std::string& sender) {
    return test::value_of(
               test::run(io, sessions.create(Sessions::New{
                                 *Key::of_pair("reef", sender), "reef", sender, "/x", {}})))
        ->id();
  }
  std::string line(const std::string& id) const {
    return R"({"type":"message","id":")" + id +
           R"(","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":)"
           R"({"role":"user","content":"from elsewhere"}})"
           "\n";
  }
  void append_from_outside(const SessionId& id, const std::string& bytes) {
    store.change_from_outside(id, store.raw().at(id) + bytes);
    test::run_ready(io);
  }

  boost::asio::io_context io{1};
  FixedClock clock;
  SeededRandom random{7};
  store::MemTranscripts store;
  store::MemJournal catalog;
  std::vector<std::string> told;  // of changes
  Sessions sessions{io.get_executor(),
                    store,
                    catalog,
                    clock,
                    random,
                    Sessions::Needs{.on_change = [this](const SessionId& changed, bool rewritten) {
                      told.push_back(changed.text() + (rewritten ? " rewritten" : ""));
                    }}};
};

TEST_F(WatchedSessions, WhatAnotherProgramWritesChangesTheRowAndIsTold) {
  const auto id = make("ann");
  ASSERT_TRUE(sessions.watch());
  test::run_ready(io);
  told.clear();
  const auto version = sessions.changes().version();
  append_from_outside(id, line("f1"));
  EXPECT_EQ(sessions.find(id)->message_count, 1U);
  EXPECT_EQ(sessions.find(id)->bytes, store.raw().at(id).size());
  EXPECT_EQ(told, std::vector<std::string>{id.text()});
  EXPECT_GT(sessions.changes().version_of(id.text()), version);
  // It goes on from there.
  const auto session = test::value_of(test::run(io, sessions.open(id)));
  UserMessage message;
  message.content.push_back(TextBlock{"mine"});
  ASSERT_TRUE(test::run(io, session->append(draft_message(message))));
  EXPECT_EQ(sessions.find(id)->message_count, 2U);
}

TEST_F(WatchedSessions, OthersBringSessionsAndTakeThemAway) {
  const auto id = make("ann");
  const auto fresh = *SessionId::parse("261116-fresh");
  ASSERT_TRUE(sessions.watch());
  const auto bytes = header_line(Header{}) + line("f1");
  store.change_from_outside(fresh, bytes);
  test::run_ready(io);
  ASSERT_NE(sessions.find(fresh), nullptr);
  EXPECT_EQ(sessions.find(fresh)->preview, "from elsewhere");
  store.change_from_outside(fresh, std::nullopt);
  test::run_ready(io);
  EXPECT_EQ(sessions.find(fresh), nullptr);
  EXPECT_NE(sessions.find(id), nullptr);
}

TEST_F(WatchedSessions, ASessionInUseIsNotDroppedUnderItsUser) {
  const auto id = make("ann");
  ASSERT_TRUE(sessions.watch());
  test::run_ready(io);
  {
    const auto used = test::value_of(test::run(io, sessions.open(id)));
    store.change_from_outside(id, std::nullopt);
    test::run_ready(io);
    EXPECT_NE(sessions.find(id), nullptr);
  }
  test::run(io, sessions.update(id));
  EXPECT_EQ(sessions.find(id), nullptr);
}

TEST_F(WatchedSessions, ALineThatIsBeingWrittenIsWaitedFor) {
  const auto id = make("ann");
  ASSERT_TRUE(sessions.watch());
  test::run_ready(io);
  const auto before = sessions.find(id)->bytes;
  const auto whole = line("f1");
  append_from_outside(id, whole.substr(0, 30));
  EXPECT_EQ(sessions.find(id)->bytes, before);
  EXPECT_TRUE(store.raw().at(id).ends_with(whole.substr(0, 30))) << "nobody cut it off";
  append_from_outside(id, whole.substr(30));
  EXPECT_EQ(sessions.find(id)->message_count, 1U);
  // An emptied file is one that is about to be written.
  store.change_from_outside(id, "");
  test::run_ready(io);
  ASSERT_NE(sessions.find(id), nullptr);
  EXPECT_EQ(sessions.find(id)->message_count, 1U);
}

TEST_F(WatchedSessions, OwnChangesMakeNoWork) {
  class Counting final : public test::WrappedTranscripts {
   public:
    Task<std::vector<Result<Row>>> refresh(std::vector<Refresh> requests) override {
      ++refreshes;
      return real.refresh(std::move(requests));
    }
    int refreshes = 0;
  } counting;
  store::MemJournal journal;
  Sessions own(io.get_executor(), counting, journal, clock, random);
  ASSERT_TRUE(test::run(io, own.load()));
  ASSERT_TRUE(own.watch());
  const auto made = test::value_of(test::run(
      io, own.create(Sessions::New{*Key::of_pair("reef", "ann"), "reef", "ann", "/x", {}})));
  UserMessage message;
  message.content.push_back(TextBlock{"mine"});
  ASSERT_TRUE(test::run(io, made->append(draft_message(message))));
  // Told what is known already.
  counting.real.change_from_outside(made->id(), counting.real.raw().at(made->id()));
  test::run_ready(io);
  EXPECT_EQ(counting.refreshes, 0);
  test::run(io, own.stop());
}

}  // namespace
}  // namespace reef::session
