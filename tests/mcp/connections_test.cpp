// Connections as agents share them.
#include "mcp/connections.h"

#include <fstream>

#include <gtest/gtest.h>

#include "fake.h"
#include "support/manual_clock.h"

namespace reef::mcp {
namespace {

using reef::test::run;
using reef::test::run_until;
using namespace std::chrono_literals;

class ConnectionsTest : public testing::Test {
 protected:
  ~ConnectionsTest() override {
    run(io, connections.stop());
    run(io, http.stop());
  }

  Connections::Needs needs() {
    Connections::Needs out{
        io.get_executor(), clock, [this]() -> http::Client& { return http; }, {}};
    out.fetch = [](std::string source) -> Task<Result<std::string>> {
      if (source == "env:MISSING") co_return Error(Errc::not_found, "MISSING is not set");
      if (source == "env:TOKEN") co_return std::string("fetched-token");
      co_return source;
    };
    return out;
  }

  Spec marked(std::vector<std::string> more = {}) {
    more.push_back("--mark");
    more.push_back(folder / "pids");
    return test::fake(std::move(more));
  }
  std::size_t starts() {
    std::ifstream in(folder / "pids");
    std::size_t count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
  }
  std::string call(const std::string& agent, const std::string& tool, json::object arguments = {}) {
    const auto result = run(io, connections.call(agent, "fake", tool, std::move(arguments), {}));
    return result ? result->text : "failed: " + result.error().what;
  }
  // The same for a call that has to wait until the server is tried again.
  std::string call_after(std::chrono::milliseconds pause, const std::string& tool) {
    std::optional<Result<CallResult>> result;
    TaskGroup calls(io.get_executor(), "calls");
    calls.spawn(reef::test::store_result(connections.call("a", "fake", tool, {}, {}), result));
    const auto before = starts();
    clock.advance(pause - 1ms);
    EXPECT_EQ(starts(), before) << "too early";
    clock.advance(1ms);
    if (!run_until(io, [&] { return result.has_value(); })) return {};
    return *result ? (*result)->text : "failed: " + result->error().what;
  }
  State state(const std::string& agent) { return connections.list(agent).at(0).state; }

  reef::test::TempDir folder;
  boost::asio::io_context io{1};
  reef::test::ManualClock clock{io};
  http::Client http{io.get_executor()};
  Connections connections{needs()};
};

TEST_F(ConnectionsTest, NothingIsStartedBeforeItIsUsedAndEqualServersAreOne) {
  for (const auto* agent : {"a", "b", "c"}) connections.declare(agent, {marked()});
  reef::test::run_ready(io);
  EXPECT_EQ(starts(), 0U);
  const auto pid = call("a", "pid");
  EXPECT_EQ(call("b", "pid"), pid);
  EXPECT_EQ(call("c", "pid"), pid);
  EXPECT_EQ(starts(), 1U);
  auto other = marked();
  other.env["X"] = "1";
  connections.declare("d", {other});
  EXPECT_NE(call("d", "pid"), pid) << "another environment is another server";
}

TEST_F(ConnectionsTest, TheLastOneOutEndsItAndAChangeOfOthersDoesNot) {
  connections.declare("a", {marked()});
  connections.declare("b", {marked()});
  const auto pid = call("a", "pid");
  connections.withdraw("a");
  reef::test::run_ready(io);
  EXPECT_EQ(call("b", "pid"), pid);
  connections.withdraw("b");
  connections.declare("b", {marked()});
  EXPECT_EQ(call("b", "pid"), pid) << "gone and back in one change";
  connections.withdraw("b");
  const auto process = std::stoi(pid);
  EXPECT_TRUE(run_until(io, [process] { return ::kill(process, 0) != 0; }));
}

TEST_F(ConnectionsTest, AWatcherHearsThatAServerIsGone) {
  connections.declare("a", {marked()});
  connections.declare("b", {marked()});
  static_cast<void>(call("a", "pid"));
  const auto feed = connections.subscribe();
  for (const auto* agent : {"a", "b"}) {
    const auto there = run(io, feed->next());
    EXPECT_EQ(std::pair(there.agent, there.state), std::pair(std::string(agent), State::connected));
  }
  // A server that is withdrawn and declared again in one change causes no event.
  connections.withdraw("a");
  connections.declare("a", {marked()});
  reef::test::run_ready(io);
  connections.withdraw("b");
  const auto gone = run(io, feed->next());
  EXPECT_EQ(std::pair(gone.agent, gone.state), std::pair(std::string("b"), State::disconnected));
  EXPECT_EQ(gone.server, "fake");
  auto other = marked();
  other.env["X"] = "1";
  connections.declare("a", {other});
  const auto replaced = run(io, feed->next());
  EXPECT_EQ(std::pair(replaced.agent, replaced.state),
            std::pair(std::string("a"), State::disconnected));
  static_cast<void>(call("a", "pid"));
  EXPECT_EQ(run(io, feed->next()).state, State::connecting);
  EXPECT_EQ(run(io, feed->next()).state, State::connected);
  run(io, connections.stop());
  EXPECT_EQ(run(io, feed->next()).state, State::disconnected) << "also when the daemon ends";
}

TEST_F(ConnectionsTest, SecretsAreFetchedWhenItConnects) {
  auto spec = marked();
  spec.env["THE_TOKEN"] = "env:TOKEN";
  connections.declare("a", {spec});
  EXPECT_EQ(call("a", "env", {{"name", "THE_TOKEN"}}), "fetched-token");
  spec.env["THE_TOKEN"] = "env:MISSING";
  connections.declare("a", {spec});
  EXPECT_NE(call("a", "pid").find("MISSING is not set"), std::string::npos);
  EXPECT_EQ(state("a"), State::failed);
}

TEST_F(ConnectionsTest, KeysOfTheDaemonAreNotGivenToServers) {
  ::setenv("REEF_TEST_KEY", "of the daemon", 1);
  connections.declare("a", {marked()});
  EXPECT_EQ(call("a", "env", {{"name", "REEF_TEST_KEY"}}), "(not set)");
}

TEST_F(ConnectionsTest, ACrashIsSurvivedByConnectingAgain) {
  connections.declare("a", {marked()});
  const auto pid = call("a", "pid");
  EXPECT_NE(call("a", "crash").find("exit code 3"), std::string::npos);
  const auto again = call_after(1s, "pid");
  EXPECT_NE(again, pid);
  EXPECT_EQ(again.find("failed"), std::string::npos) << again;
}

TEST_F(ConnectionsTest, OneThatIsNotToBeRestartedStaysDown) {
  auto spec = marked();
  spec.auto_restart = false;
  connections.declare("a", {spec});
  call("a", "crash");
  EXPECT_NE(call("a", "pid").find("auto_restart"), std::string::npos);
  EXPECT_EQ(starts(), 1U);
}

TEST_F(ConnectionsTest, AServerThatHangsHoldsUpNobodyElse) {
  auto hung = marked({"--hang"});
  hung.name = "hung";
  connections.declare("a", {hung, marked()});
  bool warm = false;
  TaskGroup warming(io.get_executor(), "warming");
  warming.spawn([](Connections& all, bool& done) -> Task<void> {
    co_await all.warm("a", 1500ms);
    done = true;
  }(connections, warm));
  run_until(io, [this] { return connections.list("a").at(1).state == State::connected; });
  clock.advance(1499ms);
  EXPECT_FALSE(warm);
  clock.advance(1ms);
  EXPECT_TRUE(warm);
  const auto list = connections.list("a");
  EXPECT_EQ(list.at(0).state, State::connecting);
  EXPECT_EQ(list.at(1).state, State::connected);
  EXPECT_EQ(list.at(1).tools.size(), 17U);
  // The second time the hanging server is not waited for.
  run(io, connections.warm("a", 1500ms));
}

TEST_F(ConnectionsTest, AServerThatNeverAnswersIsGivenUp) {
  auto hung = marked({"--hang"});
  connections.declare("a", {hung});
  std::optional<Result<CallResult>> result;
  TaskGroup calls(io.get_executor(), "calls");
  calls.spawn(reef::test::store_result(connections.call("a", "fake", "pid", {}, {}), result));
  run_until(io, [this] { return starts() == 1; });
  // The probe has five seconds, the handshake thirty, and so has the last question.
  clock.advance(64s);
  EXPECT_FALSE(result);
  EXPECT_EQ(state("a"), State::connecting);
  clock.advance(1s);
  EXPECT_EQ(state("a"), State::connecting) << "its program is being ended";
  clock.advance(10s);
  ASSERT_TRUE(run_until(io, [&] { return result.has_value(); }));
  EXPECT_EQ(result->error().code, Errc::unavailable);
  EXPECT_EQ(state("a"), State::failed);
  EXPECT_NE(connections.list("a").at(0).error.find("no answer to"), std::string::npos)
      << connections.list("a").at(0).error;
}

TEST_F(ConnectionsTest, OneThatFailsIsTriedLessAndLessOften) {
  auto spec = marked({"--dies-at", "initialize"});
  connections.declare("a", {spec});
  EXPECT_NE(call("a", "pid").find("failed"), std::string::npos);
  EXPECT_NE(call_after(1s, "pid").find("failed"), std::string::npos);
  EXPECT_NE(call_after(2s, "pid").find("failed"), std::string::npos);
  // The next pause is longer than a call waits.
  const auto before = starts();
  EXPECT_NE(call("a", "pid").find("it is tried again in"), std::string::npos);
  EXPECT_EQ(starts(), before);
  EXPECT_EQ(state("a"), State::failed);
  EXPECT_NE(connections.list("a").at(0).error.find("exit code 4"), std::string::npos);
}

// It connects each time; a connection that does not last must not reset the pauses.
TEST_F(ConnectionsTest, OneThatDiesSoonAfterItWasConnectedIsTriedLessAndLessOftenToo) {
  connections.declare("a", {marked()});
  EXPECT_NE(call("a", "crash").find("exit code 3"), std::string::npos);
  EXPECT_NE(call_after(1s, "crash").find("exit code 3"), std::string::npos);
  EXPECT_NE(call_after(2s, "crash").find("exit code 3"), std::string::npos);
  EXPECT_NE(call("a", "crash").find("it is tried again in"), std::string::npos);
  EXPECT_EQ(starts(), 3U);
}

TEST_F(ConnectionsTest, AConnectionThatLastedCountsAsASuccess) {
  connections.declare("a", {marked()});
  EXPECT_NE(call("a", "crash").find("exit code 3"), std::string::npos);
  EXPECT_EQ(call_after(1s, "pid").find("failed"), std::string::npos);
  clock.advance(10s);
  EXPECT_NE(call("a", "crash").find("exit code 3"), std::string::npos);
  EXPECT_EQ(call("a", "pid").find("failed"), std::string::npos) << "and is made again at once";
}

TEST_F(ConnectionsTest, AnUnusedServerIsDisconnectedAndComesBackWhenCalled) {
  connections.declare("a", {marked()});
  const auto first = call("a", "pid");
  clock.advance(29min);
  EXPECT_EQ(call("a", "pid"), first) << "used again before its time";
  clock.advance(29min);
  EXPECT_EQ(state("a"), State::connected);
  clock.advance(2min);
  EXPECT_EQ(state("a"), State::disconnected);
  EXPECT_EQ(connections.list("a").at(0).tools.size(), 17U) << "its tools are known all the same";
  const auto again = call("a", "pid");
  EXPECT_EQ(again.find("failed"), std::string::npos) << again;
  EXPECT_NE(again, first);
}

TEST_F(ConnectionsTest, ChangedToolsAreToldToTheirOwners) {
  std::vector<std::string> told;
  connections.on_tools_changed([&](const std::string& agent) { told.push_back(agent); });
  connections.declare("a", {marked()});
  connections.declare("b", {marked()});
  call("a", "pid");
  EXPECT_EQ(told, (std::vector<std::string>{"a", "b"}));
  call("a", "grow");
  EXPECT_TRUE(run_until(io, [&] { return told.size() == 4; }));
  EXPECT_EQ(connections.list("b").at(0).tools.back().name, "grown");
}

// CrabTalk's C13: "connecting" came after "connected", and a second owner heard nothing.
TEST_F(ConnectionsTest, C13EventsComeInOrderForEveryOwner) {
  connections.declare("a", {marked()});
  connections.declare("b", {marked()});
  const auto feed = connections.subscribe();
  call("a", "pid");
  std::vector<std::pair<std::string, State>> seen;
  for (int i = 0; i < 4; ++i) {
    const auto event = run(io, feed->next());
    seen.emplace_back(event.agent, event.state);
  }
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, State>>{{"a", State::connecting},
                                                              {"b", State::connecting},
                                                              {"a", State::connected},
                                                              {"b", State::connected}}));
  const auto late = connections.subscribe();
  EXPECT_EQ(run(io, late->next()).state, State::connected) << "who comes later is told first";
}

}  // namespace
}  // namespace reef::mcp
