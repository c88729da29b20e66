#include "hooks/tasks/tasks_hook.h"

#include <gtest/gtest.h>

#include "runtime/stage.h"

namespace reef::hooks {
namespace {

using runtime::TaskInfo;

class TasksHookTest : public runtime::Stage {
 protected:
  TasksHookTest() { runtime.hooks().add(std::make_shared<TasksHook>(tasks, runtime)); }
  ~TasksHookTest() override {
    hook->release();
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
  }

  std::string running() {
    std::string out;
    for (const auto* task : tasks.list())
      out += task->kind + "(" + task->what + "|" + task->detail + ") ";
    return out;
  }
  std::string id_of(const std::string& kind) {
    for (const auto* task : tasks.list())
      if (task->kind == kind) return task->id;
    return "";
  }

  runtime::Tasks tasks{io.get_executor(), clock};
};

TEST_F(TasksHookTest, ATurnAndItsToolsAreThereWhileTheyRun) {
  const auto run = submit(R"({"replies":[
    {"calls":[{"name":"wait","arguments":{"progress":["half way"]}}]}, {"text":"so"}]})");
  test::run_ready(io);
  EXPECT_EQ(running(), "turn(reef answers user|calls wait) tool(wait|half way) ");
  EXPECT_EQ(tasks.list()[1]->parent, tasks.list()[0]->id);
  EXPECT_FALSE(tasks.list()[0]->session.empty());
  hook->release();
  told(run);
  EXPECT_EQ(running(), "");
}

TEST_F(TasksHookTest, CancellingATurnKillsIt) {
  const auto run = submit(R"({"replies":[{"text":"so far","hang":true}]})");
  test::run_ready(io);
  const auto watch = tasks.watch();
  ASSERT_TRUE(tasks.cancel(id_of("turn")));
  EXPECT_NE(told(run).find("end("), std::string::npos);
  EXPECT_EQ(running(), "");
  EXPECT_EQ(test::run(io, watch->next()).task.state, TaskInfo::State::cancelled);
}

TEST_F(TasksHookTest, CancellingAToolInterruptsItAloneAndTheTurnGoesOn) {
  const auto run = submit(R"({"replies":[
    {"calls":[{"name":"wait"},{"name":"echo","arguments":{"text":"a"}}]}, {"text":"so"}]})");
  test::run_ready(io);
  ASSERT_EQ(hook->waiting, 1);
  ASSERT_TRUE(tasks.cancel(id_of("tool")));
  EXPECT_EQ(told(run), "start tools(wait,echo) result(a) error(interrupted) done 'so' end");
}

}  // namespace
}  // namespace reef::hooks
