// The real daemon: signals, reload, restart.
#include <signal.h>

#include <gtest/gtest.h>

#include "client/client.h"
#include "support/daemon_process.h"
#include "support/run.h"

namespace reef {
namespace {

class DaemonTest : public testing::Test {
 protected:
  std::unique_ptr<client::Client> connect(const test::DaemonProcess& daemon) {
    return std::make_unique<client::Client>(io.get_executor(), daemon.endpoint());
  }
  std::string send(client::Client& client, const std::string& agent, const std::string& content) {
    auto answer = test::run(io, client.send(client::TurnRequest{agent, "user", content, "/"}));
    return answer ? answer->content() : "error: " + answer.error().what;
  }
  ~DaemonTest() override { test::run_ready(io); }

  test::TempDir home;
  boost::asio::io_context io{1};
};

// Reads until the first chunk; the stream stays open.
Task<Result<client::Stream>> open_stream(client::Client& client, client::TurnRequest turn) {
  REEF_CO_TRY(auto stream, co_await client.stream(std::move(turn)));
  for (;;) {
    REEF_CO_TRY(const auto message, co_await stream.next());
    if (!message) co_return Error(Errc::internal, "the stream ended early");
    if (message->stream().has_chunk()) co_return stream;
  }
}

Task<Result<protocol::StreamEnd>> read_to_end(client::Stream& stream) {
  for (;;) {
    REEF_CO_TRY(const auto message, co_await stream.next());
    if (!message) co_return Error(Errc::internal, "no end");
    if (message->stream().has_end()) co_return message->stream().end();
  }
}

TEST_F(DaemonTest, SigtermLetsARunningTurnFinish) {
  test::add_scripted_agent(home.path(), "slow",
                           R"({"replies":[{"text":"a b c d e f g h","delay_ms":40}]})");
  test::DaemonProcess daemon(home.path());
  auto client = connect(daemon);
  auto stream = test::value_of(
      test::run(io, open_stream(*client, client::TurnRequest{"slow", "user", "hi", ""})));
  daemon.signal(SIGTERM);
  const auto end = test::run(io, read_to_end(stream));
  ASSERT_TRUE(end) << end.error().what;
  EXPECT_EQ(end->error(), "");
  EXPECT_EQ(daemon.wait_for_exit(std::chrono::seconds(5)), 0);
}

TEST_F(DaemonTest, SigtermCancelsATurnThatDoesNotEndAndKeepsWhatItSaid) {
  test::add_scripted_agent(home.path(), "stuck", R"({"replies":[{"text":"so far","hang":true}]})");
  std::string id;
  {
    test::DaemonProcess daemon(home.path());
    auto client = connect(daemon);
    auto stream = test::value_of(
        test::run(io, open_stream(*client, client::TurnRequest{"stuck", "user", "hi", ""})));
    daemon.signal(SIGTERM);
    const auto end = test::run(io, read_to_end(stream));
    ASSERT_TRUE(end) << end.error().what;
    EXPECT_EQ(end->error(), "cancelled");
    id = end->session_id();
    EXPECT_EQ(daemon.wait_for_exit(std::chrono::seconds(5)), 0);
  }
  EXPECT_NE(test::read_file(home / ("sessions/" + id + "/session.jsonl")).find("so far"),
            std::string::npos);
  EXPECT_FALSE(test::exists(home / "run/reefd.sock"));
}

TEST_F(DaemonTest, SigintEndsIt) {
  test::DaemonProcess daemon(home.path());
  daemon.signal(SIGINT);
  EXPECT_EQ(daemon.wait_for_exit(std::chrono::seconds(5)), 0);
}

TEST_F(DaemonTest, ReloadKeepsRunsAndConnections) {
  test::add_scripted_agent(home.path(), "stuck", R"({"replies":[{"text":"so far","hang":true}]})");
  test::DaemonProcess daemon(home.path());
  auto client = connect(daemon);
  auto stream = test::value_of(
      test::run(io, open_stream(*client, client::TurnRequest{"stuck", "user", "hi", ""})));
  EXPECT_EQ(send(*client, "late", "hi"), "error: agent 'late' not registered");

  test::add_scripted_agent(home.path(), "late", R"({"replies":[{"text":"here now"}]})");
  ASSERT_TRUE(test::run(io, client->reload()));
  EXPECT_EQ(send(*client, "late", "hi"), "here now");

  // A broken file is refused, and the running configuration stays in force.
  test::write_file(home / "config.toml", "[tcp]\nport = true\n");
  const auto refused = test::run(io, client->reload());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("config.toml:2: tcp.port"), std::string::npos)
      << refused.error().what;
  EXPECT_EQ(send(*client, "late", "again"), "here now");

  ASSERT_TRUE(test::run(io, client->kill("stuck", "user")));
  const auto end = test::run(io, read_to_end(stream));
  ASSERT_TRUE(end) << end.error().what;
  EXPECT_EQ(end->error(), "cancelled");
}

TEST_F(DaemonTest, SighupReloads) {
  test::DaemonProcess daemon(home.path());
  auto client = connect(daemon);
  ASSERT_TRUE(test::run(io, client->ping()));
  test::add_scripted_agent(home.path(), "late", R"({"replies":[{"text":"here now"}]})");
  daemon.signal(SIGHUP);
  // Nothing tells us when it is done, so ask until it is.
  const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
  std::string answer;
  while (answer != "here now" && std::chrono::steady_clock::now() < deadline)
    answer = send(*client, "late", "hi");
  EXPECT_EQ(answer, "here now");
}

TEST_F(DaemonTest, AConversationContinuesAfterARestart) {
  std::string first_session;
  {
    test::DaemonProcess daemon(home.path());
    auto client = connect(daemon);
    send(*client, "", "the vault is blue");
    first_session = test::value_of(test::run(io, client->sessions())).sessions(0).id();
    daemon.kill9();
  }
  test::DaemonProcess daemon(home.path());
  auto client = connect(daemon);
  EXPECT_NE(send(*client, "", "which colour is the vault?").find("the vault is blue"),
            std::string::npos);
  const auto list = test::value_of(test::run(io, client->sessions()));
  ASSERT_EQ(list.sessions_size(), 1);
  EXPECT_EQ(list.sessions(0).id(), first_session);
  EXPECT_EQ(list.sessions(0).message_count(), 7U) << "two turns, two tool calls in the second";
}

TEST_F(DaemonTest, AClientThatLeavesDoesNotEndTheRun) {
  test::add_scripted_agent(home.path(), "slow",
                           R"({"replies":[{"text":"a b c d e f g h","delay_ms":5}]})");
  test::DaemonProcess daemon(home.path());
  std::string id;
  {
    auto leaving = connect(daemon);
    auto stream = test::value_of(
        test::run(io, open_stream(*leaving, client::TurnRequest{"slow", "user", "hi", ""})));
    leaving->close();
  }
  auto client = connect(daemon);
  const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
  std::uint64_t messages = 0;
  while (messages < 2 && std::chrono::steady_clock::now() < deadline) {
    const auto list = test::value_of(test::run(io, client->sessions()));
    messages = list.sessions().empty() ? 0 : list.sessions(0).message_count();
  }
  EXPECT_EQ(messages, 2U);

  // The answer is unread until a client looks at it.
  const auto unread = [&] {
    protocol::ListSessions query;
    query.set_unread(true);
    return test::value_of(test::run(io, client->sessions(query))).sessions_size();
  };
  while (unread() == 0 && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(unread(), 1);
  const auto all = test::value_of(test::run(io, client->sessions()));
  ASSERT_TRUE(test::run(io, client->read_session(all.sessions(0).id())));
  while (unread() == 1 && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(unread(), 0);
}

// The figures themselves are in ./bench; this only guards the order of magnitude.
TEST_F(DaemonTest, AnIdleDaemonIsSmall) {
#ifdef REEF_SANITIZED
  GTEST_SKIP() << "a sanitizer's own memory would be measured";
#endif
  test::DaemonProcess daemon(home.path());
  auto client = connect(daemon);
  ASSERT_TRUE(test::run(io, client->ping()));
  EXPECT_LT(daemon.memory("VmRSS"), 30U << 20);
}

}  // namespace
}  // namespace reef
