// Connections over real sockets, with a handler of the test.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "base/files.h"
#include "support/manual_clock.h"
#include "support/run.h"
#include "support/temp_dir.h"
#include "transport/identify.h"
#include "transport/listener.h"

namespace reef::transport {
namespace {

using protocol::ClientMessage;
using protocol::ServerMessage;

// Answers with the payload of PublishEvent, as many times as its source says; "forever" never ends.
class Repeat final : public protocol::MessageStream {
 public:
  Repeat(std::string text, std::uint64_t times, std::uint64_t& pulled)
      : text_(std::move(text)), left_(times), pulled_(pulled) {}
  Task<std::optional<ServerMessage>> next() override {
    co_await yield_to_loop();
    if (left_ == 0) co_return std::nullopt;
    --left_;
    ++pulled_;
    ServerMessage message;
    message.mutable_response()->set_content(text_);
    co_return message;
  }

 private:
  std::string text_;
  std::uint64_t left_;
  std::uint64_t& pulled_;
};

// A client without our client code.
class RawClient {
 public:
  explicit RawClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("connect");
  }
  explicit RawClient(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("connect");
  }
  void write(std::string_view bytes) {
    ASSERT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t(bytes.size()));
  }
  void ask(const std::string& text, const std::string& times,
           std::optional<std::uint64_t> id = std::nullopt) {
    ClientMessage message;
    message.mutable_publish_event()->set_source(times);
    message.mutable_publish_event()->set_payload(text);
    if (id) message.set_request_id(*id);
    write(make_frame(message.SerializeAsString()));
  }
  void finish_writing() { ::shutdown(fd_.get(), SHUT_WR); }
  // Reads what is there now.
  bool read_some() {
    char buffer[65536];
    const auto got = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0) frames_.feed(std::string_view(buffer, std::size_t(got)));
    if (got == 0) closed_ = true;
    return got > 0;
  }
  std::optional<ServerMessage> take() {
    auto payload = frames_.next();
    if (!payload || !*payload) return std::nullopt;
    ServerMessage message;
    EXPECT_TRUE(protocol::parse(message, **payload));
    return message;
  }
  bool closed() const { return closed_; }

 private:
  Fd fd_;
  FrameReader frames_;
  bool closed_ = false;
};

class ConnectionTest : public testing::Test {
 protected:
  void listen(Limits limits) {
    listener = test::value_of(Listener::listen_unix(
        io.get_executor(), path(),
        [this](const protocol::Peer&, ClientMessage message) -> protocol::Answer {
          if (!message.has_publish_event())
            return protocol::answer_with(Error(Errc::invalid, "empty client message"));
          const auto& event = message.publish_event();
          const auto times = event.source() == "forever" ? UINT64_MAX : std::stoull(event.source());
          return std::make_unique<Repeat>(event.payload(), times, pulled);
        },
        limits));
  }
  ~ConnectionTest() override {
    if (listener) test::run(io, listener->stop());
  }
  std::string path() const { return folder / "s"; }

  // Runs the loop until the client has a message or is closed.
  std::optional<ServerMessage> next(RawClient& client) {
    const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (auto message = client.take()) return message;
      if (client.closed()) return std::nullopt;
      io.restart();
      io.poll();
      client.read_some();
    }
    ADD_FAILURE() << "nothing came";
    return std::nullopt;
  }

  test::TempDir folder;
  boost::asio::io_context io{1};
  test::ManualClock clock{io};
  std::unique_ptr<Listener> listener;
  std::uint64_t pulled = 0;
};

TEST_F(ConnectionTest, UnnumberedRequestsAreAnsweredInOrderOneAtATime) {
  listen({});
  RawClient client(path());
  client.ask("a", "3");
  client.ask("b", "2");
  client.ask("c", "1");
  std::string heard;
  for (int i = 0; i < 6; ++i) heard += next(client)->response().content();
  EXPECT_EQ(heard, "aaabbc");
}

TEST_F(ConnectionTest, NumberedRequestsRunSideBySideAndCarryTheirNumber) {
  listen({});
  RawClient client(path());
  client.ask("endless", "forever", 7);
  client.ask("short", "1", 8);
  for (;;) {
    const auto message = next(client);
    ASSERT_TRUE(message);
    ASSERT_TRUE(message->has_request_id());
    EXPECT_EQ(message->response().content(), message->request_id() == 7 ? "endless" : "short");
    if (message->request_id() == 8) break;
  }
}

// The peer as every request of its connection is told of it.
TEST_F(ConnectionTest, APeerIsKnownByItsTransportItsUserAndItsToken) {
  std::optional<protocol::Peer> seen;
  const auto handler = [&](const protocol::Peer& peer, const ClientMessage&) {
    seen = peer;
    return protocol::answer_with(protocol::make_pong());
  };
  const auto ask = [&](RawClient client, const std::string& token) {
    seen.reset();
    ClientMessage message;
    message.mutable_hello()->set_token(token);
    client.write(make_frame(message.SerializeAsString()));
    return next(client).value();
  };
  listener = test::value_of(Listener::listen_unix(io.get_executor(), path(), handler, {}));
  ASSERT_TRUE(ask(RawClient(path()), "").has_pong());
  EXPECT_EQ(protocol::name_of(seen->via), "unix");
  EXPECT_EQ(seen->uid, ::geteuid());
  EXPECT_EQ(seen->pid, ::getpid());
  EXPECT_FALSE(seen->token);
  EXPECT_EQ(protocol::right_of(*seen), protocol::Right::admin);
  EXPECT_EQ(seen->sender, "user");
  test::run(io, listener->stop());
  for (const std::string token : {"", "secret"}) {
    listener = test::value_of(Listener::listen_tcp(io.get_executor(), 0, handler, {}, token));
    listener->set_identify([](std::uint16_t port, std::uint16_t peer_port) -> Task<protocol::Peer> {
      co_return tcp_peer(port, peer_port);
    });
    ASSERT_TRUE(ask(RawClient(listener->port()), token).has_pong());
    EXPECT_EQ(protocol::name_of(seen->via), "tcp");
    EXPECT_EQ(seen->uid, ::geteuid()) << "the kernel knows whose socket it is";
    EXPECT_EQ(seen->token, !token.empty());
    EXPECT_EQ(seen->sender, "user");
    if (!token.empty()) {
      EXPECT_EQ(ask(RawClient(listener->port()), "wrong").error().code(), 401U);
      EXPECT_FALSE(seen.has_value()) << "nothing of it is handled";
    }
    test::run(io, listener->stop());
  }
  listener.reset();
}

TEST_F(ConnectionTest, TooManyRequestsInFlightAreRefusedByNumber) {
  Limits limits;
  limits.requests_in_flight_max = 2;
  listen(limits);
  RawClient client(path());
  for (std::uint64_t id = 1; id <= 3; ++id) client.ask("x", "forever", id);
  for (;;) {
    const auto message = next(client);
    ASSERT_TRUE(message);
    if (!message->has_error()) continue;
    EXPECT_EQ(message->error().code(), 429U);
    EXPECT_EQ(message->request_id(), 3U);
    break;
  }
}

TEST_F(ConnectionTest, AHalfClosedClientGetsItsAnswer) {
  listen({});
  RawClient client(path());
  client.ask("late", "2");
  client.finish_writing();
  EXPECT_EQ(next(client)->response().content(), "late");
  EXPECT_EQ(next(client)->response().content(), "late");
  EXPECT_FALSE(next(client)) << "and then the connection is closed";
}

TEST_F(ConnectionTest, BadFramesAreAnsweredWithTheReasonAndThenClosed) {
  listen({});
  const auto refused_with = [this](std::string_view bytes, bool finish) -> std::uint32_t {
    RawClient client(path());
    client.write(bytes);
    if (finish) client.finish_writing();
    const auto message = next(client);
    if (!message) return 0;
    EXPECT_FALSE(next(client)) << "the connection must be closed";
    return message->error().code();
  };
  EXPECT_EQ(refused_with(std::string_view("\xff\xff\xff\xff", 4), false), 413U);
  EXPECT_EQ(refused_with(std::string_view("\0\0\0\x02\xff\xff", 6), false), 400U);
  EXPECT_EQ(refused_with(std::string_view("\0\0\0\x09"
                                          "abc",
                                          7),
                         true),
            400U);
  EXPECT_EQ(refused_with(std::string_view("\0\0", 2), true), 400U);
  RawClient fine(path());
  fine.ask("alive", "1");
  EXPECT_EQ(next(fine)->response().content(), "alive");
}

TEST_F(ConnectionTest, AnEmptyMessageIsAnErrorAndTheConnectionGoesOn) {
  listen({});
  RawClient client(path());
  client.write(make_frame(""));
  EXPECT_EQ(next(client)->error().code(), 400U);
  client.ask("still here", "1");
  EXPECT_EQ(next(client)->response().content(), "still here");
}

TEST_F(ConnectionTest, AReaderThatStallsIsBoundedThenCutAndNobodyElseNotices) {
  Limits limits;
  limits.send_queue_bytes_max = 64U << 10;
  listen(limits);
  RawClient stalled(path());
  stalled.ask(std::string(1000, 'x'), "forever");
  RawClient other(path());
  std::size_t answered = 0;
  const auto ask = [&] {
    other.ask("quick", "1");
    const auto answer = next(other);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->response().content(), "quick");
    ++answered;
  };
  ask();
  clock.advance(std::chrono::seconds(29));
  ask();
  EXPECT_EQ(listener->connections(), 2U);
  // Its time is looked at every two seconds.
  clock.advance(std::chrono::seconds(3));
  EXPECT_EQ(listener->connections(), 1U) << "the stalled reader was not cut";
  ask();
  // Only as much was taken from the stream as fits into the queue and the kernel's buffers. The
  // other client's answers were counted too.
  EXPECT_LT(pulled - answered, 3000U);
}

TEST_F(ConnectionTest, AClientThatGoesAwayEndsItsStreams) {
  listen({});
  {
    RawClient client(path());
    client.ask("x", "forever");
    ASSERT_TRUE(next(client));
  }
  EXPECT_TRUE(test::run_until(io, [this] { return listener->connections() == 0; }));
}

TEST_F(ConnectionTest, AStrangerThatDoesNotShowTheTokenIsCut) {
  listener = test::value_of(Listener::listen_tcp(
      io.get_executor(), 0,
      [](const protocol::Peer&, const ClientMessage&) {
        return protocol::answer_with(protocol::make_pong());
      },
      {}, "the token"));
  boost::asio::ip::tcp::socket stranger(io);
  stranger.connect({boost::asio::ip::address_v4::loopback(), listener->port()});
  ASSERT_TRUE(test::run_until(io, [this] { return listener->connections() == 1; }));
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(listener->connections(), 1U);
  clock.advance(std::chrono::seconds(2));
  EXPECT_TRUE(test::run_until(io, [this] { return listener->connections() == 0; }));
}

TEST_F(ConnectionTest, AFrameThatIsBegunAndDoesNotGoOnIsCut) {
  listen({});
  listener->set_budget(std::make_shared<FrameBudget>(io.get_executor()));
  RawClient client(path());
  client.write(make_frame(std::string(1U << 20, 'x')).substr(0, 100'000));
  ASSERT_TRUE(test::run_until(io, [this] { return listener->connections() == 1; }));
  test::run_ready(io);
  clock.advance(std::chrono::seconds(29));
  EXPECT_EQ(listener->connections(), 1U);
  clock.advance(std::chrono::seconds(3));
  EXPECT_EQ(listener->connections(), 0U);
}

TEST_F(ConnectionTest, MoreConnectionsThanAllowedAreTurnedAwayWithAReason) {
  Limits limits;
  limits.connections_max = 2;
  listen(limits);
  RawClient first(path());
  RawClient second(path());
  first.ask("a", "1");
  second.ask("b", "1");
  ASSERT_TRUE(next(first));
  ASSERT_TRUE(next(second));
  RawClient third(path());
  const auto message = next(third);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->error().code(), 503U);
}

TEST_F(ConnectionTest, AnAnswerTooLargeForAFrameSaysSo) {
  listener = test::value_of(Listener::listen_unix(io.get_executor(), path(),
                                                  [](const protocol::Peer&, const ClientMessage&) {
                                                    ServerMessage huge;
                                                    huge.mutable_response()->set_content(
                                                        std::string(kFramePayloadBytesMax, 'x'));
                                                    return protocol::answer_with(std::move(huge));
                                                  },
                                                  {}));
  RawClient client(path());
  client.ask("", "1", 5);
  const auto message = next(client);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->error().code(), 413U);
  EXPECT_EQ(message->request_id(), 5U);
}

}  // namespace
}  // namespace reef::transport
