// Turns with tool calls: which are run, recorded and told, in which order, and how they stop.
#include <gtest/gtest.h>

#include "runtime/stage.h"

namespace reef::runtime {
namespace {

class ToolsTest : public Stage {};

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

TEST_F(ToolsTest, AMistakeIsAResultTheModelCanRead) {
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

TEST_F(ToolsTest, ImagesAndDetailsAreKeptWithTheResult) {
  const auto run = submit(R"({"replies":[{"calls":[{"name":"picture"}]}, {"text":"so"}]})");
  EXPECT_EQ(told(run), "start tools(picture) result(a dot) done 'so' end");
  const auto messages = kept();
  ASSERT_EQ(messages.size(), 4U);
  const auto& result = std::get<session::ToolResultMessage>(messages[2]);
  ASSERT_EQ(result.content.size(), 2U);
  EXPECT_EQ(std::get<session::ImageBlock>(result.content[1]).data, "aGk=");
  EXPECT_EQ(json::write(result.details), R"({"width":1})");
}

TEST_F(ToolsTest, TheModelIsToldWhatItMayCallAndWhen) {
  Agent agent;
  agent.name = "reef";
  agent.prompt = "Be kind.";
  EXPECT_EQ(runtime.hooks().prompt(agent), "Be kind.\n\n<test>use echo</test>");
  std::string names;
  const auto box = runtime.hooks().toolbox(agent);
  for (const auto& tool : box.tools()) names += tool.name + " ";
  EXPECT_EQ(names, "ask echo fail picture throw wait ");
}

}  // namespace
}  // namespace reef::runtime
