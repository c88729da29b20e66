// When the policy does what it does: against a daemon that only takes notes.
#include "policy/policy.h"

#include <gtest/gtest.h>

#include "support/manual_clock.h"
#include "support/temp_dir.h"
#include "transport/listener.h"

namespace reef::policy {
namespace {

using namespace std::chrono_literals;

// A subscription on which nothing happens.
class Quiet final : public protocol::MessageStream {
 public:
  Task<std::optional<protocol::ServerMessage>> next() override {
    for (;;) co_await sleep_for(24h);
    co_return std::nullopt;
  }
};

class PolicyTest : public testing::Test {
 protected:
  PolicyTest() { listen(); }
  ~PolicyTest() override {
    if (policy) test::run(io, policy->stop());
    test::run(io, listener->stop());
  }

  void listen() {
    const auto handler = [this](const protocol::Peer&,
                                protocol::ClientMessage message) -> protocol::Answer {
      protocol::ServerMessage answer;
      if (message.has_hello()) {
        answer.mutable_hello()->set_server_version("test");
      } else if (message.has_subscribe_events()) {
        subscribed.push_back(clock.steady());
        if (!welcome) return protocol::answer_with(Error(Errc::unavailable, "not now"));
        return std::make_unique<Quiet>();
      } else if (message.has_list_sessions()) {
        listed.push_back(message.list_sessions().before());
        answer.mutable_session_list()->set_last(true);
      }
      return protocol::answer_with(answer);
    };
    listener = test::value_of(
        transport::Listener::listen_unix(io.get_executor(), folder / "s", handler, {}));
  }
  void start(Rules rules) {
    policy = std::make_unique<Policy>(io.get_executor(), clock,
                                      client::Endpoint{.unix_path = folder / "s"},
                                      [rules] { return rules; });
    policy->start();
    test::run_ready(io);
  }

  test::TempDir folder;
  boost::asio::io_context io{1};
  test::ManualClock clock{io};
  bool welcome = true;
  std::vector<Moment> subscribed;
  std::vector<std::string> listed;  // what ListSessions asked for: nothing said since then
  std::unique_ptr<transport::Listener> listener;
  std::unique_ptr<Policy> policy;
};

TEST_F(PolicyTest, ADaemonThatDoesNotWantItIsAskedLessAndLessOften) {
  welcome = false;
  start(Rules::none());
  clock.advance(1min);
  std::vector<std::int64_t> pauses;
  for (std::size_t i = 1; i < subscribed.size(); ++i)
    pauses.push_back((subscribed[i] - subscribed[i - 1]) / 1ms);
  ASSERT_GE(pauses.size(), 9U);
  pauses.resize(9);
  EXPECT_EQ(pauses,
            (std::vector<std::int64_t>{200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000}));
}

TEST_F(PolicyTest, AConnectionThatLastedIsMadeAgainSoon) {
  start(Rules::none());
  ASSERT_EQ(subscribed.size(), 1U);
  clock.advance(1h);
  EXPECT_EQ(subscribed.size(), 1U);
  test::run(io, listener->stop());
  listen();
  clock.advance(100ms);
  EXPECT_EQ(subscribed.size(), 2U);
}

TEST_F(PolicyTest, StaleSessionsAreLookedForEveryHour) {
  auto rules = Rules::none();
  rules.archive_days = 30;
  const auto begin = clock.now();
  start(rules);
  EXPECT_EQ(listed, (std::vector<std::string>{format_iso(begin - 30 * 24h)}));
  clock.advance(59min);
  EXPECT_EQ(listed.size(), 1U);
  clock.advance(2h);
  EXPECT_EQ(listed, (std::vector<std::string>{format_iso(begin - 30 * 24h),
                                              format_iso(begin - 30 * 24h + 1h),
                                              format_iso(begin - 30 * 24h + 2h)}));
}

}  // namespace
}  // namespace reef::policy
