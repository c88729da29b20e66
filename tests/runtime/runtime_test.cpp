#include "runtime/runtime.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/overload.h"
#include "local/local.h"
#include "model/scripted/scripted.h"
#include "runtime/reset.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"
#include "support/wrapped_transcripts.h"

namespace reef::runtime {
namespace {

std::string name_of(const Event& event) {
  return std::visit(
      Overload{
          [](const Start&) { return std::string("start"); },
          [](const TextStart&) { return std::string("text_start"); },
          [](const Chunk&) { return std::string("chunk"); },
          [](const TextEnd&) { return std::string("text_end"); },
          [](const ThinkingStart&) { return std::string("thinking_start"); },
          [](const Thinking&) { return std::string("thinking"); },
          [](const ThinkingEnd&) { return std::string("thinking_end"); },
          [](const ContextUsage&) { return std::string("context_usage"); },
          [](const ContextCompacted&) { return std::string("compacted"); },
          [](const Decided&) { return std::string("decided"); },
          [](const ToolStart&) { return std::string("tool_start"); },
          [](const ToolResult&) { return std::string("tool_result"); },
          [](const ToolsComplete&) { return std::string("tools_complete"); },
          [](const ToolProgress&) { return std::string("tool_progress"); },
          [](const AskUser&) { return std::string("ask_user"); },
          [](const UserSteered&) { return std::string("user_steered"); },
          [](const ToolForward&) { return std::string("tool_forward"); },
          [](const End& e) { return "end" + (e.error.empty() ? "" : "(" + e.error + ")"); },
      },
      event);
}

struct Seen {
  std::vector<std::string> names;  // chunks in a row count once
  std::string text;
  std::optional<Error> error;
};

Task<Seen> read_all(std::shared_ptr<Run> run) {
  Seen seen;
  EventLog::Place place;
  for (;;) {
    auto event = co_await run->events().next(place);
    if (!event) {
      seen.error = event.error();
      co_return seen;
    }
    if (!*event) co_return seen;
    auto name = name_of(**event);
    if (const auto* chunk = std::get_if<Chunk>(&**event)) seen.text += chunk->text;
    if (name == "chunk" && !seen.names.empty() && seen.names.back() == "chunk") continue;
    seen.names.push_back(std::move(name));
  }
}

// A store whose n-th write and later ones fail.
class FailingStore final : public test::WrappedTranscripts {
 public:
  Task<Status> create(session::SessionId id, std::string bytes) override {
    if (--writes_left < 0) co_return Error(Errc::no_space, "disk full");
    co_return co_await real.create(std::move(id), std::move(bytes));
  }
  Task<Status> append(session::SessionId id, std::uint64_t at, std::string bytes) override {
    if (--writes_left < 0) co_return Error(Errc::no_space, "disk full");
    co_return co_await real.append(std::move(id), at, std::move(bytes));
  }

  int writes_left = 1'000'000;
};

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() { configure(R"({"replies":[{"text":"one two three"}]})"); }
  ~RuntimeTest() override {
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
    test::run(io, sessions.stop());
  }

  void configure(const std::string& script, bool with_second = true) {
    auto setup = std::make_shared<runtime::Setup>();
    setup->providers.add("local", std::make_shared<local::LocalProvider>());
    setup->providers.add("s",
                         std::make_shared<model::ScriptedProvider>(*model::parse_script(script)));
    setup->agents["reef"] = Agent{"reef", "", "s/x", "", {}};
    setup->agents["plain"] = Agent{"plain", "", "local", "", {}};
    setup->agents["lost"] = Agent{"lost", "", "nobody/x", "", {}};
    if (with_second) setup->agents["plain2"] = Agent{"plain2", "", "s/x", "", {}};
    runtime.configure(std::move(setup));
  }

  std::shared_ptr<runtime::Run> submit(const std::string& content,
                                       const std::string& sender = "user",
                                       const std::string& agent = "reef") {
    return test::value_of(runtime.submit(Message{agent, sender, content, "/x"}));
  }
  Seen turn(const std::string& content, const std::string& sender = "user",
            const std::string& agent = "reef") {
    return test::run(io, read_all(submit(content, sender, agent)));
  }
  // The transcript on disk as "role:text;".
  std::string stored(const std::string& sender = "user") {
    const auto id = sessions.current(*session::Key::of_pair("reef", sender));
    if (!id) return "";
    const session::Transcript transcript(session::read_transcript(store.real.raw().at(*id)));
    EXPECT_TRUE(transcript.damage().empty());
    std::string out;
    for (const auto& entry : transcript.entries())
      if (const auto message = session::message_of(entry))
        out += std::string(session::role_of(*message)) + ":" + session::text_of(*message) + ";";
    return out;
  }

  boost::asio::io_context io{1};
  struct MovingClock final : Clock {
    TimePoint now() const override { return SystemClock().now() + offset; }
    std::chrono::milliseconds offset{0};
  } clock;
  SeededRandom random{1};
  FailingStore store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  Runtime runtime{io.get_executor(), sessions, clock};
};

TEST_F(RuntimeTest, EventsComeInTheOrderOfTheProtocol) {
  const auto seen = turn("hi");
  EXPECT_EQ(seen.names, (std::vector<std::string>{"start", "text_start", "chunk", "text_end",
                                                  "context_usage", "end"}));
  EXPECT_EQ(seen.text, "one two three");
  EXPECT_EQ(stored(), "user:hi;assistant:one two three;");
}

TEST_F(RuntimeTest, TheUsersWordsAreDurableBeforeStart) {
  const auto run = submit("hi");
  EventLog::Place place;
  const auto first = test::run(io, run->events().next(place));
  EXPECT_EQ(name_of(**first), "start");
  EXPECT_EQ(stored().find("user:hi;"), 0U);
}

TEST_F(RuntimeTest, TheReplyIsDurableBeforeEnd) {
  const auto run = submit("hi");
  EventLog::Place place;
  for (;;) {
    const auto event = test::run(io, run->events().next(place));
    if (name_of(**event) == "end") break;
  }
  EXPECT_EQ(stored(), "user:hi;assistant:one two three;");
}

TEST_F(RuntimeTest, TurnsOfOneConversationAreOrdered) {
  std::vector<std::shared_ptr<runtime::Run>> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(submit("m" + std::to_string(i)));
  for (const auto& run : runs) test::run(io, read_all(run));
  EXPECT_EQ(stored(),
            "user:m0;assistant:one two three;user:m1;assistant:one two three;"
            "user:m2;assistant:one two three;user:m3;assistant:one two three;"
            "user:m4;assistant:one two three;");
}

TEST_F(RuntimeTest, ConversationsRunSideBySide) {
  configure(R"({"replies":[{"text":"a","hang":true}]})");
  const auto stuck = submit("hi", "alice");
  configure(R"({"replies":[{"text":"quick"}]})");
  EXPECT_EQ(turn("hi", "bob").text, "quick");
  EXPECT_EQ(runtime.active(), 1U);
  EXPECT_FALSE(stuck->events().closed());
}

TEST_F(RuntimeTest, KillEndsTheRunAndKeepsWhatWasSaid) {
  configure(R"({"replies":[{"text":"so far","hang":true},{"text":"fine"}]})");
  const auto run = submit("hi");
  test::run_ready(io);
  ASSERT_TRUE(runtime.kill("reef", "user"));
  const auto seen = test::run(io, read_all(run));
  EXPECT_EQ(seen.names, (std::vector<std::string>{"start", "text_start", "chunk", "text_end",
                                                  "end(cancelled)"}));
  EXPECT_EQ(stored(), "user:hi;assistant:so far;");
  EXPECT_EQ(turn("again").text, "fine") << "the next message continues";
  EXPECT_EQ(stored(), "user:hi;assistant:so far;user:again;assistant:fine;");
}

TEST_F(RuntimeTest, KillOfAllKeepsWhatWaitsUnanswered) {
  configure(R"({"replies":[{"text":"a","hang":true}]})");
  const auto first = submit("one");
  const auto second = submit("two");
  test::run_ready(io);
  ASSERT_TRUE(runtime.kill("", "", std::nullopt, true));
  test::run(io, read_all(first));
  const auto seen = test::run(io, read_all(second));
  ASSERT_TRUE(seen.error);
  EXPECT_EQ(seen.error->code, Errc::cancelled);
  EXPECT_EQ(stored(), "user:one;assistant:a;user:two;");
}

TEST_F(RuntimeTest, KillOfAnUnknownConversationIsNotFound) {
  EXPECT_EQ(runtime.kill("reef", "nobody").error().code, Errc::not_found);
  turn("hi");
  EXPECT_TRUE(runtime.kill("reef", "user")) << "known, and nothing runs";
}

TEST_F(RuntimeTest, AFailureIsSaidInEndAndTheUsersWordsStay) {
  configure(
      R"({"replies":[{"text":"half","fail":"overloaded","message":"too busy"},{"text":"ok"}]})");
  const auto seen = turn("hi");
  EXPECT_EQ(seen.names.back(), "end(model 's/x' failed (overloaded): too busy)");
  EXPECT_EQ(stored(), "user:hi;assistant:half;");
  EXPECT_EQ(turn("again").text, "ok");
}

TEST_F(RuntimeTest, AModelNobodyServesIsSaidInEnd) {
  const auto seen = turn("hi", "user", "lost");
  EXPECT_EQ(seen.names.front(), "start");
  EXPECT_NE(seen.names.back().find("no provider for model 'nobody/x'"), std::string::npos);
}

TEST_F(RuntimeTest, AMessageThatCannotBeSavedIsAnErrorAndNoStart) {
  store.writes_left = 0;
  const auto seen = turn("hi");
  ASSERT_TRUE(seen.error);
  EXPECT_TRUE(seen.names.empty());
  EXPECT_EQ(seen.error->code, Errc::no_space);
  store.writes_left = 100;
  EXPECT_EQ(turn("again").text, "one two three");
  EXPECT_EQ(stored(), "user:again;assistant:one two three;");
}

TEST_F(RuntimeTest, AReplyThatCannotBeSavedIsSaidInEnd) {
  store.writes_left = 1;
  const auto seen = turn("hi");
  EXPECT_EQ(seen.names.back(), "end(the reply could not be saved: disk full)");
  EXPECT_EQ(stored(), "user:hi;");
  store.writes_left = 100;
  EXPECT_EQ(turn("again").names.back(), "end");
}

TEST_F(RuntimeTest, AMessageThatCanNeverRunIsRefusedAtOnce) {
  EXPECT_EQ(runtime.submit(Message{"ghost", "user", "hi", ""}).error().code, Errc::not_found);
  EXPECT_EQ(runtime.submit(Message{"reef", "user", "", ""}).error().code, Errc::invalid);
  EXPECT_EQ(runtime.submit(Message{"reef", "a\nb", "hi", ""}).error().code, Errc::invalid);
  EXPECT_EQ(sessions.size(), 0U);
  EXPECT_EQ(runtime.active(), 0U);
}

TEST_F(RuntimeTest, TheQueueOfAConversationIsBounded) {
  configure(R"({"replies":[{"text":"a","hang":true}]})");
  std::size_t accepted = 0;
  for (;;) {
    auto run = runtime.submit(Message{"reef", "user", "hi", ""});
    if (!run) {
      EXPECT_EQ(run.error().code, Errc::busy);
      break;
    }
    ASSERT_LT(++accepted, 1000U);
  }
  EXPECT_GE(accepted, 16U);
}

TEST_F(RuntimeTest, AnEmptyAgentOrCrabIsTheDefaultOne) {
  EXPECT_EQ(turn("hi", "user", "").text, "one two three");
  EXPECT_EQ(turn("hi", "user", "crab").text, "one two three");
  EXPECT_EQ(sessions.size(), 1U);
}

TEST_F(RuntimeTest, AReaderThatComesLateSeesTheWholeTurn) {
  const auto run = submit("hi");
  const auto first = test::run(io, read_all(run));
  const auto second = test::run(io, read_all(run));
  EXPECT_EQ(first.names, second.names);
  EXPECT_EQ(first.text, second.text);
}

TEST_F(RuntimeTest, UnreadPiecesAreJoinedSoThatMemoryStaysThatOfTheText) {
  configure(R"({"replies":[{"text":"x","repeat":200000}]})");
  const auto run = submit("hi");
  while (!run->events().closed()) io.run_one();
  EventLog::Place place;
  std::size_t events = 0;
  std::size_t bytes = 0;
  for (;;) {
    const auto event = test::run(io, run->events().next(place));
    if (!*event) break;
    ++events;
    if (const auto* chunk = std::get_if<Chunk>(&**event)) bytes += chunk->text.size();
  }
  EXPECT_EQ(bytes, 200'000U);
  EXPECT_LT(events, 20U);
}

TEST_F(RuntimeTest, AReplyWithoutEndIsCutAtALimitAndKept) {
  configure(
      R"({"replies":[{"text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx )"
      R"(","repeat":400000}]})");
  const auto seen = turn("hi");
  EXPECT_NE(seen.names.back().find("grew beyond"), std::string::npos) << seen.names.back();
  EXPECT_GT(seen.text.size(), 10U << 20);
  EXPECT_LT(seen.text.size(), 16U << 20);
}

TEST_F(RuntimeTest, AReplyTooLargeInOnePieceIsAFailureAndNoCrash) {
  configure(R"({"replies":[{"text":")" + std::string((15U << 20) + 10, 'x') +
            R"(","chunks":1},{"text":"fine"}]})");
  EXPECT_NE(turn("hi").names.back().find("grew beyond"), std::string::npos);
  EXPECT_EQ(turn("again").text, "fine");
}

TEST_F(RuntimeTest, KillReachesARunWhoseAgentIsGone) {
  configure(R"({"replies":[{"text":"a","hang":true}]})");
  const auto run = submit("hi", "user", "plain2");
  test::run_ready(io);
  configure(R"({"replies":[{"text":"a"}]})", false);
  EXPECT_EQ(runtime.submit(Message{"plain2", "user", "hi", ""}).error().code, Errc::not_found);
  ASSERT_TRUE(runtime.kill("plain2", "user"));
  EXPECT_EQ(test::run(io, read_all(run)).names.back(), "end(cancelled)");
}

TEST_F(RuntimeTest, ASessionWhoseFolderIsGoneDoesNotSilenceItsConversation) {
  turn("one");
  const auto id = *sessions.current(*session::Key::of_pair("reef", "user"));
  store.real.raw().erase(id);
  EXPECT_EQ(turn("two").text, "one two three");
  EXPECT_NE(sessions.current(*session::Key::of_pair("reef", "user")), id);
  EXPECT_EQ(stored(), "user:two;assistant:one two three;");
}

TEST_F(RuntimeTest, NewAndResetStartOver) {
  turn("one");
  const auto first = *sessions.current(*session::Key::of_pair("reef", "user"));
  const auto seen = turn("/new");
  EXPECT_EQ(seen.names,
            (std::vector<std::string>{"start", "text_start", "chunk", "text_end", "end"}));
  EXPECT_NE(seen.text.find("New session"), std::string::npos);
  const auto second = *sessions.current(*session::Key::of_pair("reef", "user"));
  EXPECT_NE(second, first);
  EXPECT_EQ(stored(), "") << "no message was said yet";
  turn("  /RESET   with words ");
  EXPECT_EQ(stored(), "user:with words;assistant:one two three;");
  turn("/newer");
  EXPECT_NE(stored().find("user:/newer;"), std::string::npos) << "not the command";
}

TEST(Reset, IdleAndDailyRules) {
  const TimePoint now(std::chrono::milliseconds(1794779830302));
  const auto ago = [&](int minutes) { return now - std::chrono::minutes(minutes); };
  EXPECT_FALSE(is_expired({}, ago(100'000), now));
  EXPECT_FALSE(is_expired({30, {}}, ago(30), now));
  EXPECT_TRUE(is_expired({30, {}}, ago(31), now));
  // In any time zone the last 25 hours contain the reset time, and the last moment does not.
  for (int minute = 0; minute < 24 * 60; minute += 7) {
    EXPECT_TRUE(is_expired({0, minute}, ago(25 * 60 + 60), now)) << minute;
    EXPECT_FALSE(is_expired({0, minute}, now, now)) << minute;
  }
}

TEST_F(RuntimeTest, AnIdleConversationGetsANewSession) {
  turn("one");
  const auto key = *session::Key::of_pair("reef", "user");
  const auto first = *sessions.current(key);
  clock.offset += std::chrono::hours(2);
  turn("two");
  EXPECT_EQ(sessions.current(key), first) << "off by default";
  auto setup = std::make_shared<runtime::Setup>(runtime.setup());
  setup->expiry.idle_minutes = 60;
  runtime.configure(setup);
  clock.offset += std::chrono::minutes(59);
  turn("three");
  EXPECT_EQ(sessions.current(key), first);
  clock.offset += std::chrono::minutes(61);
  turn("four");
  EXPECT_NE(sessions.current(key), first);
  EXPECT_EQ(stored(), "user:four;assistant:one two three;");
}

TEST_F(RuntimeTest, ASessionsOwnModelIsUsed) {
  turn("one");
  const auto id = *sessions.current(*session::Key::of_pair("reef", "user"));
  ASSERT_TRUE(test::run(io, sessions.patch(id, {{"modelOverride", "local"}})));
  EXPECT_NE(turn("hello").text.find("not a language model"), std::string::npos);
  ASSERT_TRUE(test::run(io, sessions.patch(id, {{"modelOverride", nullptr}})));
  EXPECT_EQ(turn("hello").text, "one two three");
}

TEST_F(RuntimeTest, DrainTakesNoNewMessagesAndEndsRunningTurns) {
  configure(R"({"replies":[{"text":"so far","hang":true}]})");
  const auto run = submit("hi");
  test::run_ready(io);
  test::run(io, runtime.drain(std::chrono::milliseconds(1)));
  EXPECT_TRUE(run->events().closed());
  EXPECT_EQ(stored(), "user:hi;assistant:so far;");
  EXPECT_EQ(runtime.submit(Message{"reef", "user", "hi", ""}).error().code, Errc::unavailable);
}

std::shared_ptr<model::Provider> scripted(const std::string& script) {
  return std::make_shared<model::ScriptedProvider>(*model::parse_script(script));
}

// Models a, b and c, asked in turn.
std::shared_ptr<Setup> chain(const std::string& a, const std::string& b) {
  auto setup = std::make_shared<Setup>();
  setup->providers.add("a", scripted(a));
  setup->providers.add("b", scripted(b));
  setup->providers.add("c", scripted(R"({"replies":[{"text":"from c"}]})"));
  auto& agent = setup->agents["reef"];
  agent.name = "reef";
  agent.model = "a/x";
  agent.fallback = {"b/y", "ghost/z", "c"};
  return setup;
}

TEST_F(RuntimeTest, TheNextModelIsAskedWhenOneCannotBeHad) {
  for (const std::string_view kind :
       {"overloaded", "auth", "network", "rate_limit", "timeout", "server"}) {
    const auto fails = fmt::format(R"({{"replies":[{{"fail":"{}","message":"no"}}]}})", kind);
    runtime.configure(chain(fails, R"({"replies":[{"text":"from b"}]})"));
    const auto sender = "s" + std::string(kind);
    EXPECT_EQ(turn("hi", sender).text, "from b") << kind;
    EXPECT_EQ(stored(sender), "user:hi;assistant:from b;");
    runtime.configure(chain(fails, fails));
    EXPECT_EQ(turn("hi", sender + "2").text, "from c") << kind;
  }
}

TEST_F(RuntimeTest, NoOtherModelIsAskedForAFaultOfTheRequestOrAfterTheFirstWord) {
  runtime.configure(chain(R"({"replies":[{"fail":"context_overflow","message":"long"}]})",
                          R"({"replies":[{"text":"from b"}]})"));
  EXPECT_EQ(turn("hi", "one").text, "");
  runtime.configure(chain(R"({"replies":[{"text":"so far","fail":"overloaded","message":"no"}]})",
                          R"({"replies":[{"text":"from b"}]})"));
  EXPECT_EQ(turn("hi", "two").text, "so far");
}

}  // namespace
}  // namespace reef::runtime
