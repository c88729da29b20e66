#include "bus/bus.h"

#include <cerrno>
#include <filesystem>

#include <gtest/gtest.h>

#include "bus/done_hook.h"
#include "model/scripted/scripted.h"
#include "store/fs/fs_documents.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::bus {
namespace {

class BusTest : public testing::Test {
 protected:
  BusTest() { configure(R"({"replies":[{"text":"hello"}]})"); }
  ~BusTest() override {
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
    test::run(io, bus.stop());
    test::run(io, sessions.stop());
  }

  void configure(const std::string& script) {
    auto setup = std::make_shared<runtime::Setup>();
    setup->providers.add("s",
                         std::make_shared<model::ScriptedProvider>(*model::parse_script(script)));
    for (const auto* name : {"reef", "scout", "writer"}) {
      runtime::Agent agent;
      agent.name = name;
      agent.model = "s/x";
      setup->agents[name] = agent;
    }
    runtime.configure(std::move(setup));
  }
  Subscription subscribe(const std::string& source, const std::string& agent, bool once = false) {
    return test::value_of(test::run(io, bus.subscribe(source, agent, once)));
  }
  void settle() { test::run(io, wait_until_idle()); }
  Task<void> wait_until_idle() {
    while (runtime.active() > 0) co_await yield_to_loop();
  }
  // The messages of a conversation as "role:text;".
  std::string said(const std::string& agent, const std::string& sender) {
    const auto id = sessions.current(*session::Key::of_pair(agent, sender));
    if (!id) return "(nothing)";
    std::string out;
    const session::Transcript transcript(session::read_transcript(store.raw().at(*id)));
    for (const auto& entry : transcript.entries())
      if (const auto message = session::message_of(entry))
        out += std::string(session::role_of(*message)) + ":" + session::text_of(*message) + ";";
    return out;
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  PosixFiles files;
  Pool pool{2};
  test::TempDir dir;
  store::MemTranscripts store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  runtime::Runtime runtime{io.get_executor(), sessions, clock};
  store::FsDocuments documents{files, dir.path()};
  Bus bus{io.get_executor(), documents, pool, runtime};
};

TEST_F(BusTest, AnEventStartsTheSubscribedAgentsOnly) {
  subscribe("rss:fetched", "scout");
  subscribe("rss:*", "writer");
  subscribe("other", "reef");
  EXPECT_TRUE(bus.publish({"rss:fetched", "three entries"}));
  settle();
  EXPECT_EQ(said("scout", "event:rss:fetched"), "user:three entries;assistant:hello;");
  EXPECT_EQ(said("writer", "event:rss:fetched"), "user:three entries;assistant:hello;");
  EXPECT_EQ(said("reef", "event:rss:fetched"), "(nothing)");
  EXPECT_EQ(bus.published(), 1U);
  EXPECT_EQ(bus.list()[0].delivered, 1U);
  EXPECT_TRUE(bus.publish({"nobody:cares", ""}));
  EXPECT_EQ(bus.dropped(), 0U);
}

TEST_F(BusTest, OnceIsOnceAndTheSubscriptionIsGoneFromTheFile) {
  subscribe("a", "scout", true);
  EXPECT_TRUE(bus.publish({"a", "one"}));
  EXPECT_TRUE(bus.publish({"a", "two"}));
  settle();
  test::run(io, bus.stop());
  EXPECT_EQ(said("scout", "event:a"), "user:one;assistant:hello;");
  EXPECT_TRUE(bus.list().empty());
  EXPECT_EQ(test::read_file(dir / "events/subscriptions.toml").find("[[subscription]]"),
            std::string::npos);
}

TEST_F(BusTest, SubscriptionsSurviveAndIdsAreNotGivenTwice) {
  EXPECT_EQ(subscribe("a", "scout").id, 1U);
  EXPECT_EQ(subscribe("b", "writer", true).id, 2U);
  EXPECT_EQ(subscribe("a", "scout").id, 1U) << "the same again is the one there is";
  EXPECT_TRUE(test::run(io, bus.unsubscribe(2)));
  EXPECT_EQ(test::run(io, bus.unsubscribe(2)).error().code, Errc::not_found);
  Bus later{io.get_executor(), documents, pool, runtime};
  ASSERT_TRUE(test::run(io, later.load()));
  ASSERT_EQ(later.list().size(), 1U);
  EXPECT_EQ(later.list()[0].source, "a");
  EXPECT_EQ(test::value_of(test::run(io, later.subscribe("c", "reef", false))).id, 3U);
}

TEST_F(BusTest, U5_WhicheverCallFailsTheFileIsTheOldOneOrTheNewOne) {
  const auto file = dir / "events/subscriptions.toml";
  subscribe("a", "scout");
  const auto before = test::read_file(file);
  int failures = 0;
  for (int nth = 1;; ++nth) {
    test::write_file(file, before);
    test::FaultyFiles faulty;
    store::FsDocuments failing{faulty, dir.path()};
    Bus fragile{io.get_executor(), failing, pool, runtime};
    ASSERT_TRUE(test::run(io, fragile.load()));
    faulty.fail_at(nth, ENOSPC);
    const auto made = test::run(io, fragile.subscribe("b", "writer", false));
    if (!faulty.hit()) break;
    const auto now = test::value_of(parse_subscriptions(test::read_file(file), "f"));
    EXPECT_TRUE(now.list.size() == 1 || now.list.size() == 2) << nth;
    if (made) {
      EXPECT_EQ(now.list.size(), 2U) << nth << ": what is acknowledged is kept";
      continue;
    }
    ++failures;
    EXPECT_NE(made.error().what.find("could not be saved"), std::string::npos) << nth;
    EXPECT_NE(made.error().what.find("No space"), std::string::npos) << made.error().what;
    EXPECT_EQ(fragile.list().size(), 1U) << nth;
  }
  EXPECT_GT(failures, 2);
}

TEST_F(BusTest, TheSameSubscriptionTwiceAtOnceIsAcknowledgedOnlyWhenItIsKept) {
  test::FaultyFiles faulty;
  store::FsDocuments failing{faulty, dir.path()};
  Bus fragile{io.get_executor(), failing, pool, runtime};
  std::vector<Result<Subscription>> made;
  const auto ask = [](Bus& at, std::vector<Result<Subscription>>& into) -> Task<void> {
    co_await yield_to_loop();
    into.push_back(co_await at.subscribe("a", "scout", false));
  };
  const auto both = [](auto loop, auto& at, auto& into, auto one) -> Task<void> {
    TaskGroup group(loop, "both");
    group.spawn(one(at, into));
    group.spawn(one(at, into));
    co_await group.join();
  };
  faulty.fail_at(1, ENOSPC, true);
  test::run(io, both(io.get_executor(), fragile, made, ask));
  ASSERT_EQ(made.size(), 2U);
  EXPECT_FALSE(made[0]);
  EXPECT_FALSE(made[1]) << "the first was not kept, so neither was the second";
  EXPECT_TRUE(fragile.list().empty());
  faulty.heal();
  made.clear();
  test::run(io, both(io.get_executor(), fragile, made, ask));
  EXPECT_EQ(test::value_of(made[0]).id, test::value_of(made[1]).id);
  EXPECT_EQ(fragile.list().size(), 1U);
}

TEST_F(BusTest, U5_ADiskThatStaysFullKeepsTheOldSubscriptions) {
  const auto file = dir / "events/subscriptions.toml";
  subscribe("a", "scout");
  subscribe("once", "scout", true);
  const auto before = test::read_file(file);
  for (int nth = 1;; ++nth) {
    test::write_file(file, before);
    test::FaultyFiles faulty;
    store::FsDocuments failing{faulty, dir.path()};
    Bus fragile{io.get_executor(), failing, pool, runtime};
    ASSERT_TRUE(test::run(io, fragile.load()));
    faulty.fail_at(nth, ENOSPC, true);
    const auto gone = test::run(io, fragile.unsubscribe(1));
    const auto renamed = test::run(io, fragile.rename_agent("scout", "writer"));
    if (!faulty.hit()) break;
    const auto kept = test::value_of(parse_subscriptions(test::read_file(file), "f"));
    EXPECT_EQ(fragile.list().size(), gone ? 1U : 2U) << nth;
    if (gone) EXPECT_EQ(kept.list.size(), 1U) << nth;
    if (!renamed)
      for (const auto& one : fragile.list()) EXPECT_EQ(one.target_agent, "scout") << nth;
    // A failing disk does not stop the delivery; a subscription for one event may then fire twice.
    EXPECT_TRUE(fragile.publish({"once", "x"}));
    settle();
    test::run(io, fragile.stop());
  }
}

TEST_F(BusTest, ABrokenFileIsReportedAndNeverWrittenOver) {
  std::filesystem::create_directories(dir / "events");
  test::write_file(dir / "events/subscriptions.toml", "[[subscription\n");
  EXPECT_FALSE(test::run(io, bus.load()));
  EXPECT_EQ(test::run(io, bus.subscribe("a", "scout", false)).error().code, Errc::conflict);
  EXPECT_EQ(test::read_file(dir / "events/subscriptions.toml"), "[[subscription\n");
}

TEST_F(BusTest, HandEditsAreTakenAtAReloadAndNeverWrittenOver) {
  const auto first = subscribe("rss:one", "scout");
  const auto second = subscribe("rss:two", "scout");
  const auto path = dir / "events/subscriptions.toml";
  const auto read = [&] { return test::value_of(read_all(files, path)); };
  // A person edits the file: removes the first, gives the second another agent, adds one without
  // an id.
  auto text = read();
  const auto edit = [&](const std::string& was, const std::string& is) {
    const auto at = text.find(was);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, was.size(), is);
  };
  const auto write = [&] { ASSERT_TRUE(replace_atomically(files, path, text)); };
  const auto sources = [&](Bus& of) {
    std::string out;
    for (const auto& one : of.list()) out += one.source + ">" + one.target_agent + ";";
    return out;
  };
  text = fmt::format(
      "last_id = 2\n[[subscription]]\nid = {}\nsource = \"rss:two\"\ntarget_agent = \"writer\"\n"
      "[[subscription]]\nsource = \"rss:three\"\ntarget_agent = \"scout\"\n",
      second.id);
  write();
  ASSERT_TRUE(test::run(io, bus.load()));
  EXPECT_EQ(sources(bus), "rss:two>writer;rss:three>scout;");
  EXPECT_EQ(bus.list()[1].id, 3U);
  // Without a reload, a change made here takes the edit along instead of writing over it.
  text = read();
  edit("rss:three", "rss:four");
  write();
  const auto mine = subscribe("rss:five", "reef");
  EXPECT_EQ(sources(bus), "rss:two>writer;rss:four>scout;rss:five>reef;");
  Bus again(io.get_executor(), documents, pool, runtime);
  ASSERT_TRUE(test::run(io, again.load()));
  EXPECT_EQ(sources(again), sources(bus));
  // First an edit that took the id the bus would give next, then one that broke the file.
  text =
      read() +
      fmt::format("\n[[subscription]]\nid = {}\nsource = \"rss:six\"\ntarget_agent = \"scout\"\n",
                  mine.id + 1);
  write();
  EXPECT_EQ(subscribe("rss:seven", "reef").id, mine.id + 1);
  EXPECT_EQ(sources(bus),
            "rss:two>writer;rss:four>scout;rss:five>reef;rss:six>scout;rss:seven>reef;");
  text = read() + "[[subscription\n";
  write();
  const auto refused = test::run(io, bus.subscribe("rss:eight", "reef", false));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict);
  EXPECT_EQ(read(), text) << "it is as somebody left it";
  EXPECT_FALSE(test::run(io, bus.load()));
  EXPECT_EQ(bus.list().size(), 5U) << "what was in force stays";
  static_cast<void>(first);
}

TEST_F(BusTest, NonsenseIsRefused) {
  EXPECT_EQ(test::run(io, bus.subscribe("a", "nobody", false)).error().code, Errc::not_found);
  EXPECT_EQ(test::run(io, bus.subscribe("a:", "scout", false)).error().code, Errc::invalid);
  EXPECT_EQ(bus.publish({"a:*", ""}).error().code, Errc::invalid);
  Limits limits;
  limits.payload_bytes_max = 10;
  bus.configure(limits);
  EXPECT_EQ(bus.publish({"a", std::string(11, 'x')}).error().code, Errc::too_large);
  EXPECT_TRUE(bus.publish({"a", std::string(10, 'x')}));
}

TEST_F(BusTest, EndsOfTurnsAreEventsWithTheLastWords) {
  runtime.hooks().add(std::make_shared<DoneHook>(bus));
  configure(R"({"replies":[{"text":"found it"}]})");
  subscribe("agent:scout:done", "writer");
  ASSERT_TRUE(runtime.submit({"scout", "user", "look", ""}));
  settle();
  EXPECT_EQ(said("writer", "event:agent:scout:done"), "user:found it;assistant:found it;");
}

TEST_F(BusTest, ATurnThatFailsIsAnotherEvent) {
  runtime.hooks().add(std::make_shared<DoneHook>(bus));
  subscribe("agent:scout:done", "writer");
  subscribe("agent:scout:failed", "reef");
  configure(R"({"replies":[{"fail":"auth","message":"bad key"}]})");
  ASSERT_TRUE(runtime.submit({"scout", "user", "look", ""}));
  settle();
  EXPECT_EQ(said("writer", "event:agent:scout:done"), "(nothing)");
  EXPECT_NE(said("reef", "event:agent:scout:failed").find("bad key"), std::string::npos);
}

TEST_F(BusTest, C15_AnAgentSubscribedToItselfIsStoppedAtTheDepth) {
  runtime.hooks().add(std::make_shared<DoneHook>(bus));
  subscribe("agent:scout:done", "scout");
  ASSERT_TRUE(runtime.submit({"scout", "user", "go", ""}));
  settle();
  EXPECT_EQ(bus.list()[0].delivered, 8U);
  EXPECT_EQ(bus.dropped(), 1U);
}

TEST_F(BusTest, C15_TwoAgentsThatStartEachOtherAreStoppedToo) {
  runtime.hooks().add(std::make_shared<DoneHook>(bus));
  Limits limits;
  limits.depth_max = 3;
  bus.configure(limits);
  subscribe("agent:scout:done", "writer");
  subscribe("agent:writer:done", "scout");
  ASSERT_TRUE(runtime.submit({"scout", "user", "go", ""}));
  settle();
  EXPECT_EQ(bus.list()[0].delivered + bus.list()[1].delivered, 3U);
  EXPECT_EQ(bus.dropped(), 1U);
}

TEST_F(BusTest, OneEventStartsSoManyAndNoMore) {
  Limits limits;
  limits.fan_out_max = 2;
  bus.configure(limits);
  for (const auto* agent : {"reef", "scout", "writer"}) subscribe("a", agent);
  EXPECT_TRUE(bus.publish({"a", "x"}));
  EXPECT_EQ(bus.dropped(), 1U);
  EXPECT_EQ(bus.list()[2].dropped, 1U);
  settle();
  EXPECT_EQ(said("writer", "event:a"), "(nothing)");
}

TEST_F(BusTest, TurnsThatEventsStartedAreBounded) {
  configure(R"({"replies":[{"text":"so","hang":true}]})");
  Limits limits;
  limits.turns_max = 2;
  bus.configure(limits);
  subscribe("a", "scout");
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(bus.publish({"a", "x"}));
  EXPECT_EQ(bus.dropped(), 2U);
}

TEST_F(BusTest, ADroppedOnceIsStillThere) {
  Limits limits;
  limits.turns_max = 0;
  bus.configure(limits);
  subscribe("a", "scout", true);
  EXPECT_TRUE(bus.publish({"a", "x"}));
  EXPECT_EQ(bus.list().size(), 1U);
  EXPECT_EQ(bus.dropped(), 1U);
}

}  // namespace
}  // namespace reef::bus
