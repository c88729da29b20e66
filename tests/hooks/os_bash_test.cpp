// The bash tool: how commands end, and what happens to their output.
#include <csignal>
#include <filesystem>

#include <fmt/format.h>

#include "base/task_group.h"
#include "base/utf8.h"
#include "hooks/os_call_needs.h"
#include "support/manual_clock.h"

namespace reef::hooks::os {
namespace {

class OsBash : public DeskTest {
 protected:
  Environment environment(bool sandboxed = false) const {
    return {{{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", folder / "home"}}, sandboxed};
  }
  runtime::ToolAnswer run(const std::string& command, std::int64_t seconds = 20,
                          bool sandboxed = false) {
    const json::object arguments{{"command", command}, {"timeout", seconds}};
    return test::run(io, bash(needs, arguments, environment(sandboxed),
                              [this](std::string text) { progress += text; }));
  }
  std::string progress;
};

TEST_F(OsBash, GivesOutputAndHowItEnded) {
  auto answer = run("echo out; echo err >&2");
  EXPECT_EQ(answer.text, "out\nerr\n");
  EXPECT_FALSE(answer.is_error);
  EXPECT_EQ(answer.details.at("exitCode"), 0);
  EXPECT_EQ(progress, "out\nerr\n");
  answer = run("echo no; exit 3");
  EXPECT_EQ(answer.text, "no\n[exit code 3]");
  EXPECT_TRUE(answer.is_error);
  EXPECT_EQ(run("true").text, "(no output)");
  EXPECT_EQ(run("kill -9 $$").text, "(no output)\n[ended by signal 9]");
  EXPECT_EQ(run("printf 'no newline'").text, "no newline");
}

TEST_F(OsBash, RunsInTheWorkingDirectoryWithClosedInputAndTheUsersUmask) {
  EXPECT_EQ(run("pwd").text, needs.paths.cwd + "\n");
  EXPECT_EQ(run("cat; echo done").text, "done\n");
  EXPECT_EQ(run("umask").text, "0022\n");
  needs.paths.cwd = folder / "nowhere";
  const auto answer = run("pwd");
  EXPECT_TRUE(answer.is_error);
  EXPECT_NE(answer.text.find("nowhere"), std::string::npos);
}

TEST_F(OsBash, SeesNothingOfTheEnvironmentButWhatItIsGiven) {
  ::setenv("ANTHROPIC_API_KEY", "sk-secret", 1);
  const auto answer = run("env; cat /proc/self/environ");
  EXPECT_EQ(answer.text.find("sk-secret"), std::string::npos);
  EXPECT_NE(answer.text.find("HOME="), std::string::npos);
  ::unsetenv("ANTHROPIC_API_KEY");
}

TEST_F(OsBash, ATimeoutEndsTheWholeGroup) {
  test::ManualClock clock(io);
  std::optional<runtime::ToolAnswer> got;
  TaskGroup tasks(io.get_executor(), "test");
  const json::object arguments{
      {"command",
       "trap '' TERM; (trap '' TERM; echo begun; sleep 1000; echo late > ghost) & sleep 1000; "
       "sleep 1000"},
      {"timeout", 600}};
  tasks.spawn(test::store_result(
      bash(needs, arguments, environment(), [this](std::string text) { progress += text; }), got));
  ASSERT_TRUE(test::run_until(io, [&] { return progress == "begun\n"; }));
  clock.advance(std::chrono::seconds(599));
  EXPECT_FALSE(got);
  clock.advance(std::chrono::seconds(1));
  EXPECT_FALSE(got) << "it has a second to end by itself";
  clock.advance(std::chrono::seconds(1));
  ASSERT_TRUE(test::run_until(io, [&] { return got.has_value(); }));
  const auto answer = *got;
  EXPECT_TRUE(answer.is_error);
  EXPECT_TRUE(answer.text.starts_with("begun\n[stopped: it took more than 600 s")) << answer.text;
  EXPECT_EQ(answer.details.at("timedOut"), true);
  EXPECT_EQ(run("pgrep -f 'late > ghost' | grep -v $$ || true", 20).text.find("1"),
            std::string::npos);
}

TEST_F(OsBash, BackgroundProcessesEndWithTheCommand) {
  test::ManualClock clock(io);
  // The second one holds the pipe open for longer than it is read after the end.
  std::optional<runtime::ToolAnswer> got;
  TaskGroup tasks(io.get_executor(), "test");
  const json::object arguments{{"command", "sleep 1000 & echo $!; setsid sleep 1000 & echo ok"}};
  tasks.spawn(test::store_result(
      bash(needs, arguments, environment(), [this](std::string text) { progress += text; }), got));
  ASSERT_TRUE(
      test::run_until(io, [&] { return clock.until_next() == std::chrono::milliseconds(300); }));
  EXPECT_FALSE(got);
  clock.advance(std::chrono::milliseconds(300));
  ASSERT_TRUE(test::run_until(io, [&] { return got.has_value(); }));
  const auto answer = *got;
  EXPECT_TRUE(answer.text.ends_with("ok\n")) << answer.text;
  EXPECT_FALSE(answer.is_error);
}

Task<void> run_cancellable(const CallNeeds& needs, Environment environment, bool& ended,
                           std::function<void(std::string)> tell) {
  co_await yield_to_loop();
  struct End {
    bool& ended;
    ~End() { ended = true; }
  } end{ended};
  const json::object arguments{{"command", "echo $$; sleep 1000"}};
  co_await bash(needs, arguments, std::move(environment), std::move(tell));
}

Task<void> until(const bool& flag) {
  while (!flag) co_await yield_to_loop();
}

TEST_F(OsBash, CancellingEndsItAtOnce) {
  bool ended = false;
  bool begun = false;
  TaskGroup tasks(io.get_executor(), "cancelled");
  tasks.spawn(run_cancellable(needs, environment(), ended, [&](std::string text) {
    progress += text;
    begun = true;
  }));
  test::run(io, until(begun));
  const auto pid = std::stoi(progress);
  EXPECT_EQ(::kill(pid, 0), 0);
  const auto began = std::chrono::steady_clock::now();
  tasks.cancel();
  test::run(io, tasks.join());
  EXPECT_TRUE(ended);
  while (::kill(pid, 0) == 0 && std::chrono::steady_clock::now() - began < std::chrono::seconds(5))
    test::run_ready(io);
  EXPECT_NE(::kill(pid, 0), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1000));
}

TEST_F(OsBash, LongOutputIsKeptAsideAndBoundedForTheModel) {
  needs.shown_bytes = 8000;
  const auto answer = run("seq 1 100000");
  EXPECT_LT(answer.text.size(), 8400U);
  EXPECT_TRUE(answer.text.starts_with("1\n2\n"));
  EXPECT_TRUE(answer.text.ends_with("99999\n100000\n"));
  const auto path = std::string(answer.details.at("fullOutputPath").as_string());
  EXPECT_NE(answer.text.find(path), std::string::npos);
  EXPECT_TRUE(path.starts_with(needs.paths.session + "/long_responses/20231114-221320-bash"))
      << path;
  EXPECT_TRUE(test::read_file(path).ends_with("\n99999\n100000\n"));
}

TEST_F(OsBash, AHundredMegabytesOfJunkDoNotHurt) {
  needs.shown_bytes = 8000;
  const auto answer = run("head -c 100000000 /dev/urandom", 60);
  EXPECT_FALSE(answer.is_error) << answer.text.substr(answer.text.size() - 200);
  EXPECT_TRUE(utf8::valid(answer.text));
  EXPECT_LT(answer.text.size(), 40'000U);
  EXPECT_LT(progress.size(), 1'000'000U);
  EXPECT_TRUE(utf8::valid(progress));
}

TEST_F(OsBash, BadArgumentsAreNamed) {
  const auto told = [&](const json::object& arguments) {
    return test::run(io, bash(needs, arguments, environment(), {})).text;
  };
  EXPECT_EQ(told({}), "invalid arguments: 'command' must be a text");
  EXPECT_EQ(told({{"command", "x"}, {"timeout", 0}}),
            "invalid arguments: 'timeout' must be a whole number");
  EXPECT_EQ(told({{"command", std::string("a\0b", 3)}}), "the command holds a NUL character");
  EXPECT_NE(told({{"command", std::string(200'000, 'x')}}).find("100000 are possible"),
            std::string::npos);
}

TEST_F(OsBash, TheSandboxHoldsWhereTheKernelCan) {
  test::write_file(work("a"), "x");
  const auto answer =
      run("cat a; echo y > a; touch b; mkdir c; rm a; exec 3<>/dev/tcp/127.0.0.1/1; ls", 20, true);
  EXPECT_EQ(answer.details.at("sandboxed"), true);
  if (answer.details.contains("sandboxLacks"))
    GTEST_SKIP() << "THE SANDBOX WAS NOT CHECKED: "
                 << answer.details.at("sandboxLacks").as_string();
  EXPECT_EQ(test::read_file(work("a")), "x");
  EXPECT_FALSE(test::exists(work("b")));
  EXPECT_FALSE(test::exists(work("c")));
  EXPECT_TRUE(answer.text.ends_with("a\n")) << answer.text;
}

}  // namespace
}  // namespace reef::hooks::os
