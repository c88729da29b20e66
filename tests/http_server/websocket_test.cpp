#include <gtest/gtest.h>

#include "base/task_group.h"
#include "http_server/http_server.h"
#include "http_server/visitor.h"
#include "support/manual_clock.h"

namespace reef::http_server {
namespace {

using std::chrono::milliseconds;
using test::Visitor;

// A client's frame, masked with zeros.
std::string frame(unsigned first_byte, std::string_view payload) {
  std::string out(1, static_cast<char>(first_byte));
  if (payload.size() < 126) {
    out += static_cast<char>(0x80U | payload.size());
  } else {
    out += static_cast<char>(0x80U | 126U);
    out += static_cast<char>(payload.size() >> 8U);
    out += static_cast<char>(payload.size() & 0xffU);
  }
  return out + std::string(4, '\0') + std::string(payload);
}
std::string close_frame(unsigned code) {
  const char payload[] = {static_cast<char>(code >> 8U), static_cast<char>(code & 0xffU)};
  return frame(0x88, std::string_view(payload, sizeof payload));
}

constexpr unsigned kText = 0x81;
constexpr unsigned kBinary = 0x82;
constexpr unsigned kPing = 0x89;
constexpr unsigned kClose = 0x88;

class WebSocketTest : public testing::Test {
 protected:
  WebSocketTest() { options_.limits.message_bytes = 1000; }
  ~WebSocketTest() override { test::run(io_, server_->stop(milliseconds(0))); }

  // Says every message back until there are none; keeps how that ended.
  void listen_echo() {
    Handler handler = [this](Request&) -> Task<Response> {
      co_return Response{.headers = {{"Sec-WebSocket-Protocol", "reef"}},
                         .websocket = [this](WebSocket& socket) -> Task<void> {
                           for (;;) {
                             auto message = co_await socket.read();
                             if (!message) {
                               end_ = message.error().code;
                               code_ = socket.closed_with();
                               co_return;
                             }
                             if (message->data == "throw") throw std::runtime_error("asked to");
                             if (message->data == "leave") co_return;
                             static_cast<void>(co_await socket.send(*std::move(message)));
                           }
                         }};
    };
    server_ = test::value_of(Server::listen_loopback(io_.get_executor(), 0, handler, options_));
  }
  Visitor upgrade(std::string_view more = "") {
    Visitor out(io_, server_->port());
    out.send(
        "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n" +
        std::string(more));
    const auto head = out.read_until("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
    EXPECT_NE(head.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos) << head;
    EXPECT_NE(head.find("Sec-WebSocket-Protocol: reef"), std::string::npos) << head;
    return out;
  }
  // Reads a short frame: its first byte and its payload.
  using Frame = std::pair<unsigned, std::string>;
  static Frame next(Visitor& visitor) {
    const auto head = visitor.read(2);
    if (head.size() < 2) return {0, ""};
    return {static_cast<unsigned char>(head[0]), visitor.read(static_cast<unsigned char>(head[1]))};
  }
  static unsigned close_code(Visitor& visitor) {
    const auto [kind, payload] = next(visitor);
    if (kind != kClose || payload.size() < 2) return kind;
    return static_cast<unsigned char>(payload[0]) * 256U + static_cast<unsigned char>(payload[1]);
  }

  boost::asio::io_context io_;
  test::ManualClock clock_{io_};
  Options options_;
  std::unique_ptr<Server> server_;
  std::optional<Errc> end_;
  unsigned code_ = 0;
};

TEST_F(WebSocketTest, MessagesComeBackInOrderAndFragmentsAreOneMessage) {
  listen_echo();
  // The first frame comes with the request, before the answer to it.
  auto visitor = upgrade(frame(kText, "one"));
  EXPECT_EQ(next(visitor), Frame(kText, "one"));
  visitor.send(frame(kBinary, std::string("\0\xff", 2)));
  EXPECT_EQ(next(visitor), Frame(kBinary, std::string("\0\xff", 2)));
  visitor.send(frame(0x01, "fr") + frame(kPing, "still there?") + frame(0x00, "agm") +
               frame(0x80, "ents"));
  EXPECT_EQ(next(visitor), Frame(0x8aU, "still there?"));
  EXPECT_EQ(next(visitor), Frame(kText, "fragments"));
  visitor.send(close_frame(4001));
  EXPECT_EQ(close_code(visitor), 4001U);
  EXPECT_EQ(visitor.rest(), "");
  EXPECT_EQ(end_, Errc::gone);
  EXPECT_EQ(code_, 4001U);
}

TEST_F(WebSocketTest, WhoeverBreaksTheRulesIsToldWhich) {
  listen_echo();
  const auto code = [&](const std::string& bytes) {
    end_.reset();
    auto visitor = upgrade(bytes);
    const auto out = close_code(visitor);
    while (!end_) io_.run_one();
    return out;
  };
  EXPECT_EQ(code(frame(kText, std::string(1001, 'x'))), 1009U);
  EXPECT_EQ(end_, Errc::too_large);
  EXPECT_EQ(code(frame(0x01, std::string(600, 'x')) + frame(0x80, std::string(600, 'x'))), 1009U);
  EXPECT_EQ(code(frame(kText, "\xff\xff")), 1007U) << "no UTF-8";
  EXPECT_EQ(end_, Errc::invalid);
  EXPECT_EQ(code(frame(0x80, "x")), 1002U) << "the end of nothing";
  EXPECT_EQ(code(std::string("\x81\x01x", 3)), 1002U) << "not masked";
}

TEST_F(WebSocketTest, TheEndOfTheHandlerIsTheEndOfTheSocket) {
  listen_echo();
  auto leaves = upgrade(frame(kText, "leave"));
  EXPECT_EQ(close_code(leaves), 1000U);
  auto throws = upgrade(frame(kText, "throw"));
  EXPECT_EQ(close_code(throws), 1011U);
}

TEST_F(WebSocketTest, AServerThatStopsSaysGoodbye) {
  listen_echo();
  auto visitor = upgrade(frame(kText, "one"));
  EXPECT_EQ(next(visitor).second, "one");
  bool stopped = false;
  TaskGroup tasks(io_.get_executor(), "test");
  tasks.spawn([](Server& server, bool& done) -> Task<void> {
    co_await server.stop(milliseconds(60'000));
    done = true;
  }(*server_, stopped));
  EXPECT_EQ(close_code(visitor), 1001U);
  visitor.send(close_frame(1001));
  EXPECT_EQ(visitor.rest(), "");
  visitor.socket().close();
  test::run(io_, tasks.join());
  EXPECT_TRUE(stopped);
}

TEST_F(WebSocketTest, OneThatDoesNotEvenAnswerAPingIsCutOff) {
  options_.limits.websocket_idle = milliseconds(100);
  listen_echo();
  auto visitor = upgrade();
  EXPECT_EQ(next(visitor).first, kPing);
  while (!end_) io_.run_one();
  EXPECT_EQ(*end_, Errc::timeout);
}

TEST_F(WebSocketTest, OneThatVanishesEndsItsHandler) {
  listen_echo();
  upgrade().vanish();
  while (!end_) io_.run_one();
  EXPECT_EQ(*end_, Errc::unavailable);
}

TEST_F(WebSocketTest, AReaderThatStopsStopsItsSenderAndIsCutOff) {
  std::size_t sent = 0;
  std::optional<Errc> end;
  Handler handler = [&](Request&) -> Task<Response> {
    co_return Response{.headers = {{"Sec-WebSocket-Protocol", "reef"}},
                       .websocket = [&](WebSocket& socket) -> Task<void> {
                         for (;;) {
                           WebSocket::Message message{false, std::string(kPieceBytes, 'x')};
                           const auto status = co_await socket.send(std::move(message));
                           if (!status) {
                             end = status.error().code;
                             co_return;
                           }
                           sent += kPieceBytes;
                         }
                       }};
  };
  server_ = test::value_of(Server::listen_loopback(io_.get_executor(), 0, handler, options_));
  auto visitor = upgrade();
  test::run_until(io_, [&] { return clock_.until_next() == options_.limits.stall; });
  clock_.advance(options_.limits.stall);
  ASSERT_TRUE(test::run_until(io_, [&] { return end.has_value(); }));
  EXPECT_EQ(*end, Errc::unavailable);
  EXPECT_LT(sent, 64U << 20);
  while (server_->connections() > 0) io_.run_one();
}

TEST_F(WebSocketTest, TasksThatSendAtTheSameTimeSendWholeMessages) {
  options_.limits.message_bytes = 100'000;
  Handler handler = [](Request&) -> Task<Response> {
    co_return Response{.headers = {{"Sec-WebSocket-Protocol", "reef"}},
                       .websocket = [](WebSocket& socket) -> Task<void> {
                         TaskGroup tasks(co_await boost::asio::this_coro::executor, "test");
                         for (const char letter : {'a', 'b', 'c'})
                           tasks.spawn([](WebSocket& to, char what) -> Task<void> {
                             for (int i = 0; i < 20; ++i)
                               static_cast<void>(co_await to.send({true, std::string(100, what)}));
                           }(socket, letter));
                         co_await tasks.join();
                       }};
  };
  server_ = test::value_of(Server::listen_loopback(io_.get_executor(), 0, handler, options_));
  auto visitor = upgrade();
  std::map<std::string, int> seen;
  for (int i = 0; i < 60; ++i) {
    const auto [kind, text] = next(visitor);
    EXPECT_EQ(kind, kText);
    ++seen[text];
  }
  EXPECT_EQ(seen.size(), 3U);
  for (const char letter : {'a', 'b', 'c'}) EXPECT_EQ(seen[std::string(100, letter)], 20);
  EXPECT_EQ(close_code(visitor), 1000U);
}

TEST_F(WebSocketTest, AnOrdinaryRequestIsToldToUpgrade) {
  listen_echo();
  Visitor visitor(io_, server_->port());
  visitor.send("GET /ws HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(visitor.status(), 426);
}

}  // namespace
}  // namespace reef::http_server
