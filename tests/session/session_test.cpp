#include "session/session.h"

#include <gtest/gtest.h>

#include "base/notify.h"
#include "base/task_group.h"
#include "store/mem/mem_store.h"
#include "support/run.h"

namespace reef::session {
namespace {

class FixedClock final : public Clock {
 public:
  TimePoint now() const override { return time; }
  TimePoint time{std::chrono::milliseconds(1794779830302)};
};

// A store whose appends wait until told to go on, and can be told to fail.
class GatedStore final : public Store {
 public:
  explicit GatedStore(Executor loop) : open_gate(std::move(loop)) {}

  Task<Result<std::vector<SessionId>>> list() override { co_return co_await real.list(); }
  Task<Status> create(SessionId id, std::string bytes) override {
    co_return co_await real.create(std::move(id), std::move(bytes));
  }
  Task<Result<std::string>> read(SessionId id) override { co_return co_await real.read(id); }
  Task<Result<std::string>> open(SessionId id) override { co_return co_await real.open(id); }
  Task<Status> append(SessionId id, std::uint64_t at, std::string bytes) override {
    ++appends;
    while (closed) co_await open_gate.wait();
    if (fail) co_return Error(Errc::no_space, "disk full");
    co_return co_await real.append(std::move(id), at, std::move(bytes));
  }

  store::MemStore real;
  bool closed = false;
  bool fail = false;
  int appends = 0;
  Notify open_gate;
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() : store(io.get_executor()), sessions(io.get_executor(), store, clock, random) {}

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
  std::string& bytes_of(const Session& session) { return store.real.raw().at(session.id()); }

  boost::asio::io_context io{1};
  FixedClock clock;
  SeededRandom random{42};
  GatedStore store;
  Sessions sessions;
};

TEST_F(SessionTest, AppendsFormAChainThatReadsBack) {
  const auto session = make("user");
  for (const std::string text : {"one", "two", "three"})
    test::value_of(test::run(io, session->append(say(text))));
  const Transcript again(read_transcript(bytes_of(*session)));
  EXPECT_TRUE(again.damage().empty());
  ASSERT_EQ(build_context(again).size(), 3U);
  EXPECT_EQ(text_of(build_context(again)[2]), "three");
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
  const auto context = build_context(session->transcript());
  ASSERT_EQ(context.size(), 10U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(text_of(context[std::size_t(i)]), "m" + std::to_string(i));
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
  EXPECT_EQ(build_context(session->transcript()).size(), 1U);
  store.fail = false;
  test::value_of(test::run(io, session->append(say("two"))));
  EXPECT_EQ(text_of(build_context(session->transcript()).back()), "two");
  EXPECT_TRUE(Transcript(read_transcript(bytes_of(*session))).damage().empty());
}

TEST_F(SessionTest, WhatAnotherProgramAppendedIsTakenIn) {
  const auto session = make("user");
  const auto mine = test::value_of(test::run(io, session->append(say("mine"))));
  auto theirs = make_entry(say("theirs"), EntryId{"feedbeef"}, mine, clock.now());
  bytes_of(*session) += entry_line(theirs);
  test::value_of(test::run(io, session->append(say("mine again"))));
  const auto context = build_context(session->transcript());
  ASSERT_EQ(context.size(), 3U);
  EXPECT_EQ(text_of(context[1]), "theirs");
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
  const auto context = build_context(session->transcript());
  ASSERT_EQ(context.size(), 2U);
  EXPECT_EQ(text_of(context[0]), "started");
}

TEST_F(SessionTest, SessionsAreFoundAgainAfterARestart) {
  const auto first = make("alice");
  const auto second = make("bob");
  test::value_of(test::run(io, second->append(say("hello there"))));

  Sessions after(io.get_executor(), store, clock, random);
  ASSERT_TRUE(test::run(io, after.load()));
  EXPECT_EQ(after.size(), 2U);
  EXPECT_EQ(after.current(*Key::of_pair("reef", "alice")), first->id());
  EXPECT_EQ(after.current(*Key::of_pair("reef", "bob")), second->id());
  EXPECT_FALSE(after.current(*Key::of_pair("reef", "Alice")));
  const auto row = after.find(second->id());
  ASSERT_TRUE(row);
  EXPECT_EQ(row->message_count, 1U);
  EXPECT_EQ(row->preview, "hello there");
  EXPECT_EQ(row->agent, "reef");
  EXPECT_EQ(row->sender, "bob");
}

TEST_F(SessionTest, IdsThatAreTakenGetANumber) {
  SeededRandom same(42);
  Sessions twin(io.get_executor(), store, clock, same);
  const auto first = make("a");
  const auto second = test::value_of(test::run(io, twin.create(request("b"))));
  EXPECT_EQ(second->id().text(), first->id().text() + "-2");
}

Task<void> open_into(Sessions& sessions, SessionId id,
                     std::vector<std::shared_ptr<Session>>& opened) {
  auto session = co_await sessions.open(std::move(id));
  if (session) opened.push_back(*session);
}

TEST_F(SessionTest, OpeningTwiceAtOnceGivesOneObject) {
  const auto id = make("user")->id();
  Sessions after(io.get_executor(), store, clock, random);
  ASSERT_TRUE(test::run(io, after.load()));
  std::vector<std::shared_ptr<Session>> opened;
  TaskGroup group(io.get_executor(), "test");
  for (int i = 0; i < 3; ++i) group.spawn(open_into(after, id, opened));
  test::run(io, group.join());
  ASSERT_EQ(opened.size(), 3U);
  EXPECT_EQ(opened[0], opened[1]);
  EXPECT_EQ(opened[0], opened[2]);
}

}  // namespace
}  // namespace reef::session
