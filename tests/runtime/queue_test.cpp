// Messages that come while a turn runs; stopping a turn; reading along with it.
#include <gtest/gtest.h>

#include "base/notify.h"
#include "runtime/stage.h"
#include "store/mem/mem_journal.h"
#include "support/wrapped_transcripts.h"

namespace reef::runtime {
namespace {

constexpr std::string_view kWaitThenSo =
    R"({"replies":[{"calls":[{"name":"wait"}]}, {"text":"so"}, {"text":"next"}, {"text":"third"}]})";

class QueueTest : public Stage {
 protected:
  std::shared_ptr<runtime::Run> send(const std::string& words, QueueMode mode,
                                     const std::string& sender = "user") {
    Message message{"reef", sender, words, "/work"};
    message.key = "agent:reef:user";
    message.queue = mode;
    return test::value_of(runtime.submit(std::move(message)));
  }
  Status steer(const std::string& words) {
    return runtime.steer(Message{"reef", "user", words, "/work"});
  }
  // Begins a turn whose tool waits.
  std::shared_ptr<runtime::Run> waiting_turn(std::string_view script = kWaitThenSo) {
    const auto run = submit(std::string(script));
    test::run_ready(io);
    EXPECT_EQ(hook->waiting, 1);
    return run;
  }
  std::string told_of(const std::shared_ptr<runtime::Run>& run) { return told(run); }
};

TEST_F(QueueTest, SteeringWordsQueueUpAndAreHeardBeforeTheNextStep) {
  const auto run = waiting_turn();
  ASSERT_TRUE(steer("left"));
  ASSERT_TRUE(steer("no, right"));
  hook->release();
  EXPECT_EQ(told(run),
            "start tools(wait) result(nothing) done steered(left) steered(no, right) 'third' end");
  EXPECT_EQ(stored(),
            "user:go;assistant:;toolResult:nothing;user:left;user:no, right;assistant:third;");
}

TEST_F(QueueTest, AMessageTooLateToSteerIsTheNextTurn) {
  const auto run = submit(R"({"replies":[{"text":"one two","delay_ms":5},{"text":"no"},)"
                          R"({"text":"three","delay_ms":5}]})");
  // The messages come while the only step is under way.
  EventLog::Place place;
  while (!std::holds_alternative<TextStart>(*test::value_of(finish(run->events().next(place))))) {
  }
  ASSERT_TRUE(steer("late"));
  ASSERT_TRUE(steer("later"));
  EXPECT_EQ(told(run), "start 'one ' 'two' end");
  const auto next = test::value_of(runtime.running("reef", "user", std::nullopt));
  EXPECT_EQ(told(next), "start 'three' end");
  EXPECT_EQ(stored(), "user:go;assistant:one two;user:late;user:later;assistant:three;");
}

TEST_F(QueueTest, NothingCanBeSteeredWhenNothingRuns) {
  configure(std::string(kWaitThenSo));
  EXPECT_EQ(steer("left").error().code, Errc::not_found);
  EXPECT_EQ(stored(), "");
}

TEST_F(QueueTest, W6_SteeringWorksAfterAReload) {
  const auto run = waiting_turn();
  configure(R"({"replies":[{"text":"of the new configuration"}]})");
  ASSERT_TRUE(steer("left"));
  hook->release();
  EXPECT_EQ(told(run), "start tools(wait) result(nothing) done steered(left) 'next' end")
      << "the run keeps the configuration it began with";
}

TEST_F(QueueTest, ASteeringMessageIsAnsweredByTheTurnItSteered) {
  const auto run = waiting_turn();
  const auto message = send("left", QueueMode::steer, "ann");
  hook->release();
  EXPECT_EQ(told(run), "start tools(wait) result(nothing) done steered(left) 'next' end");
  EXPECT_EQ(told(message), "start steered(left) 'next' end") << "from where it was heard";
}

TEST_F(QueueTest, AFollowupHasATurnOfItsOwn) {
  const auto run = waiting_turn();
  const auto message = send("and then", QueueMode::followup);
  hook->release();
  EXPECT_EQ(told(run), "start tools(wait) result(nothing) done 'so' end");
  EXPECT_EQ(told(message), "start 'next' end");
}

TEST_F(QueueTest, CollectedMessagesAreAnsweredInOneTurn) {
  const auto run = waiting_turn();
  const auto one = send("one", QueueMode::collect, "ann");
  const auto two = send("two", QueueMode::collect, "bob");
  const auto other = send("other", QueueMode::followup);
  const auto three = send("three", QueueMode::collect);
  hook->release();
  EXPECT_EQ(told(run), "start tools(wait) result(nothing) done 'so' end");
  // The script's reply is chosen by the number of messages that ask for one: go, the call, one,
  // two.
  EXPECT_EQ(told(one), "start 'third' end");
  EXPECT_EQ(told(two), told(one)) << "everybody gets the answer";
  EXPECT_NE(told(other), "");
  EXPECT_NE(told(three), "");
  EXPECT_TRUE(stored().starts_with(
      "user:go;assistant:;toolResult:nothing;assistant:so;user:one;user:two;assistant:third;"))
      << stored();
}

TEST_F(QueueTest, AnInterruptionCancelsTheRunningTurnAndIsAnsweredNext) {
  const auto run = waiting_turn();
  const auto waiting = send("later", QueueMode::followup);
  const auto message = send("stop, this", QueueMode::interrupt);
  EXPECT_EQ(told(run), "start tools(wait) error(interrupted) done end(cancelled)");
  hook->release();
  EXPECT_EQ(told(message), "start 'next' end");
  EXPECT_NE(told(waiting).find("end"), std::string::npos) << "it keeps its place";
}

TEST_F(QueueTest, TheModeIsTheMessagesElseTheSessionsElseTheAgents) {
  auto run = waiting_turn();
  const auto id = *sessions.current(*session::Key::of_pair("reef", "user"));
  ASSERT_TRUE(test::run(io, sessions.patch(id, {{"queueMode", "steer"}})));
  const auto plain = say("left");
  hook->release();
  EXPECT_EQ(told(plain), "start steered(left) 'next' end");

  ASSERT_TRUE(test::run(io, sessions.patch(id, {{"queueMode", nullptr}})));
  configure(R"({"replies":[{"text":"so far","hang":true}]})");
  auto setup = std::make_shared<runtime::Setup>(runtime.setup());
  setup->agents["reef"].queue = QueueMode::interrupt;
  runtime.configure(setup);
  run = say("again");
  test::run_ready(io);
  const auto last = say("stop");
  EXPECT_EQ(told(run), "start 'so far' end(cancelled)");
  ASSERT_TRUE(runtime.kill("reef", "user"));
  EXPECT_TRUE(told(last).ends_with("end(cancelled)"));
}

TEST_F(QueueTest, WaitingSteeringMessagesAreBoundedToo) {
  const auto run = waiting_turn();
  int accepted = 0;
  while (steer("x")) ASSERT_LT(++accepted, 1000);
  EXPECT_EQ(steer("x").error().code, Errc::busy);
  EXPECT_EQ(accepted, 64);
}

TEST_F(QueueTest, C1_KillStopsTheRun) {
  const auto run = waiting_turn(
      R"({"replies":[{"calls":[{"name":"wait"},{"name":"echo","arguments":{"text":"a"}},)"
      R"({"name":"ask","arguments":{"text":"Which?"}}]}, {"text":"never"}, {"text":"next"}]})");
  const auto waiting = send("waits", QueueMode::followup);
  const auto steering = send("left", QueueMode::steer);
  const auto began = clock.steady();
  ASSERT_TRUE(runtime.kill("", "", "agent:reef:user", true));
  EXPECT_EQ(told(run),
            "start tools(wait,echo,ask) ask(Which?) result(a) error(interrupted) "
            "error(interrupted) done end(cancelled)");
  EXPECT_EQ(clock.steady(), began) << "at once";
  EXPECT_TRUE(told(waiting).starts_with("end(refused: the message was cancelled"));
  EXPECT_TRUE(told(steering).starts_with("end(refused: the message was cancelled"));
  test::run_ready(io);
  EXPECT_EQ(runtime.active(), 0U);
  EXPECT_TRUE(runtime.questions().list().empty());
  EXPECT_EQ(stored(),
            "user:go;assistant:;toolResult:a;toolResult:interrupted;toolResult:interrupted;"
            "user:left;user:waits;")
      << "what waited is kept, unanswered";
  hook->release();
  EXPECT_TRUE(told(say("more")).ends_with("end"));
  EXPECT_EQ(sessions.size(), 1U) << "the same session goes on";
}

TEST_F(QueueTest, AKillLeavesWaitingMessagesTheirTurn) {
  const auto run = waiting_turn();
  const auto waiting = send("waits", QueueMode::followup);
  const auto steering = send("left", QueueMode::steer);
  ASSERT_TRUE(runtime.kill("", "", "agent:reef:user"));
  EXPECT_EQ(told(run), "start tools(wait) error(interrupted) done end(cancelled)");
  EXPECT_EQ(told(steering), "start 'next' end");
  EXPECT_EQ(told(waiting), "start 'third' end");
  EXPECT_EQ(stored(),
            "user:go;assistant:;toolResult:interrupted;user:left;assistant:next;user:waits;"
            "assistant:third;");
}

// A disk that hangs when told to.
class HangingStore : public test::WrappedTranscripts {
 public:
  explicit HangingStore(Executor loop) : changed_(std::move(loop)) {}

  Task<Status> create(session::SessionId id, std::string bytes) override {
    co_await pass();
    co_return co_await real.create(std::move(id), std::move(bytes));
  }
  Task<Status> append(session::SessionId id, std::uint64_t at, std::string bytes) override {
    co_await pass();
    co_return co_await real.append(std::move(id), at, std::move(bytes));
  }

  void hang() { hangs_ = true; }
  void go_on() {
    hangs_ = false;
    changed_.notify_all();
  }

 private:
  Task<void> pass() {
    while (hangs_) co_await changed_.wait();
  }

  bool hangs_ = false;
  Notify changed_;
};

// The sessions lie on `slow`, not on the stage's own store.
class HangingDiskTest : public Stage {
 protected:
  HangingDiskTest() { slow_runtime.hooks().add(hook); }
  ~HangingDiskTest() override {
    slow.go_on();
    hook->release();
    finish(slow_runtime.drain(std::chrono::milliseconds(0)));
    finish(slow_sessions.stop());
  }

  std::shared_ptr<runtime::Run> say_there(const std::string& words) {
    return test::value_of(slow_runtime.submit(Message{"reef", "user", words, "/work"}));
  }
  void begin(const std::string& script) {
    configure(script);
    slow_runtime.configure(std::make_shared<runtime::Setup>(runtime.setup()));
  }
  // Kills and returns what readers are told while the disk hangs.
  std::string killed(const std::shared_ptr<runtime::Run>& run, bool all = false) {
    const auto began = clock.steady();
    EXPECT_TRUE(slow_runtime.kill("", "", "agent:reef:user", all));
    auto out = told(run);
    EXPECT_EQ(clock.steady() - began, std::chrono::milliseconds(70));
    return out;
  }
  std::string kept_there() {
    std::string out;
    const auto id = slow_sessions.current(*session::Key::of_pair("reef", "user"));
    if (!id) return out;
    const session::Transcript transcript(session::read_transcript(slow.real.raw().at(*id)));
    for (const auto& entry : transcript.entries())
      if (const auto message = session::message_of(entry))
        out += std::string(session::role_of(*message)) + ":" + session::text_of(*message) + ";";
    return out;
  }

  HangingStore slow{io.get_executor()};
  store::MemJournal catalog;
  session::Sessions slow_sessions{io.get_executor(), slow, catalog, clock, random};
  Runtime slow_runtime{io.get_executor(), slow_sessions, clock};
};

TEST_F(HangingDiskTest, AKillIsToldWhileTheUsersWordsAreWritten) {
  begin(R"({"replies":[{"text":"no"},{"text":"second"}]})");
  slow.hang();
  const auto run = say_there("one");
  const auto next = say_there("two");
  EXPECT_EQ(killed(run), "end(refused: cancelled)");
  EXPECT_EQ(slow_runtime.active(), 1U) << "what comes next waits for the disk";
  slow.go_on();
  EXPECT_TRUE(told(next).ends_with("end"));
  EXPECT_TRUE(kept_there().starts_with("user:one;"));
  EXPECT_NE(kept_there().find("user:two;assistant:second;"), std::string::npos) << kept_there();
}

TEST_F(HangingDiskTest, AKillIsToldWhileWhatWasCancelledIsWritten) {
  begin(R"({"replies":[{"calls":[{"name":"wait"}]},{"text":"next"}]})");
  const auto run = say_there("one");
  test::run_ready(io);
  ASSERT_EQ(hook->waiting, 1);
  const auto waits = say_there("two");
  slow.hang();
  EXPECT_EQ(killed(run, true), "start tools(wait) error(interrupted) end(cancelled)");
  EXPECT_EQ(told(waits), "end(refused: cancelled)");
  slow.go_on();
  test::run_ready(io);
  EXPECT_EQ(slow_runtime.active(), 0U);
  EXPECT_EQ(kept_there(), "user:one;assistant:;toolResult:interrupted;user:two;");
}

TEST_F(QueueTest, KillByKeyOfNothing) {
  configure(std::string(kWaitThenSo));
  EXPECT_EQ(runtime.kill("", "", "agent:reef:nobody").error().code, Errc::not_found);
  EXPECT_EQ(runtime.kill("", "", "no key at all\n").error().code, Errc::invalid);
}

TEST_F(QueueTest, C5_WhoLeavesCanComeBackAndMissesNothing) {
  auto run = waiting_turn();
  {
    EventLog::Place place;
    static_cast<void>(test::run(io, run->events().next(place)));
  }
  run.reset();  // the client is gone
  const auto again = test::value_of(runtime.running("reef", "user", std::nullopt));
  hook->release();
  EXPECT_EQ(told(again), "start tools(wait) result(nothing) done 'so' end");
  test::run_ready(io);
  EXPECT_EQ(runtime.running("reef", "user", std::nullopt).error().code, Errc::not_found);
}

TEST_F(QueueTest, C4_TwoFirstMessagesAtOnceShareOneSession) {
  configure(R"({"replies":[{"text":"one"},{"text":"two"}]})");
  const auto first = say("a");
  const auto second = say("b");
  EXPECT_EQ(told(first), "start 'one' end");
  EXPECT_EQ(told(second), "start 'two' end");
  EXPECT_EQ(sessions.size(), 1U);
  EXPECT_EQ(stored(), "user:a;assistant:one;user:b;assistant:two;");
}

TEST_F(QueueTest, C7_SendersThatLookAlikeHaveSessionsOfTheirOwn) {
  configure(R"({"replies":[{"text":"one"},{"text":"two"}]})");
  for (const auto* sender : {"tg:12", "tg-12", "TG 12", "tg.12"})
    EXPECT_EQ(told(test::value_of(runtime.submit(Message{"reef", sender, "hi", ""}))),
              "start 'one' end")
        << sender;
  EXPECT_EQ(sessions.size(), 4U);
}

// A provider that keeps the tool choice of each request and calls a tool twice.
class Recorder final : public model::Provider {
 public:
  std::string_view api() const override { return "test"; }
  Task<model::Outcome> stream(const model::Request& request, const model::DeltaSink&) override {
    co_await yield_to_loop();
    choices.push_back(request.tool_choice);
    model::Reply reply;
    if (choices.size() < 3) {
      reply.message.stop_reason = session::StopReason::tool_use;
      reply.message.content.push_back(
          session::ToolCallBlock{std::to_string(choices.size()), "echo", {}});
    } else {
      reply.message.content.push_back(session::TextBlock{"so"});
    }
    co_return reply;
  }
  std::vector<model::ToolChoice> choices;
};

TEST_F(QueueTest, C12_ARequiredToolIsRequiredOnce) {
  using Mode = model::ToolChoice::Mode;
  const auto choices = [&](model::ToolChoice choice, const std::string& sender) {
    const auto provider = std::make_shared<Recorder>();
    configure(provider);
    Message message{"reef", sender, "go", ""};
    message.tool_choice = std::move(choice);
    told(test::value_of(runtime.submit(std::move(message))));
    std::vector<Mode> out;
    for (const auto& one : provider->choices) out.push_back(one.mode);
    return out;
  };
  const std::vector<Mode> automatic(2, Mode::automatic);
  EXPECT_EQ(choices({Mode::required, {}}, "a"),
            (std::vector<Mode>{Mode::required, Mode::automatic, Mode::automatic}));
  EXPECT_EQ(choices({Mode::named, "echo"}, "b"),
            (std::vector<Mode>{Mode::named, Mode::automatic, Mode::automatic}));
  EXPECT_EQ(choices({Mode::none, {}}, "c"),
            (std::vector<Mode>{Mode::none, Mode::none, Mode::none}));
  Message message{"reef", "d", "go", ""};
  message.tool_choice = {Mode::named, "order"};
  const auto refused = runtime.submit(std::move(message));
  EXPECT_EQ(refused.error().code, Errc::invalid);
  EXPECT_NE(refused.error().what.find("has no tool 'order'"), std::string::npos);
}

}  // namespace
}  // namespace reef::runtime
