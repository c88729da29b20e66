// The client against a listener that is not the daemon: slow, silent, gone, or back again.
#include "client/client.h"

#include <gtest/gtest.h>

#include "base/notify.h"
#include "client/following.h"
#include "support/manual_clock.h"
#include "support/run.h"
#include "support/temp_dir.h"
#include "transport/listener.h"

namespace reef::client {
namespace {

// Never answers.
class Silent final : public protocol::MessageStream {
 public:
  Task<std::optional<protocol::ServerMessage>> next() override {
    co_await sleep_for(std::chrono::hours(1));
    co_return std::nullopt;
  }
};

class Many final : public protocol::MessageStream {
 public:
  Task<std::optional<protocol::ServerMessage>> next() override {
    if (sent_ == 5000) co_return std::nullopt;
    protocol::ServerMessage message;
    if (++sent_ == 5000) {
      message.mutable_stream()->mutable_end();
    } else {
      message.mutable_stream()->mutable_chunk()->set_content("x");
    }
    co_return message;
  }

 private:
  int sent_ = 0;
};

// Everything that can be followed.
using Followed = protocol::ClientMessage::MsgCase;
constexpr Followed kFollowed[] = {
    protocol::ClientMessage::kFollowSessions, protocol::ClientMessage::kFollowEntries,
    protocol::ClientMessage::kFollowTasks, protocol::ClientMessage::kFollowDecisions};

std::string& cursor_in(protocol::ClientMessage& message, Followed what) {
  if (what == protocol::ClientMessage::kFollowSessions)
    return *message.mutable_follow_sessions()->mutable_cursor();
  if (what == protocol::ClientMessage::kFollowEntries)
    return *message.mutable_follow_entries()->mutable_cursor();
  if (what == protocol::ClientMessage::kFollowTasks)
    return *message.mutable_follow_tasks()->mutable_cursor();
  return *message.mutable_follow_decisions()->mutable_cursor();
}

protocol::Place& place_in(protocol::ServerMessage& message, Followed what) {
  if (what == protocol::ClientMessage::kFollowSessions)
    return *message.mutable_sessions_news()->mutable_place();
  if (what == protocol::ClientMessage::kFollowEntries)
    return *message.mutable_entries_news()->mutable_place();
  if (what == protocol::ClientMessage::kFollowTasks)
    return *message.mutable_tasks_news()->mutable_place();
  return *message.mutable_decisions_news()->mutable_place();
}

// Says once where it stands, one step behind the cursor it was asked with.
class News final : public protocol::MessageStream {
 public:
  News(Followed what, std::string cursor, bool starts_over)
      : what_(what), cursor_(std::move(cursor)), starts_over_(starts_over) {}
  Task<std::optional<protocol::ServerMessage>> next() override {
    while (std::exchange(said_, true)) co_await sleep_for(std::chrono::hours(1));
    protocol::ServerMessage message;
    auto& place = place_in(message, what_);
    if (starts_over_) {
      place.set_start_over("a test");
    } else {
      place.set_cursor(cursor_ + "+");
    }
    co_return message;
  }

 private:
  Followed what_;
  std::string cursor_;
  bool starts_over_;
  bool said_ = false;
};

class ClientTest : public testing::Test {
 protected:
  ClientTest() { listen(); }
  ~ClientTest() override {
    client.close();
    if (listener) test::run(io, listener->stop());
    test::run_ready(io);
  }

  void listen(std::string token = "") {
    const auto handler = [this](const protocol::Peer&,
                                protocol::ClientMessage message) -> protocol::Answer {
      ++requests;
      protocol::ServerMessage answer;
      if (message.has_hello()) {
        answer.mutable_hello()->set_server_version("test");
        return protocol::answer_with(answer);
      }
      if (message.has_get_stats()) return std::make_unique<Silent>();
      if (std::find(std::begin(kFollowed), std::end(kFollowed), message.msg_case()) !=
          std::end(kFollowed)) {
        const auto what = message.msg_case();
        asked_with.push_back(cursor_in(message, what));
        return std::make_unique<News>(what, asked_with.back(), start_over);
      }
      if (message.has_stream()) return std::make_unique<Many>();
      if (message.has_kill())
        return protocol::answer_with(Error(Errc::not_found, "conversation not found"));
      return protocol::answer_with(protocol::make_pong());
    };
    if (token.empty()) {
      listener = test::value_of(
          transport::Listener::listen_unix(io.get_executor(), folder / "s", handler, {}));
    } else {
      listener =
          test::value_of(transport::Listener::listen_tcp(io.get_executor(), 0, handler, {}, token));
    }
  }
  Endpoint endpoint() const {
    Endpoint endpoint;
    endpoint.unix_path = folder / "s";
    return endpoint;
  }
  test::TempDir folder;
  boost::asio::io_context io{1};
  test::ManualClock clock{io};
  std::unique_ptr<transport::Listener> listener;
  int requests = 0;
  std::vector<std::string> asked_with;  // cursors
  bool start_over = false;
  Client client{io.get_executor(), endpoint()};
};

TEST_F(ClientTest, SaysHelloOnceAndAsksManyThings) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(test::run(io, client.ping()));
  EXPECT_EQ(requests, 11);
  EXPECT_EQ(client.server().server_version(), "test");
}

TEST_F(ClientTest, AnErrorOfTheDaemonIsAnError) {
  const auto killed = test::run(io, client.kill("a", "b"));
  ASSERT_FALSE(killed);
  EXPECT_EQ(killed.error().code, Errc::not_found);
  EXPECT_EQ(killed.error().what, "conversation not found");
}

TEST_F(ClientTest, ASilentDaemonIsATimeOut) {
  ASSERT_TRUE(test::run(io, client.ping()));
  const auto began = clock.steady();
  const auto stats = clock.run(client.stats());
  ASSERT_FALSE(stats);
  EXPECT_EQ(stats.error().code, Errc::timeout);
  EXPECT_EQ(clock.steady() - began, Options().answer_timeout);
  EXPECT_TRUE(test::run(io, client.ping())) << "the connection is still good";
}

TEST_F(ClientTest, WhatIsFollowedGoesOnOverLostConnections) {
  protocol::ClientMessage request;
  request.mutable_follow_tasks();
  Following following(client, request);
  for (const auto* cursor : {"+", "++", "+++"}) {
    ASSERT_TRUE(test::value_of(clock.run(following.next())));
    EXPECT_EQ(following.cursor(), cursor);
    test::run(io, listener->stop());
    listen();
  }
  start_over = true;
  ASSERT_TRUE(test::value_of(clock.run(following.next())));
  EXPECT_EQ(following.cursor(), "") << "what began anew is not asked for by an old cursor";
  test::run(io, listener->stop());
  listen();
  start_over = false;
  ASSERT_TRUE(test::value_of(clock.run(following.next())));
  EXPECT_EQ(asked_with, (std::vector<std::string>{"", "+", "++", "+++", ""}));
  test::run(io, listener->stop());
  listener.reset();
  const auto lost = clock.steady();
  const auto gone = clock.run(following.next());
  ASSERT_FALSE(gone) << "a daemon that does not come back ends it";
  EXPECT_GT(clock.steady() - lost, std::chrono::seconds(30));
  EXPECT_LT(clock.steady() - lost, std::chrono::seconds(40));
  EXPECT_EQ(gone.error().code, Errc::unavailable);
}

TEST_F(ClientTest, EverythingThatCanBeFollowedGoesOnFromItsCursor) {
  for (const auto what : kFollowed) {
    protocol::ClientMessage request;
    cursor_in(request, what) = "from";
    asked_with.clear();
    Following following(client, request);
    const auto first = test::value_of(clock.run(following.next()));
    ASSERT_TRUE(first && client::place_in(*first)) << what;
    test::run(io, listener->stop());
    listen();
    ASSERT_TRUE(test::value_of(clock.run(following.next()))) << what;
    EXPECT_EQ(asked_with, (std::vector<std::string>{"from", "from+"})) << what;
  }
}

Task<Result<int>> count_chunks(Client& client) {
  REEF_CO_TRY(auto stream, co_await client.stream(TurnRequest{"", "", "hi", ""}));
  int chunks = 0;
  for (;;) {
    REEF_CO_TRY(const auto message, co_await stream.next());
    if (!message) co_return chunks;
    if (message->stream().has_chunk()) ++chunks;
  }
}

TEST_F(ClientTest, AStreamEndsAtItsEnd) {
  EXPECT_EQ(test::value_of(test::run(io, count_chunks(client))), 4999);
}

Task<Status> drop_a_stream(Client& client) {
  REEF_CO_TRY(auto stream, co_await client.stream(TurnRequest{"", "", "hi", ""}));
  REEF_CO_TRY(const auto first, co_await stream.next());
  static_cast<void>(first);
  co_return Ok{};
}

TEST_F(ClientTest, AStreamThatIsDroppedDoesNotBlockTheOthers) {
  ASSERT_TRUE(test::run(io, drop_a_stream(client)));
  EXPECT_TRUE(test::run(io, client.ping()));
}

TEST_F(ClientTest, ALostConnectionIsMadeAgain) {
  ASSERT_TRUE(test::run(io, client.ping()));
  test::run(io, listener->stop());
  listen();
  EXPECT_TRUE(test::run(io, client.ping()));
}

TEST_F(ClientTest, NobodyThereIsSaidAtOnce) {
  test::run(io, listener->stop());
  listener.reset();
  const auto pinged = test::run(io, client.ping());
  ASSERT_FALSE(pinged);
  EXPECT_EQ(pinged.error().code, Errc::unavailable);
  EXPECT_NE(pinged.error().what.find(folder.path()), std::string::npos);
}

TEST_F(ClientTest, TheTokenOpensTcpAndAWrongOneDoesNot) {
  test::run(io, listener->stop());
  listen("secret");
  Endpoint tcp;
  tcp.tcp_port = listener->port();
  for (const std::string token : {"", "wrong", "secre", "secret "}) {
    tcp.token = token;
    Client stranger(io.get_executor(), tcp);
    const auto refused = test::run(io, stranger.ping());
    ASSERT_FALSE(refused) << token;
    EXPECT_EQ(refused.error().code, Errc::unauthorized) << refused.error().what;
  }
  tcp.token = "secret";
  Client friendly(io.get_executor(), tcp);
  EXPECT_TRUE(test::run(io, friendly.ping()));
}

TEST_F(ClientTest, ARequestTooLargeIsRefusedHere) {
  TurnRequest turn;
  turn.content = std::string(17U << 20, 'x');
  const auto sent = test::run(io, client.send(turn));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Errc::too_large);
  EXPECT_TRUE(test::run(io, client.ping()));
}

}  // namespace
}  // namespace reef::client
