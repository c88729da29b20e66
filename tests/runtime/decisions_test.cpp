// What a person decides, without a daemon: when it is too late, full disks, what is told again.
#include "runtime/decisions.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "model/scripted/scripted.h"
#include "runtime/retell.h"
#include "runtime/runtime.h"
#include "runtime/stage.h"
#include "store/mem/mem_journal.h"
#include "support/wrapped_transcripts.h"

namespace reef::runtime {
namespace {

const session::SessionId kId = *session::SessionId::parse("261115-swift-river");
const session::ClientMark kMark{"m1", "user", "sum"};

// Lines of a transcript, one behind the other.
class Lines {
 public:
  Lines& add(session::Draft draft) {
    auto id = session::EntryId{"e" + std::to_string(++count_)};
    bytes_ += session::entry_line(session::make_entry(std::move(draft), id, last_, TimePoint()));
    last_ = id;
    return *this;
  }
  Lines& user(std::string text, bool marked = false) {
    session::UserMessage message;
    message.content.push_back(session::TextBlock{std::move(text)});
    auto draft = session::draft_message(message);
    if (marked) session::put_mark(draft.fields, kMark);
    return add(std::move(draft));
  }
  Lines& reply(std::string text, std::string call = {},
               session::StopReason reason = session::StopReason::stop) {
    session::AssistantMessage message;
    message.provider = "s";
    message.model = "x";
    message.stop_reason = reason;
    if (reason == session::StopReason::error) message.error_message = "it broke";
    if (!text.empty()) message.content.push_back(session::TextBlock{std::move(text)});
    if (!call.empty()) message.content.push_back(session::ToolCallBlock{call, "ls", {}, {}});
    return add(session::draft_message(message));
  }
  Lines& result(std::string call) {
    session::ToolResultMessage message;
    message.tool_call_id = std::move(call);
    message.content.push_back(session::TextBlock{"files"});
    return add(session::draft_message(message));
  }
  Lines& asked(std::string kind = "permission", bool nested = false) {
    json::object data{{"id", kId.text() + ".1"}, {"state", "asked"}, {"kind", kind},
                      {"callId", "c1"},          {"nested", nested}, {"questions", json::array()}};
    return add(session::draft_decision(std::move(data)));
  }
  Lines& compaction() {
    return add(session::Draft{"compaction", {{"summary", "s"}, {"firstKeptEntryId", "e1"}}});
  }
  Lines& back_to(const std::string& entry) {
    const auto from = last_;
    last_ = session::EntryId{entry};
    return add(session::draft_rewind(*last_, from));
  }
  session::Transcript transcript() const {
    session::Header header;
    header.id = kId.text();
    return session::Transcript(session::read_transcript(session::header_line(header) + bytes_));
  }

 private:
  std::string bytes_;
  std::optional<session::EntryId> last_;
  int count_ = 0;
};

std::string over(const Lines& lines) {
  const auto transcript = lines.transcript();
  const auto all = decisions_in(transcript, kId);
  return all.size() == 1 ? why_over(transcript, all[0], TimePoint()) : "?";
}

Lines waiting() {
  return Lines().user("go").reply("", "c1").asked();
}

TEST(WhyOver, SaysWhatHappenedInBetween) {
  EXPECT_EQ(over(waiting()), "");
  EXPECT_EQ(over(waiting().result("c2")), "") << "another call of the same step";
  EXPECT_EQ(over(waiting().result("c1")), "the call has its result");
  EXPECT_EQ(over(waiting().user("and now?")), "the conversation went on without it");
  EXPECT_EQ(over(waiting().reply("hm")), "the conversation went on without it");
  EXPECT_EQ(over(waiting().compaction()), "the conversation was compacted past it");
  EXPECT_EQ(over(waiting().back_to("e1")), "the conversation was taken back to before it");
  EXPECT_EQ(over(waiting().back_to("e3")), "") << "to behind it";
  EXPECT_EQ(over(Lines().user("go").reply("", "c1").asked("question", true)),
            "the delegated work that asked ended with the daemon");
  EXPECT_EQ(over(Lines().user("go").asked("plan").reply("handed in")), "")
      << "its own turn goes on behind a plan";
  EXPECT_EQ(over(Lines().user("go").asked("plan").reply("in").user("so?")),
            "the conversation went on without it");
}

TEST(WhyOver, TimeRunsOut) {
  auto transcript = waiting().transcript();
  auto decision = decisions_in(transcript, kId).at(0);
  decision.expires = TimePoint(std::chrono::seconds(10));
  EXPECT_EQ(why_over(transcript, decision, TimePoint(std::chrono::seconds(9))), "");
  EXPECT_EQ(why_over(transcript, decision, TimePoint(std::chrono::seconds(10))),
            "nobody answered in time");
}

TEST(DecisionsIn, TheFirstAnswerCounts) {
  auto lines = waiting();
  const auto settle = [&](json::object data) {
    data["id"] = kId.text() + ".1";
    lines.add(session::draft_decision(std::move(data)));
  };
  settle({{"state", "answered"}, {"answer", "yes"}, {"by", "ann"}, {"from", "tcp"}});
  settle({{"state", "answered"}, {"answer", "no"}, {"by", "bob"}});
  settle({{"state", "closed"}, {"reason", "late"}});
  const auto decision = decisions_in(lines.transcript(), kId).at(0);
  EXPECT_EQ(decision.answer, "yes");
  EXPECT_EQ(decision.by, "ann");
  EXPECT_EQ(decision.state, Decision::State::answered);
}

std::string retold(const Lines& lines) {
  const auto told = retell(lines.transcript(), kMark, kId, "reef");
  if (!told) return "none";
  std::string out = told->answered ? "" : told->last ? "open " : "left ";
  for (const auto& event : told->events) {
    if (const auto* chunk = std::get_if<Chunk>(&event)) out += chunk->text + " ";
    if (const auto* start = std::get_if<ToolStart>(&event)) out += start->calls.at(0).name + " ";
    if (const auto* result = std::get_if<ToolResult>(&event)) out += result->output + " ";
    if (const auto* end = std::get_if<End>(&event)) out += "end" + end->error;
  }
  return out;
}

TEST(Retell, TellsTheTurnAndNoOther) {
  EXPECT_EQ(retold(Lines().user("go")), "none");
  EXPECT_EQ(retold(Lines().user("a").reply("A").user("go", true).reply("B").user("c").reply("C")),
            "B end");
  EXPECT_EQ(retold(Lines().user("go", true).reply("see", "c1").result("c1").reply("done")),
            "see ls files done end");
  EXPECT_EQ(
      retold(Lines().user("go", true).reply("see", "c1").result("c1").user("steer").reply("x")),
      "see ls files x end")
      << "words on the way belong to the turn";
  EXPECT_EQ(retold(Lines().user("go", true).user("also").reply("both")), "both end");
}

TEST(Retell, KnowsWhatWasNeverAnswered) {
  EXPECT_EQ(retold(Lines().user("go", true)), "open end");
  EXPECT_EQ(retold(Lines().user("go", true).reply("see", "c1")), "open see ls end");
  EXPECT_EQ(retold(Lines().user("a").user("go", true).back_to("e1").user("b").reply("B")),
            "left end");
  EXPECT_EQ(retold(Lines().user("go", true).reply("", "", session::StopReason::error)),
            "endit broke");
  EXPECT_EQ(retold(Lines().user("go", true).reply("", "", session::StopReason::error).reply("ok")),
            "ok end")
      << "tried again";
}

// A disk that is full when it is told to be.
class FullStore final : public test::WrappedTranscripts {
 public:
  Task<Status> append(session::SessionId id, std::uint64_t at, std::string bytes) override {
    if (!full_at.empty() && bytes.find(full_at) != std::string::npos)
      co_return Error(Errc::no_space, "the disk is full");
    co_return co_await real.append(std::move(id), at, std::move(bytes));
  }
  std::string full_at;  // entries with these words are not taken
};

class FullDisk : public testing::Test {
 protected:
  FullDisk() {
    runtime.hooks().add(hook);
    auto setup = std::make_shared<runtime::Setup>();
    setup->providers.add(
        "s", std::make_shared<model::ScriptedProvider>(*model::parse_script(
                 R"({"replies":[{"calls":[{"name":"ask","arguments":{"text":"Which?"}}]},
                                      {"text":"done"}]})")));
    Agent agent;
    agent.name = "reef";
    agent.model = "s/x";
    setup->agents["reef"] = agent;
    runtime.configure(std::move(setup));
  }
  ~FullDisk() override {
    store.full_at.clear();
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
    test::run(io, sessions.stop());
  }
  std::shared_ptr<runtime::Run> say() {
    return test::value_of(runtime.submit(Message{"reef", "user", "go", "/work"}));
  }
  void until(const std::function<bool()>& there) {
    test::run(io, [](const std::function<bool()>& done) -> Task<void> {
      while (!done()) co_await yield_to_loop();
    }(there));
  }
  std::string result() {
    const auto id = *sessions.current(*session::Key::of_pair("reef", "user"));
    const session::Transcript transcript(session::read_transcript(store.real.raw().at(id)));
    for (const auto& entry : transcript.entries())
      if (const auto message = session::message_of(entry))
        if (std::holds_alternative<session::ToolResultMessage>(*message))
          return session::text_of(*message);
    return "none";
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  FullStore store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  Runtime runtime{io.get_executor(), sessions, clock};
  std::shared_ptr<TestHook> hook = std::make_shared<TestHook>(io.get_executor());
};

TEST_F(FullDisk, WhatCannotBeKeptIsNotAsked) {
  store.full_at = R"("state":"asked")";
  const auto run = say();
  until([&] { return run->events().closed(); });
  EXPECT_NE(result().find("the question could not be saved: the disk is full"), std::string::npos)
      << result();
  EXPECT_TRUE(runtime.questions().list().empty());
}

TEST_F(FullDisk, AnAnswerThatCannotBeKeptIsNoneAndCanBeGivenAgain) {
  const auto run = say();
  until([&] { return !runtime.questions().list().empty(); });
  const auto id = runtime.questions().list()[0]->id;
  std::vector<Decision::State> told;
  runtime.decisions().on_change([&](const Decision& one) { told.push_back(one.state); });
  store.full_at = R"("state":"answered")";
  const auto refused = test::run(io, runtime.decisions().answer({id, "red", "ann", "unix"}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::no_space);
  EXPECT_EQ(runtime.questions().list().size(), 1U) << "it still waits";
  EXPECT_TRUE(told.empty());
  store.full_at.clear();
  ASSERT_TRUE(test::run(io, runtime.decisions().answer({id, "blue", "bob", "unix"})));
  until([&] { return run->events().closed(); });
  EXPECT_EQ(result(), "blue");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0], Decision::State::answered);
  const auto second = test::run(io, runtime.decisions().answer({id, "red", "ann", "unix"}));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().what.find("bob answered 'blue' over unix"), std::string::npos);
}

TEST_F(FullDisk, OneThatIsOverAndCannotBeClosedIsNotShownAndIsToldOnce) {
  auto setup = std::make_shared<runtime::Setup>(runtime.setup());
  setup->providers.add("s", std::make_shared<model::ScriptedProvider>(*model::parse_script(
                                R"({"replies":[{"fail":"auth","message":"bad key"}]})")));
  runtime.configure(std::move(setup));
  auto& log = runtime.decision_changes().log();
  const auto watch = runtime.decision_changes().watch();
  const auto run = say();
  until([&] { return run->events().closed() && log.version() > 0; });
  const auto asked = test::value_of(test::run(io, runtime.decisions().list({}))).decisions.at(0);
  const auto id = *session::SessionId::parse(asked.session);
  EXPECT_TRUE(test::value_of(test::run(io, runtime.decisions().shown(asked.id))));
  const session::Transcript transcript(session::read_transcript(store.real.raw().at(id)));
  store.full_at = R"("state":"closed")";
  const auto before = log.version();
  ASSERT_TRUE(test::run(io, sessions.rewind(id, transcript.entries().front().id)));
  until([&] { return log.version() > before; });
  EXPECT_EQ(log.version_of(asked.id), log.version());
  EXPECT_FALSE(test::value_of(test::run(io, runtime.decisions().shown(asked.id))));
  EXPECT_EQ(sessions.find(id)->waiting.size(), 1U) << "nothing says that it is closed";
  // Whatever else happens, it is not told again.
  const auto told = log.version();
  for (int i = 0; i < 50; ++i) {
    sessions.changes().touch("260101-another-one");
    test::run(io, yield_to_loop());
  }
  EXPECT_EQ(log.version(), told);
}

TEST_F(FullDisk, WhoComesBackIsToldWhatHappenedMeanwhile) {
  auto& log = runtime.decision_changes().log();
  const auto run = say();
  auto watch = runtime.decision_changes().watch();
  until([&] { return !runtime.questions().list().empty(); });
  const auto id = runtime.questions().list()[0]->id;
  until([&] { return log.version_of(id) > 0; });
  const auto asked = log.version();
  watch.reset();
  // Nobody watches: what the decisions tell themselves comes into the log all the same.
  ASSERT_TRUE(test::run(io, runtime.decisions().answer({id, "red", "ann", "unix"})));
  until([&] { return run->events().closed(); });
  ASSERT_EQ(log.after(asked, 10).size(), 1U);
  EXPECT_EQ(log.after(asked, 10)[0].key, id);
  EXPECT_EQ(test::value_of(test::run(io, runtime.decisions().shown(id)))->answer, "red");
  // Whoever comes changes nothing.
  const auto version = log.version();
  watch = runtime.decision_changes().watch();
  EXPECT_EQ(log.version(), version);
  EXPECT_FALSE(test::value_of(test::run(io, runtime.decisions().shown("nonsense"))));
}

TEST_F(FullDisk, AnEphemeralTurnKeepsNoDecision) {
  Message message{"reef", "user", "go", "/work"};
  message.ephemeral = true;
  const auto run = test::value_of(runtime.submit(std::move(message)));
  until([&] { return !runtime.questions().list().empty(); });
  EXPECT_EQ(runtime.questions().list()[0]->id.front(), 'q');
  EXPECT_EQ(test::value_of(test::run(io, runtime.decisions().list({}))).total, 0U);
  EXPECT_TRUE(runtime.questions().answer(runtime.questions().list()[0]->id, "red"));
  until([&] { return run->events().closed(); });
  EXPECT_EQ(sessions.size(), 0U);
}

// What is read of hundred thousand sessions to list what waits in three of them: those three.
class CountingStore final : public test::WrappedTranscripts {
 public:
  Task<Result<std::string>> read(session::SessionId id, std::uint64_t from,
                                 std::uint64_t size) override {
    ++reads;
    return real.read(std::move(id), from, size);
  }
  int reads = 0;
};

TEST(DecisionList, ReadsOnlyTheSessionsThatWait) {
  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  CountingStore store;
  store::MemJournal catalog;
  for (int i = 0; i < 2000; ++i) {
    const auto id = *session::SessionId::parse("261115-s-" + std::to_string(i));
    session::Header header;
    header.id = id.text();
    auto bytes = session::header_line(header);
    if (i % 700 == 0) {
      json::object data{{"id", id.text() + ".1"},
                        {"state", "asked"},
                        {"kind", "failed"},
                        {"questions", json::array()}};
      bytes += session::entry_line(session::make_entry(session::draft_decision(data),
                                                       session::EntryId{"e1"}, std::nullopt,
                                                       clock.now() + std::chrono::milliseconds(i)));
    }
    ASSERT_TRUE(test::run(io, store.create(id, std::move(bytes))));
  }
  {
    session::Sessions first{io.get_executor(), store, catalog, clock, random};
    ASSERT_TRUE(test::run(io, first.load()));
    test::run(io, first.stop());
  }
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  ASSERT_TRUE(test::run(io, sessions.load()));
  Runtime runtime{io.get_executor(), sessions, clock};
  store.reads = 0;
  const auto page = test::value_of(test::run(io, runtime.decisions().list({})));
  EXPECT_EQ(page.total, 3U);
  EXPECT_EQ(store.reads, 3);
  EXPECT_EQ(page.decisions.at(0).session, "261115-s-1400") << "newest first";
  test::value_of(test::run(io, runtime.decisions().list({})));
  EXPECT_EQ(store.reads, 3) << "they are kept in memory";
  test::run(io, runtime.drain(std::chrono::milliseconds(0)));
  test::run(io, sessions.stop());
}

}  // namespace
}  // namespace reef::runtime
