#include "process/process.h"

#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/task_group.h"
#include "process/children.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::process {
namespace {

namespace asio = boost::asio;
using test::run;
using test::run_command;
using test::shell_command;

class Processes : public testing::Test {
 protected:
  // All keepers have been reaped when the loop has nothing left to wait for.
  void TearDown() override {
    io.restart();
    io.run_for(std::chrono::seconds(20));
    EXPECT_TRUE(io.stopped()) << "a keeper did not end";
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD) << "a child was not reaped";
  }

  std::unique_ptr<Child> started(Command command) {
    std::unique_ptr<Child> child;
    run(io, keep(std::move(command), child));
    return child;
  }
  Error refusal(Command command) {
    auto result = run(io, start(std::move(command)));
    if (result) throw std::runtime_error("it ran");
    return std::move(result).error();
  }
  static Task<void> keep(Command command, std::unique_ptr<Child>& child) {
    child = test::value_of(co_await start(std::move(command)));
  }

  asio::io_context io{1};
  test::TempDir dir;
};

TEST_F(Processes, OutputErrorsAndTheCodeOfTheEndAreSeparate) {
  const auto ran = run_command(io, shell_command("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(ran.output, "out\n");
  EXPECT_EQ(ran.errors, "err\n");
  EXPECT_EQ(ran.exit.code, 3);
  EXPECT_EQ(ran.exit.signal, 0);
}

TEST_F(Processes, MergedOutputKeepsItsOrder) {
  auto command = shell_command("echo 1; echo 2 >&2; echo 3");
  command.merge_output = true;
  const auto ran = run_command(io, std::move(command));
  EXPECT_EQ(ran.output, "1\n2\n3\n");
  EXPECT_EQ(ran.errors, "");
}

TEST_F(Processes, MuchOutputArrivesWhole) {
  const auto ran = run_command(io, shell_command("head -c 3000000 /dev/zero | tr '\\0' x"));
  EXPECT_EQ(ran.output, std::string(3'000'000, 'x'));
}

TEST_F(Processes, AnEndBySignalIsToldAsOne) {
  const auto ran = run_command(io, shell_command("kill -USR1 $$"));
  EXPECT_EQ(ran.exit.signal, SIGUSR1);
  EXPECT_EQ(ran.exit.code, 0);
}

TEST_F(Processes, StdinIsEmptyUnlessItIsKept) {
  EXPECT_EQ(run_command(io, shell_command("readlink /proc/self/fd/0; cat")).output, "/dev/null\n");
}

Task<void> talk(Child& child, std::string& answer) {
  const std::string big(500'000, 'y');
  test::value_of(co_await child.write_input("first\n"));
  answer = test::value_of(co_await child.read_output()).value();
  test::value_of(co_await child.write_input(big.substr(0, 60'000)));
  child.close_input();
  answer += co_await test::all_output(child);
}

TEST_F(Processes, KeptStdinIsAConversation) {
  Command command;
  command.argv = {"cat"};
  command.keep_stdin = true;
  const auto child = started(std::move(command));
  std::string answer;
  run(io, talk(*child, answer));
  EXPECT_EQ(answer, "first\n" + std::string(60'000, 'y'));
  EXPECT_EQ(run(io, child->wait()).code, 0);
  EXPECT_FALSE(run(io, child->write_input("more")).ok());
}

TEST_F(Processes, WritingToAChildThatClosedItsInputFails) {
  auto command = shell_command("exec <&-; echo closed; sleep 1000");
  command.keep_stdin = true;
  const auto child = started(std::move(command));
  EXPECT_EQ(test::value_of(run(io, child->read_output())), "closed\n");
  const auto wrote = run(io, child->write_input("x"));
  ASSERT_FALSE(wrote.ok());
  EXPECT_EQ(wrote.error().code, Errc::unavailable);
}

TEST_F(Processes, OnlyTheGivenEnvironmentIsThere) {
  ::setenv("REEF_TEST_SECRET", "secret", 1);
  Command command;
  command.argv = {"env"};
  command.environment = {{"PATH", "/usr/bin"}, {"A", "b=c"}};
  EXPECT_EQ(run_command(io, std::move(command)).output, "A=b=c\nPATH=/usr/bin\n");
}

TEST_F(Processes, TheProgramIsLookedUpInItsOwnPath) {
  test::write_file(dir / "greet", "#!/bin/sh\necho \"hello from $0\"\n");
  ::chmod((dir / "greet").c_str(), 0700);
  Command command;
  command.argv = {"greet"};
  command.environment = {{"PATH", "/nowhere:" + dir.path()}};
  EXPECT_EQ(run_command(io, std::move(command)).output, "hello from " + (dir / "greet") + "\n");
}

TEST_F(Processes, ItRunsInItsFolder) {
  Command command;
  command.argv = {"pwd"};
  command.cwd = dir.path();
  EXPECT_EQ(run_command(io, std::move(command)).output, dir.path() + "\n");
}

TEST_F(Processes, ACommandThatCannotRunSaysWhy) {
  Command command;
  command.argv = {"no-such-program"};
  EXPECT_EQ(refusal(command).what, "no program 'no-such-program' in PATH");
  EXPECT_EQ(refusal(command).code, Errc::not_found);

  command.argv = {dir / "gone"};
  EXPECT_EQ(refusal(command).what,
            "cannot run '" + (dir / "gone") + "': No such file or directory");

  test::write_file(dir / "plain", "text");
  command.argv = {dir / "plain"};
  EXPECT_EQ(refusal(command).what, "cannot run '" + (dir / "plain") + "': Permission denied");
  EXPECT_EQ(refusal(command).code, Errc::denied);

  command.argv = {"true"};
  command.cwd = dir / "gone";
  EXPECT_EQ(refusal(command).what,
            "cannot run 'true' in " + (dir / "gone") + ": No such file or directory");

  command.cwd.clear();
  command.argv = {};
  EXPECT_EQ(refusal(command).what, "there is no program to run");
  command.argv = {"echo", std::string("a\0b", 3)};
  EXPECT_EQ(refusal(command).what, "an argument holds a NUL byte");
  command.argv = {"true"};
  command.environment = {{"A=B", "c"}};
  EXPECT_EQ(refusal(command).what, "'A=B' cannot name a variable");
  command.environment = {};
  command.argv = {"true", std::string(200'000, 'x')};
  EXPECT_EQ(refusal(command).what, "cannot run 'true': Argument list too long");
  command.sandbox = Sandbox{.read_only = true, .writable = {dir / "gone"}};
  command.argv = {"true"};
  EXPECT_EQ(refusal(command).what,
            "the sandbox's writable path " + (dir / "gone") + ": No such file or directory");
}

TEST_F(Processes, NoDescriptorOfTheDaemonReachesIt) {
  Fd leaky(::open(dir.path().c_str(), O_RDONLY));  // not close-on-exec
  Command command;
  command.argv = {"ls", "/proc/self/fd"};
  EXPECT_EQ(run_command(io, std::move(command)).output, "0\n1\n2\n3\n");  // 3 is ls reading
}

TEST_F(Processes, SignalsAreAsInAFreshProcess) {
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  Command command;
  command.argv = {"cat", "/proc/self/status"};
  const auto ran = run_command(io, std::move(command));  // SIGPIPE is ignored in tests' main
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const char* which : {"SigBlk", "SigIgn", "SigCgt"})
    EXPECT_NE(ran.output.find(std::string(which) + ":\t0000000000000000\n"), std::string::npos)
        << ran.output;
}

TEST_F(Processes, ItLeadsASessionAndGroupOfItsOwn) {
  const auto child =
      started(shell_command("read -r _ _ _ _ group session _ < /proc/self/stat; "
                            "echo $$ $group $session"));
  const auto pid = std::to_string(child->pid());
  EXPECT_EQ(test::value_of(run(io, child->read_output())), pid + " " + pid + " " + pid + "\n");
}

TEST_F(Processes, ASignalReachesTheWholeGroup) {
  const auto child = started(
      shell_command("(trap 'echo inner; exit' TERM; echo ready; while :; do sleep 0.01; done) & "
                    "trap 'echo outer; wait; exit 5' TERM; wait"));
  EXPECT_EQ(test::value_of(run(io, child->read_output())), "ready\n");
  child->signal_group(SIGTERM);
  const auto said = run(io, test::all_output(*child));
  EXPECT_NE(said.find("inner\n"), std::string::npos) << said;
  EXPECT_NE(said.find("outer\n"), std::string::npos) << said;
  EXPECT_EQ(run(io, child->wait()).code, 5);
  child->signal_group(SIGKILL);  // a signal to a group that is gone does no harm
}

TEST_F(Processes, BackgroundProcessesRunUntilTheChildIsDestroyed) {
  auto child = started(shell_command("(echo running; exec sleep 1000) & exit 7"));
  EXPECT_EQ(test::value_of(run(io, child->read_output())), "running\n");
  EXPECT_EQ(run(io, child->wait()).code, 7);
  // The sleeper still holds stdout, so a read ends only when the sleeper is killed.
  std::optional<std::string> rest("not ended");
  TaskGroup group(io.get_executor(), "test");
  struct Read {
    static Task<void> to_end(Child& child, std::optional<std::string>& into) {
      into = test::value_of(co_await child.read_output());
    }
  };
  group.spawn(Read::to_end(*child, rest));
  test::run_ready(io);
  EXPECT_EQ(rest, "not ended");
  child.reset();
  run(io, group.join());
  EXPECT_EQ(rest, std::nullopt);
}

// A named pipe whose reader sees the end when the last process that can write to it is gone.
class Watched {
 public:
  explicit Watched(const std::string& path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    pipe_ = Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  // Waits for the first newline.
  std::string line() {
    return until([this] { return said_.find('\n') != std::string::npos; });
  }
  bool all_gone() {
    until([this] { return ended_; });
    return ended_;
  }

 private:
  template <class Done>
  std::string until(Done done) {
    while (!done()) {
      pollfd ready = {pipe_.get(), POLLIN, 0};
      if (::poll(&ready, 1, 20'000) <= 0) break;
      char bytes[256];
      const auto got = ::read(pipe_.get(), bytes, sizeof bytes);
      if (got > 0) said_.append(bytes, static_cast<std::size_t>(got));
      if (got == 0) ended_ = true;
      if (ended_ && !done()) break;
    }
    return said_;
  }
  Fd pipe_;
  std::string said_;
  bool ended_ = false;
};

// A command whose children leave the group, the session and the parent; one of them also ignores
// every signal that can be ignored.
std::string runaway(const std::string& fifo) {
  return "exec 9>" + fifo +
         "; setsid bash -c '(trap \"\" TERM HUP INT; setsid sleep 1000 & echo away >&9) & exit' & "
         "(setsid setsid sleep 1000 &); sleep 1000";
}

TEST_F(Processes, DestroyingItEndsAlsoWhatLeftTheGroup) {
  Watched watched(dir / "fifo");
  auto child = started(shell_command(runaway(dir / "fifo")));
  EXPECT_EQ(watched.line(), "away\n");
  child.reset();
  EXPECT_TRUE(watched.all_gone());
}

TEST_F(Processes, NothingOutlivesADaemonKilledBySignalNine) {
  Watched watched(dir / "fifo");
  const auto fifo = dir / "fifo";
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    asio::io_context loop(1);
    std::unique_ptr<Child> child;
    run(loop, keep(shell_command(runaway(fifo)), child));
    for (;;) ::pause();
  }
  EXPECT_EQ(watched.line(), "away\n");
  ::kill(daemon, SIGKILL);
  ::waitpid(daemon, nullptr, 0);
  EXPECT_TRUE(watched.all_gone());
}

TEST_F(Processes, NothingOutlivesAKilledKeeperInItsGroupLeader) {
  Watched watched(dir / "fifo");
  const auto child =
      started(shell_command("exec 9>" + (dir / "fifo") + "; echo $PPID >&9; sleep 1000; :"));
  const int keeper = std::stoi(watched.line());
  ::kill(keeper, SIGKILL);
  EXPECT_EQ(run(io, child->wait()).signal, SIGKILL);
}

Task<void> wait_and_note(Child& child, bool& cancelled) {
  try {
    co_await child.wait();
  } catch (const boost::system::system_error&) {
    cancelled = true;
    throw;
  }
}

TEST_F(Processes, ACancelledWaitLeavesItRunning) {
  auto command = shell_command("read line; echo \"got $line\"; exit 4");
  command.keep_stdin = true;
  const auto child = started(std::move(command));
  bool cancelled = false;
  TaskGroup group(io.get_executor(), "test");
  group.spawn(wait_and_note(*child, cancelled));
  test::run_ready(io);
  group.cancel();
  run(io, group.join());
  EXPECT_TRUE(cancelled);
  test::value_of(run(io, child->write_input("word\n")));
  EXPECT_EQ(test::value_of(run(io, child->read_output())), "got word\n");
  EXPECT_EQ(run(io, child->wait()).code, 4);
}

Task<void> start_and_keep(Command command, std::unique_ptr<Child>& child) {
  co_await asio::this_coro::throw_if_cancelled();
  child = test::value_of(co_await start(std::move(command)));
}

TEST_F(Processes, ACancelledStartLeavesNothing) {
  TaskGroup group(io.get_executor(), "test");
  std::unique_ptr<Child> child;
  group.spawn(start_and_keep(shell_command("sleep 1000"), child));
  io.restart();
  io.run_one();
  group.cancel();
  run(io, group.join());
  child.reset();  // in case the start was quicker; TearDown checks that all are reaped
}

Task<void> one_of_many(int number, int& right) {
  const auto child =
      test::value_of(co_await start(shell_command("echo " + std::to_string(number) + "; exit 9")));
  const auto said = co_await test::all_output(*child);
  const auto exit = co_await child->wait();
  if (said == std::to_string(number) + "\n" && exit.code == 9) ++right;
}

// The daemon forbids tracing of itself; the programs it starts must not inherit that.
TEST_F(Processes, ADaemonThatCannotBeTracedStartsThemAsWell) {
  ::prctl(PR_SET_DUMPABLE, 0);
  const auto ran = run_command(io, shell_command("echo out; ls /proc/self/fd > /dev/null"));
  ::prctl(PR_SET_DUMPABLE, 1);
  EXPECT_EQ(ran.output, "out\n");
  EXPECT_EQ(ran.exit.code, 0);
}

TEST_F(Processes, ManyRunAtOnce) {
  constexpr int kMany = 100;
  int right = 0;
  TaskGroup group(io.get_executor(), "test");
  for (int i = 0; i < kMany; ++i) group.spawn(one_of_many(i, right));
  run(io, group.join());
  EXPECT_EQ(right, kMany);
}

}  // namespace
}  // namespace reef::process
