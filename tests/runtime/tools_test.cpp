// Turns with tool calls: what is run, recorded and told, in which order, and how it stops.
#include <gtest/gtest.h>

#include "base/notify.h"
#include "model/scripted/scripted.h"
#include "runtime/runtime.h"
#include "store/mem/mem_store.h"
#include "support/run.h"

namespace reef::runtime {
namespace {

// echo says its `text`; wait waits for `release()` or for ever; fail fails; throw throws.
class TestHook final : public Hook {
 public:
  explicit TestHook(Executor loop) : released_(std::move(loop)) {}

  std::vector<model::Tool> tools(const Agent& agent) const override {
    std::vector<model::Tool> out;
    for (const auto* name : {"wait", "echo", "fail", "throw"})
      out.push_back({name, "", {{"type", "object"}}});
    if (agent.name == "chief") out.push_back({"order", "", {{"type", "object"}}});
    return out;
  }
  std::string prompt(const Agent&) const override { return "<test>use echo</test>"; }
  Task<ToolAnswer> call(std::string tool, json::object arguments, Caller caller) override {
    callers.push_back(std::move(caller));
    if (tool == "fail") co_return ToolAnswer{"it broke", true};
    if (tool == "throw") throw std::runtime_error("boom");
    if (tool == "wait") {
      ++waiting;
      while (!go) co_await released_.wait();
    }
    co_return ToolAnswer{std::string(json::find_string(arguments, "text").value_or("nothing"))};
  }

  void release() {
    go = true;
    released_.notify_all();
  }

  std::vector<Caller> callers;
  int waiting = 0;
  bool go = false;

 private:
  Notify released_;
};

class ToolsTest : public testing::Test {
 protected:
  ToolsTest() { runtime.hooks().add(hook); }
  ~ToolsTest() override {
    hook->release();
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
    test::run(io, sessions.stop());
  }

  std::shared_ptr<runtime::Run> submit(const std::string& script, int steps_max = 16) {
    auto setup = std::make_shared<runtime::Setup>();
    setup->providers.add("s",
                         std::make_shared<model::ScriptedProvider>(*model::parse_script(script)));
    Agent agent;
    agent.name = "reef";
    agent.model = "s/x";
    agent.steps_max = steps_max;
    setup->agents["reef"] = agent;
    runtime.configure(std::move(setup));
    return test::value_of(runtime.submit(Message{"reef", "user", "go", "/work"}));
  }

  Task<std::vector<Event>> read(std::shared_ptr<runtime::Run> run) {
    std::vector<Event> out;
    EventLog::Place place;
    for (;;) {
      auto event = co_await run->events().next(place);
      if (!event || !*event) co_return out;
      out.push_back(std::move(**event));
    }
  }
  // "start tools(echo,echo) result(x) done end"
  std::string told(std::shared_ptr<runtime::Run> run) {
    std::string out;
    for (const auto& event : test::run(io, read(std::move(run)))) {
      if (std::holds_alternative<Start>(event)) out += "start ";
      if (const auto* start = std::get_if<ToolStart>(&event)) {
        out += "tools(";
        for (const auto& call : start->calls) out += call.name + ",";
        out.back() = ')';
        out += ' ';
      }
      if (const auto* result = std::get_if<ToolResult>(&event))
        out += (result->is_error ? "error(" : "result(") + result->output + ") ";
      if (std::holds_alternative<ToolsComplete>(event)) out += "done ";
      if (const auto* chunk = std::get_if<Chunk>(&event)) out += "'" + chunk->text + "' ";
      if (const auto* end = std::get_if<End>(&event))
        out += end->error.empty() ? "end" : "end(" + end->error + ")";
    }
    return out;
  }
  // What is on disk, as "role:text" words.
  std::string stored() {
    const auto id = sessions.current(*session::Key::of_pair("reef", "user"));
    if (!id) return "";
    const session::Transcript transcript(session::read_transcript(store.raw().at(*id)));
    EXPECT_TRUE(transcript.damage().empty());
    std::string out;
    for (const auto& entry : transcript.entries())
      if (const auto message = session::message_of(entry))
        out += std::string(session::role_of(*message)) + ":" + session::text_of(*message) + ";";
    return out;
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  store::MemStore store;
  session::Sessions sessions{io.get_executor(), store, clock, random};
  Runtime runtime{io.get_executor(), sessions, clock};
  std::shared_ptr<TestHook> hook = std::make_shared<TestHook>(io.get_executor());
};

TEST_F(ToolsTest, CallsRunAndTheModelGoesOnWithTheirResults) {
  const auto run = submit(R"({"replies":[
    {"text":"look","calls":[{"name":"echo","arguments":{"text":"a"}}]}, {"text":"so"}]})");
  EXPECT_EQ(told(run), "start 'look' tools(echo) result(a) done 'so' end");
  EXPECT_EQ(stored(), "user:go;assistant:look;toolResult:a;assistant:so;");
  ASSERT_EQ(hook->callers.size(), 1U);
  EXPECT_EQ(hook->callers[0].sender, "user");
  EXPECT_EQ(hook->callers[0].cwd, "/work");
  EXPECT_EQ(hook->callers[0].agent.name, "reef");
}

TEST_F(ToolsTest, CallsOfAStepRunSideBySideAndResultsComeAsTheyAreDone) {
  const auto run = submit(R"({"replies":[
    {"calls":[{"name":"wait","arguments":{"text":"slow"}},{"name":"echo","arguments":{"text":"quick"}}]},
    {"text":"so"}]})");
  test::run_ready(io);
  EXPECT_EQ(hook->waiting, 1);
  EXPECT_EQ(stored(), "user:go;assistant:;toolResult:quick;") << "durable before the other is done";
  hook->release();
  EXPECT_EQ(told(run), "start tools(wait,echo) result(quick) result(slow) done 'so' end");
}

TEST_F(ToolsTest, WhatIsWrongIsAResultTheModelCanRead) {
  const auto run = submit(R"({"replies":[
    {"calls":[{"name":"fail"}]}, {"calls":[{"name":"throw"}]}, {"calls":[{"name":"order"}]},
    {"text":"so"}]})");
  EXPECT_EQ(told(run),
            "start tools(fail) error(it broke) done tools(throw) error(throw failed: boom) done "
            "tools(order) error(tool not registered: order) done 'so' end")
      << "a tool of another agent is not there";
  EXPECT_EQ(hook->callers.size(), 2U);
}

TEST_F(ToolsTest, AKillStopsToolsAndLeavesAValidTranscript) {
  const auto run = submit(R"({"replies":[
    {"calls":[{"name":"wait"},{"name":"echo","arguments":{"text":"a"}}]}, {"text":"never"}]})");
  test::run_ready(io);
  ASSERT_EQ(hook->waiting, 1);
  ASSERT_TRUE(runtime.kill("reef", "user"));
  EXPECT_EQ(told(run), "start tools(wait,echo) result(a) error(interrupted) done end(cancelled)");
  EXPECT_EQ(stored(), "user:go;assistant:;toolResult:a;toolResult:interrupted;");
}

TEST_F(ToolsTest, TheNumberOfStepsIsLimitedAndSaidSo) {
  const auto run = submit(R"({"replies":[{"calls":[{"name":"echo"}]}]})", 2);
  EXPECT_EQ(told(run),
            "start tools(echo) result(nothing) done tools(echo) result(nothing) done "
            "end(the agent took its 2 steps and was not done)");
}

TEST_F(ToolsTest, TheModelIsToldWhatItMayCallAndWhen) {
  Agent agent;
  agent.name = "reef";
  agent.prompt = "Be kind.";
  EXPECT_EQ(runtime.hooks().prompt(agent), "Be kind.\n\n<test>use echo</test>");
  std::string names;
  const auto box = runtime.hooks().toolbox(agent);
  for (const auto& tool : box.tools()) names += tool.name + " ";
  EXPECT_EQ(names, "echo fail throw wait ");
}

}  // namespace
}  // namespace reef::runtime
