// Agents as files: after every kind of change, and after a disk failure in the middle of one, the
// files and the running configuration must agree.
#include "daemon/agent_changes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "daemon/config.h"
#include "local/local.h"
#include "store/fs/fs_documents.h"
#include "store/mem/mem_journal.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"
#include "support/wrapped_transcripts.h"

namespace reef::daemon {
namespace {

using test::read_file;

class FullStore final : public test::WrappedTranscripts {
 public:
  Task<Status> append(session::SessionId id, std::uint64_t at, std::string bytes) override {
    if (full) co_return Error(Errc::io, "no room");
    co_return co_await real.append(std::move(id), at, std::move(bytes));
  }
  bool full = false;
};

class AgentChangesTest : public testing::Test {
 protected:
  AgentChangesTest() { EXPECT_TRUE(test::run(io, load())); }
  ~AgentChangesTest() override {
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
    test::run(io, bus.stop());
    test::run(io, sessions.stop());
  }

  Task<Status> load() {
    if (!reload_outcome) co_return reload_outcome;
    auto setup = std::make_shared<runtime::Setup>();
    setup->default_agent = default_agent;
    setup->providers.add("local", std::make_shared<local::LocalProvider>());
    setup->agents = load_agents(AgentFiles{real_documents}, "local").agents;
    if (!setup->agents.contains(default_agent))
      co_return Error(Errc::conflict, "the default agent would be gone");
    runtime.configure(std::move(setup));
    co_return Ok{};
  }
  Task<Status> rename_in_config(std::string from, std::string to) {
    if (default_agent == from) default_agent = std::move(to);
    co_return co_await load();
  }
  // Every subscription as "source agent;"; the bus and its file must agree.
  std::string subscribed() {
    std::string now, kept;
    for (const auto& one : bus.list()) now += one.source + " " + one.target_agent + ";";
    if (!test::exists(folder / "events/subscriptions.toml")) return now;
    const auto text = read_file(folder / "events/subscriptions.toml");
    for (const auto& one : test::value_of(bus::parse_subscriptions(text, "f")).list)
      kept += one.source + " " + one.target_agent + ";";
    EXPECT_EQ(now, kept);
    return kept;
  }
  void subscribe(const std::string& source, const std::string& who) {
    ASSERT_TRUE(test::run(io, bus.subscribe(source, who, false)));
  }
  Status create(const std::string& name, const std::string& config = "",
                const std::string& prompt = "") {
    return test::run(io, changes.create(name, config, prompt));
  }
  Status update(const std::string& name, const std::string& config,
                const std::string& prompt = "") {
    return test::run(io, changes.update(name, config, prompt));
  }
  Status rename(const std::string& from, const std::string& to) {
    return test::run(io, changes.rename(from, to));
  }
  Status remove(const std::string& name) { return test::run(io, changes.remove(name)); }
  const runtime::Agent* agent(const std::string& name) {
    const auto& all = runtime.setup().agents;
    const auto found = all.find(name);
    return found == all.end() ? nullptr : &found->second;
  }
  std::string file(const std::string& name) {
    return test::exists(folder / ("agents/" + name)) ? read_file(folder / ("agents/" + name))
                                                     : "(none)";
  }
  session::SessionId talk(const std::string& who, const std::string& sender) {
    session::Sessions::New request{
        test::value_of(session::Key::of_pair(who, sender)), who, sender, "", {}};
    return test::value_of(test::run(io, sessions.create(std::move(request))))->id();
  }

  test::TempDir folder;
  PosixFiles real;
  store::FsDocuments real_documents{real, folder.path()};
  test::FaultyFiles files;
  store::FsDocuments documents{files, folder.path()};
  boost::asio::io_context io{1};
  Pool pool{2};
  SystemClock clock;
  SeededRandom random{1};
  FullStore store;
  store::MemJournal catalog;
  session::Sessions sessions{
      io.get_executor(),
      store,
      catalog,
      clock,
      random,
      session::Sessions::Needs{.name_now = [this](const std::string& who, TimePoint then) {
        return changes.name_now(who, then);
      }}};
  memory::Memories memories{io.get_executor(), real_documents, pool, clock};
  runtime::Runtime runtime{io.get_executor(), sessions, clock};
  bus::Bus bus{io.get_executor(), documents, pool, runtime};
  std::string default_agent = "reef";
  Status reload_outcome = Ok{};
  AgentChanges changes{AgentNeeds{AgentFiles{documents}, pool, runtime, sessions, memories,
                                  [this] { return load(); }, bus,
                                  [this](std::string from, std::string to) {
                                    return rename_in_config(std::move(from), std::move(to));
                                  },
                                  clock}};
};

TEST_F(AgentChangesTest, AnAgentIsMadeChangedAndRemoved) {
  ASSERT_TRUE(create("scout", R"({"description":"Looks","tools":["recall"]})", "You look."));
  EXPECT_EQ(file("scout.toml"), "description = \"Looks\"\ntools = [\"recall\"]\n");
  EXPECT_EQ(file("scout.md"), "You look.");
  EXPECT_EQ(agent("scout")->prompt, "You look.");
  EXPECT_EQ(create("scout").error().code, Errc::conflict);

  ASSERT_TRUE(update("scout", "max_iterations = 3"));
  EXPECT_EQ(agent("scout")->steps_max, 3);
  EXPECT_EQ(agent("scout")->prompt, "You look.") << "an empty prompt keeps the old one";
  ASSERT_TRUE(update("scout", R"({"description":null})", "Look well."));
  EXPECT_EQ(agent("scout")->description, "");
  EXPECT_EQ(file("scout.md"), "Look well.");
  ASSERT_TRUE(update("scout", R"({"prompt":null})"));
  EXPECT_EQ(file("scout.md"), "(none)");
  EXPECT_EQ(update("scout", "").error().what, "the update changes nothing");

  ASSERT_TRUE(remove("scout"));
  EXPECT_FALSE(agent("scout"));
  EXPECT_EQ(file("scout.toml"), "(none)");
  EXPECT_EQ(file("removed/scout.toml"), "tools = [\"recall\"]\nmax_iterations = 3\n");
  EXPECT_EQ(remove("scout").error().code, Errc::not_found);
}

TEST_F(AgentChangesTest, HostileNamesNeverReachTheDisk) {
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("../evil"), std::string("a/b"),
        std::string("a\0b", 3), std::string(10'240, 'x')}) {
    const auto before = files.calls();
    EXPECT_EQ(create(name).error().code, Errc::invalid) << name;
    EXPECT_EQ(update(name, "model = \"local\"").error().code, Errc::invalid) << name;
    EXPECT_EQ(remove(name).error().code, Errc::invalid) << name;
    EXPECT_EQ(rename("reef", name).error().code, Errc::invalid) << name;
    EXPECT_FALSE(rename(name, "x")) << name;
    EXPECT_EQ(files.calls(), before) << name;
  }
  EXPECT_FALSE(test::exists(folder / "evil.toml"));
}

TEST_F(AgentChangesTest, ImpossibleChangesAreRefusedBeforeAnyWrite) {
  EXPECT_EQ(create("scout", "", std::string(10U << 20, 'x')).error().code, Errc::too_large);
  EXPECT_EQ(create("scout", "", "\xff").error().code, Errc::invalid);
  EXPECT_EQ(create("scout", "model = [").error().code, Errc::invalid);
  EXPECT_EQ(create("scout", R"({"colour":1})").error().what, "unknown field 'colour'");
  EXPECT_EQ(create("scout", R"({"model":"gpt-typo"})").error().code, Errc::invalid);
  EXPECT_EQ(file("scout.toml"), "(none)");
  EXPECT_EQ(file("scout.md"), "(none)");
}

TEST_F(AgentChangesTest, AFileBrokenByHandIsInTheWayAndCanBeRemoved) {
  ASSERT_TRUE(create("scout"));
  test::write_file(folder / "agents/scout.toml", "model = \n");
  ASSERT_TRUE(test::run(io, load()));
  EXPECT_FALSE(agent("scout"));
  EXPECT_EQ(create("scout").error().code, Errc::conflict);
  EXPECT_NE(update("scout", "model = \"local\"").error().what.find("scout.toml:1"),
            std::string::npos);
  EXPECT_EQ(file("scout.toml"), "model = \n");
  EXPECT_TRUE(remove("scout"));
}

TEST_F(AgentChangesTest, TheBuiltInAgentGetsAFileAndLosesItAgain) {
  EXPECT_EQ(remove("reef").error().code, Errc::denied);
  EXPECT_EQ(rename("reef", "x").error().code, Errc::denied);
  EXPECT_EQ(create("reef").error().code, Errc::conflict);
  ASSERT_TRUE(update("reef", "max_iterations = 5"));
  EXPECT_EQ(agent("reef")->steps_max, 5);
  ASSERT_TRUE(remove("reef"));
  EXPECT_EQ(agent("reef")->steps_max, 16);
}

TEST_F(AgentChangesTest, TheDefaultAgentStays) {
  ASSERT_TRUE(create("scout"));
  default_agent = "scout";
  ASSERT_TRUE(test::run(io, load()));
  EXPECT_EQ(remove("scout").error().code, Errc::conflict);
  EXPECT_EQ(file("scout.toml"), "");
}

TEST_F(AgentChangesTest, AReloadThatFailsPutsTheFilesBack) {
  ASSERT_TRUE(create("scout", "max_iterations = 1", "old"));
  reload_outcome = Error(Errc::invalid, "no");
  EXPECT_FALSE(update("scout", "max_iterations = 2", "new"));
  EXPECT_EQ(file("scout.toml"), "max_iterations = 1\n");
  EXPECT_EQ(file("scout.md"), "old");
  EXPECT_FALSE(create("other", "", "words"));
  EXPECT_EQ(file("other.toml"), "(none)");
  EXPECT_EQ(file("other.md"), "(none)");
}

// CrabTalk wrote the settings before the prompt, without a lock: a crash or a full disk left one
// agent's words with another's settings.
TEST_F(AgentChangesTest, C11_ADiskThatFailsAnywhereLeavesTheOldAgentOrTheNew) {
  ASSERT_TRUE(create("scout", "max_iterations = 1", "old"));
  for (const int number : {EIO, ENOSPC}) {
    for (int nth = 1;; ++nth) {
      files.fail_at(nth, number);
      const auto done = update("scout", "max_iterations = 2", "new");
      const bool hit = files.hit();
      files.heal();
      if (done) {
        EXPECT_EQ(file("scout.toml"), "max_iterations = 2\n");
        EXPECT_EQ(file("scout.md"), "new");
      } else {
        EXPECT_EQ(file("scout.toml"), "max_iterations = 1\n") << nth;
        EXPECT_EQ(file("scout.md"), "old") << nth;
        EXPECT_EQ(agent("scout")->prompt, "old") << nth;
      }
      ASSERT_LT(nth, 200);
      if (!hit) break;
      ASSERT_TRUE(!done || update("scout", "max_iterations = 1", "old")) << nth;
    }
    ASSERT_TRUE(update("scout", "max_iterations = 1", "old"));
  }
}

TEST_F(AgentChangesTest, C11_ThePromptIsThereBeforeTheConfiguration) {
  // Every write fails from some call on, as in a crash. There must never be a configuration without
  // its prompt.
  for (int nth = 1; nth < 60; ++nth) {
    const auto name = fmt::format("a{}", nth);
    files.fail_at(nth, EIO, true);
    static_cast<void>(create(name, "max_iterations = 2", "words").ok());
    files.heal();
    if (file(name + ".toml") != "(none)") EXPECT_EQ(file(name + ".md"), "words") << nth;
  }
}

// CrabTalk found sessions by the agent's name: a rename left them all behind.
TEST_F(AgentChangesTest, C10_HistoryFollowsAnAgentsNewName) {
  ASSERT_TRUE(create("scout", "max_iterations = 2", "words"));
  default_agent = "scout";
  ASSERT_TRUE(test::run(io, load()));
  const auto old_session = talk("scout", "user");
  const auto current = talk("scout", "user");
  const auto other = talk("scout", "tg:7");
  const auto bystander = talk("reef", "user");
  const auto leftover = talk("ranger", "user");  // left by an earlier agent of that name
  auto note =
      test::value_of(memories.of("scout"))->apply(memory::Remember{"pin", "tulip", std::nullopt});
  ASSERT_TRUE(test::run(io, std::move(note)));

  const auto done = rename("scout", "ranger");
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_FALSE(agent("scout"));
  EXPECT_EQ(agent("ranger")->prompt, "words");
  EXPECT_EQ(runtime.setup().default_agent, "ranger");
  EXPECT_EQ(file("scout.toml"), "(none)");
  EXPECT_EQ(file("scout.md"), "(none)");
  for (const auto& id : {old_session, current, other})
    EXPECT_EQ(sessions.find(id)->agent(), "ranger");
  EXPECT_EQ(sessions.find(bystander)->agent(), "reef");
  const auto key = [](const char* who, const char* sender) {
    return test::value_of(session::Key::of_pair(who, sender));
  };
  EXPECT_EQ(sessions.current(key("ranger", "user")), current) << "not the leftover";
  EXPECT_EQ(sessions.current(key("ranger", "tg:7")), other);
  EXPECT_FALSE(sessions.current(key("scout", "user")));
  const auto hits =
      test::value_of(test::run(io, test::value_of(memories.of("ranger"))->recall("tulip", 5)));
  ASSERT_EQ(hits.size(), 1U);
  EXPECT_EQ(sessions.find(leftover)->agent(), "ranger");

  // The same must hold after a restart.
  test::run(io, sessions.stop());
  session::Sessions again{io.get_executor(), store, catalog, clock, random};
  ASSERT_TRUE(test::run(io, again.load()));
  EXPECT_EQ(again.current(key("ranger", "user")), current);
  EXPECT_FALSE(again.current(key("scout", "user")));
  test::run(io, again.stop());
}

TEST_F(AgentChangesTest, C10_SubscriptionsFollowAnAgentsNewName) {
  ASSERT_TRUE(create("scout", "", "words"));
  subscribe("rss:*", "scout");
  subscribe("agent:scout:done", "reef");
  subscribe("agent:scout:*", "scout");
  subscribe("agent:*:done", "reef");
  subscribe("agent:scouts:done", "reef");
  ASSERT_TRUE(rename("scout", "ranger"));
  EXPECT_EQ(subscribed(),
            "rss:* ranger;agent:ranger:done reef;agent:ranger:* ranger;agent:*:done reef;"
            "agent:scouts:done reef;");
}

TEST_F(AgentChangesTest, C10_SubscriptionsThatCannotBeReadAreNotLeftBehind) {
  ASSERT_TRUE(create("scout", "", "words"));
  test::write_file(folder / "events/subscriptions.toml", "broken = = 1\n");
  EXPECT_FALSE(test::run(io, bus.load()));
  EXPECT_EQ(rename("scout", "ranger").error().code, Errc::conflict);
  EXPECT_TRUE(agent("scout"));
  EXPECT_EQ(file("ranger.toml"), "(none)");
  EXPECT_EQ(read_file(folder / "events/subscriptions.toml"), "broken = = 1\n");
}

TEST_F(AgentChangesTest, C10_ARenameThatFailsLeavesTheSubscriptionsAsTheyWere) {
  ASSERT_TRUE(create("scout", "", "words"));
  ASSERT_TRUE(create("ranger", "", ""));
  subscribe("rss:*", "scout");
  subscribe("old", "ranger");  // its agent is removed below
  ASSERT_TRUE(remove("ranger"));
  const auto before = subscribed();
  const auto id = talk("scout", "user");
  store.full = true;
  EXPECT_FALSE(rename("scout", "ranger"));
  store.full = false;
  EXPECT_EQ(subscribed(), before) << "also those of another agent that had the name";
  EXPECT_EQ(sessions.find(id)->agent(), "scout");
}

TEST_F(AgentChangesTest, C10_SessionsInTheTrashFollowWhenTheyComeBack) {
  const auto key = [](const char* who) {
    return test::value_of(session::Key::of_pair(who, "user"));
  };
  ASSERT_TRUE(create("scout", "", "words"));
  const auto old_one = talk("scout", "user");
  ASSERT_TRUE(test::run(io, sessions.trash(old_one)));
  ASSERT_TRUE(rename("scout", "ranger"));
  const auto current = talk("ranger", "user");
  ASSERT_TRUE(rename("ranger", "warden"));
  // Another agent takes the first name and has a session of its own.
  ASSERT_TRUE(create("scout", "", "others"));
  const auto others = talk("scout", "user");
  ASSERT_TRUE(test::run(io, sessions.trash(others)));

  // A new AgentChanges knows no more than one after a restart.
  AgentChanges again{AgentNeeds{AgentFiles{documents},
                                pool,
                                runtime,
                                sessions,
                                memories,
                                [this] { return load(); },
                                bus,
                                {},
                                clock}};
  test::run(io, again.load_names());
  EXPECT_EQ(again.name_now("scout", TimePoint()), "warden");

  ASSERT_TRUE(test::run(io, sessions.restore(old_one)));
  EXPECT_EQ(sessions.find(old_one)->agent(), "warden");
  EXPECT_EQ(sessions.find(old_one)->key(), "agent:warden:user");
  EXPECT_EQ(sessions.current(key("warden")), current) << "it takes nobody's place";
  EXPECT_FALSE(sessions.current(key("scout")));
  ASSERT_TRUE(test::run(io, sessions.restore(others)));
  EXPECT_EQ(sessions.find(others)->agent(), "scout") << "trashed after the rename";
  EXPECT_EQ(sessions.current(key("scout")), others);
}

TEST(AgentNames, LinesThatMakeNoSenseAreLeftOutAndTheOldestGo) {
  const auto read = parse_renamed(
      "junk\n{\"from\":\"a\"}\n{\"from\":\"a\",\"to\":\"b\",\"at\":\"2026-01-01T00:00:00.000Z\"}\n"
      "{\"from\":\"b\",\"to\":\"c\",\"at\":\"2026-02-01T00:00:00.000Z\"}");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(name_now(read, "a", TimePoint()), "c");
  EXPECT_EQ(name_now(read, "b", read[0].at), "c");
  EXPECT_EQ(name_now(read, "b", read[1].at + std::chrono::seconds(1)), "b");
  EXPECT_EQ(parse_renamed(write_renamed(read)).size(), 2U);
  EXPECT_EQ(parse_renamed(write_renamed(std::vector<Renamed>(kRenamedMax + 5, read[0]))).size(),
            kRenamedMax);
}

TEST_F(AgentChangesTest, C10_ARenameThatCannotBeChangesNothing) {
  ASSERT_TRUE(create("scout", "max_iterations = 2", "words"));
  ASSERT_TRUE(create("ranger"));
  const auto id = talk("scout", "user");
  EXPECT_EQ(rename("scout", "ranger").error().code, Errc::conflict);
  EXPECT_EQ(rename("scout", "scout").error().code, Errc::invalid);
  EXPECT_EQ(rename("nobody", "x").error().code, Errc::not_found);
  EXPECT_EQ(rename("scout", "reef").error().code, Errc::conflict);
  // A memory that already has the new name is in the way.
  for (const auto* name : {"scout", "old"}) {
    auto note = test::value_of(memories.of(name))->apply(memory::Remember{"a", "b", std::nullopt});
    ASSERT_TRUE(test::run(io, std::move(note)));
  }
  EXPECT_EQ(rename("scout", "old").error().code, Errc::conflict);
  EXPECT_EQ(file("old.toml"), "(none)");
  EXPECT_EQ(sessions.find(id)->agent(), "scout");
  EXPECT_EQ(agent("scout")->prompt, "words");
  EXPECT_TRUE(test::value_of(test::run(io, memories.exists("scout"))));
}

TEST_F(AgentChangesTest, C10_ARenameThatWasInterruptedIsGoneOnWith) {
  ASSERT_TRUE(create("scout", "max_iterations = 2", "words"));
  talk("scout", "user");
  // A crash after the copy leaves these files.
  test::write_file(folder / "agents/ranger.toml", file("scout.toml"));
  test::write_file(folder / "agents/ranger.md", "words");
  ASSERT_TRUE(test::run(io, load()));
  const auto done = rename("scout", "ranger");
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_FALSE(agent("scout"));
  EXPECT_TRUE(sessions.current(test::value_of(session::Key::of_pair("ranger", "user"))));
}

TEST_F(AgentChangesTest, C10_RenamingOnADiskThatFailsLosesNoHistory) {
  ASSERT_TRUE(create("scout", "max_iterations = 2", "words"));
  const auto id = talk("scout", "user");
  subscribe("agent:scout:done", "scout");
  for (int nth = 1; nth < 100; ++nth) {
    files.fail_at(nth, EIO);
    const auto done = rename("scout", "ranger");
    const bool hit = files.hit();
    files.heal();
    ASSERT_TRUE(test::run(io, load()));
    const auto owner = std::string(sessions.find(id)->agent());
    ASSERT_TRUE(agent(owner)) << nth << ": the history's agent " << owner << " is there";
    EXPECT_EQ(agent(owner)->prompt, "words") << nth;
    EXPECT_EQ(subscribed(), "agent:" + owner + ":done " + owner + ";") << nth;
    if (done && !hit) return;
    if (owner == "ranger") {
      // The last step failed: the old files are still there.
      if (agent("scout")) ASSERT_TRUE(remove("scout"));
      ASSERT_TRUE(rename("ranger", "scout")) << nth;
    }
  }
  FAIL() << "never without a fault";
}

}  // namespace
}  // namespace reef::daemon
