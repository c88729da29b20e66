#include <sys/stat.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <gtest/gtest.h>

#include "base/notify.h"
#include "base/task_group.h"
#include "http_server/http_server.h"
#include "http_server/visitor.h"
#include "support/manual_clock.h"
#include "support/temp_dir.h"

namespace reef::http_server {
namespace {

using std::chrono::milliseconds;
using test::Visitor;

constexpr std::string_view kGet = "GET /hello?x=1 HTTP/1.1\r\nHost: here\r\n\r\n";

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    options_.limits.header_bytes = 1024;
    options_.limits.body_bytes = 200'000;
    options_.limits.connections = 3;
  }
  ~HttpServerTest() override {
    if (server_) test::run(io_, server_->stop(milliseconds(0)));
  }

  void listen(Handler handler) {
    server_ = test::value_of(
        Server::listen_loopback(io_.get_executor(), 0, std::move(handler), options_));
  }
  // Answers with what was asked.
  void listen_echo() { listen(echo); }
  static Task<Response> echo(Request& request) {
    auto body = co_await request.whole_body();
    if (!body) co_return Response{.status = 500};
    co_return Response{.headers = {{"Content-Type", "text/plain"}},
                       .body = request.method + " " + std::string(request.path()) + " " + *body};
  }
  Visitor visit() { return Visitor(io_, server_->port()); }
  // Runs what is ready until the server has nothing more to do for so long, and then lets some of
  // that time pass, or all of it.
  void wait_for(milliseconds patience, std::optional<milliseconds> some = {}) {
    test::run_until(io_, [&] { return clock_.until_next() == patience; });
    clock_.advance(some.value_or(patience));
  }

  boost::asio::io_context io_;
  test::ManualClock clock_{io_};
  Options options_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpServerTest, AConnectionServesOneRequestAfterTheOther) {
  listen_echo();
  auto visitor = visit();
  visitor.send(kGet);
  EXPECT_EQ(visitor.answer(), "GET /hello ");
  visitor.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(visitor.answer(), "POST /a abc");
  visitor.send("\r\nGET /b HTTP/1.0\r\n\r\n");
  std::string head;
  EXPECT_EQ(visitor.answer(&head), "GET /b ");
  EXPECT_NE(head.find("Connection: close"), std::string::npos);
  EXPECT_EQ(visitor.rest(), "");
}

TEST_F(HttpServerTest, RequestsSentTogetherAreAnsweredInOrder) {
  listen_echo();
  auto visitor = visit();
  visitor.send(
      "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nxGET /2 HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  visitor.close_sending();  // a half-closed connection is still answered
  EXPECT_EQ(visitor.answer(), "POST /1 x");
  EXPECT_EQ(visitor.answer(), "GET /2 ");
  EXPECT_EQ(visitor.answer(), "GET /3 ");
  EXPECT_EQ(visitor.rest(), "");
}

TEST_F(HttpServerTest, AChunkedBodyIsReadWhereverItWasCut) {
  listen_echo();
  const std::string request =
      "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n";
  auto visitor = visit();
  for (const char byte : request) visitor.send(std::string_view(&byte, 1));
  EXPECT_EQ(visitor.answer(), "POST /c abcde");
  visitor.send(request);
  EXPECT_EQ(visitor.answer(), "POST /c abcde");
}

TEST_F(HttpServerTest, HeadHasTheLengthAndNoBody) {
  listen_echo();
  auto visitor = visit();
  visitor.send("HEAD /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(visitor.read_until("\r\n\r\n").find("Content-Length: 12\r\n"), std::string::npos);
  visitor.send(kGet);
  EXPECT_TRUE(visitor.read(5) == "HTTP/") << "nothing stood between the two answers";
}

TEST_F(HttpServerTest, ContinueIsSaidWhenTheBodyIsWantedAndNotBefore) {
  listen([](Request& request) -> Task<Response> {
    if (request.path() == "/no") co_return Response{.status = 403};
    co_return co_await echo(request);
  });
  constexpr std::string_view kRest =
      " HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
  auto wanted = visit();
  wanted.send("POST /yes" + std::string(kRest));
  EXPECT_EQ(wanted.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  wanted.send("abc");
  EXPECT_EQ(wanted.answer(), "POST /yes abc");
  auto unwanted = visit();
  unwanted.send("POST /no" + std::string(kRest));
  EXPECT_EQ(unwanted.status(), 403);
  unwanted.close_sending();
  EXPECT_EQ(unwanted.rest(), "");
}

TEST_F(HttpServerTest, WhatIsTooLargeIsRefused) {
  listen_echo();
  const auto status = [&](const std::string& bytes) {
    auto visitor = visit();
    visitor.send(bytes);
    return visitor.status();
  };
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2000, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(status("GET /" + std::string(5000, 'x')), 431);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 200001\r\n\r\n"), 413);
  std::string chunks = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 3; ++i) chunks += "11170\r\n" + std::string(70'000, 'x') + "\r\n";
  EXPECT_EQ(status(chunks), 413);
  auto fits = visit();
  fits.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n" +
            std::string(200'000, 'x'));
  EXPECT_EQ(fits.answer().size(), 200'000 + 7U);
}

TEST_F(HttpServerTest, WhatIsNoRequestIsRefused) {
  listen_echo();
  const auto status = [&](std::string_view bytes) {
    auto visitor = visit();
    visitor.send(bytes);
    return visitor.status();
  };
  EXPECT_EQ(status("hello there\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n"), 400) << "without Host";
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/3.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(
      status("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
      400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n"), 417);
}

TEST_F(HttpServerTest, WhoeverIsTooSlowIsCutOff) {
  listen_echo();
  for (const auto& [sent, patience] :
       {std::pair("GET / HTTP/1.1\r\nHost:", options_.limits.header),
        std::pair("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
                  options_.limits.stall)}) {
    auto slow = visit();
    slow.send(sent);
    wait_for(patience);
    EXPECT_EQ(slow.status(), 408);
  }
  auto idle = visit();
  wait_for(options_.limits.idle);
  EXPECT_EQ(idle.rest(), "");
  EXPECT_TRUE(idle.ended());
}

TEST_F(HttpServerTest, ATrickleIsAsSlowAsItIs) {
  listen_echo();
  auto visitor = visit();
  visitor.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
  const auto step = options_.limits.stall / 10;
  for (int i = 1; i <= 10; ++i) {
    visitor.send("x");
    wait_for(options_.limits.stall - (i - 1) * step, step);
  }
  EXPECT_EQ(visitor.status(), 408) << "each byte came in time, all of them did not";
}

TEST_F(HttpServerTest, AStreamComesInPiecesAndEndsOrIsBrokenOff) {
  listen([](Request& request) -> Task<Response> {
    const bool breaks = request.path() == "/broken";
    co_return Response{.headers = {{"Content-Type", "text/event-stream"}},
                       .stream = [breaks](Writer& out) -> Task<void> {
                         static_cast<void>(co_await out.write("data: 1\n\n"));
                         if (breaks) throw std::runtime_error("out of words");
                         static_cast<void>(co_await out.write(""));
                         static_cast<void>(co_await out.write("data: 2\n\n"));
                       }};
  });
  auto whole = visit();
  whole.send(kGet);
  EXPECT_NE(whole.read_until("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_EQ(whole.read_until("0\r\n\r\n"), "9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n");
  whole.send("GET /1 HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(whole.rest().ends_with("\r\n\r\ndata: 1\n\ndata: 2\n\n")) << "1.0 knows no chunks";
  auto broken = visit();
  broken.send("GET /broken HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(broken.rest().ends_with("9\r\ndata: 1\n\n\r\n"));
}

TEST_F(HttpServerTest, AReaderThatStopsStopsItsWriterAndIsCutOff) {
  std::size_t written = 0;
  std::optional<Errc> end;
  listen([&](Request&) -> Task<Response> {
    co_return Response{.stream = [&](Writer& out) -> Task<void> {
      const std::string piece(kPieceBytes, 'x');
      for (;;) {
        const auto status = co_await out.write(piece);
        if (!status) {
          end = status.error().code;
          co_return;
        }
        written += piece.size();
      }
    }};
  });
  auto visitor = visit();
  visitor.send(kGet);
  wait_for(options_.limits.stall);
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, Errc::timeout);
  EXPECT_LT(written, 64U << 20) << "what nobody reads is not made";
}

TEST_F(HttpServerTest, APeerThatVanishesCostsItsConnectionOnly) {
  listen_echo();
  auto stays = visit();
  {
    auto goes = visit();
    goes.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
    test::run_ready(io_);
    goes.vanish();
  }
  stays.send(kGet);
  EXPECT_EQ(stays.answer(), "GET /hello ");
  while (server_->connections() > 1) io_.run_one();
}

TEST_F(HttpServerTest, OneConnectionTooManyIsToldSo) {
  listen_echo();
  std::vector<std::unique_ptr<Visitor>> visitors;
  for (int i = 0; i < 3; ++i) {
    visitors.push_back(std::make_unique<Visitor>(io_, server_->port()));
    visitors.back()->send(kGet);
    EXPECT_EQ(visitors.back()->answer(), "GET /hello ");
  }
  auto refused = visit();
  refused.send(kGet);
  EXPECT_EQ(refused.status(), 503);
  refused.close_sending();
  EXPECT_EQ(refused.rest(), "");
  visitors.pop_back();
  while (server_->connections() > 2) io_.run_one();
  auto again = visit();
  again.send(kGet);
  EXPECT_EQ(again.answer(), "GET /hello ");
}

TEST_F(HttpServerTest, AHandlerThatFailsOrAnswersNonsenseIs500) {
  listen([](Request& request) -> Task<Response> {
    if (request.path() == "/throw") throw std::runtime_error("no");
    co_return Response{.headers = {{"X", "a\r\nSet-Cookie: b"}}};
  });
  auto visitor = visit();
  visitor.send("GET /throw HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(visitor.status(), 500);
  visitor.send(kGet);
  EXPECT_EQ(visitor.status(), 500) << "a header must not bring another one";
}

TEST_F(HttpServerTest, AGracefulEndWaitsForAnswersButNotForEver) {
  Notify go(io_.get_executor());
  bool may = false;
  std::size_t asked = 0;
  listen([&](Request& request) -> Task<Response> {
    ++asked;
    while (!may || request.path() == "/never") co_await go.wait();
    co_return Response{.body = "done"};
  });
  auto idle = visit();
  auto slow = visit();
  auto stuck = visit();
  slow.send(kGet);
  stuck.send("GET /never HTTP/1.1\r\nHost: h\r\n\r\n");
  while (asked < 2) io_.run_one();
  std::optional<bool> stopped;
  TaskGroup tasks(io_.get_executor(), "test");
  tasks.spawn([](Server& server, std::optional<bool>& into) -> Task<void> {
    co_await yield_to_loop();
    co_await server.stop(milliseconds(300));
    into = true;
  }(*server_, stopped));
  EXPECT_EQ(idle.rest(), "");
  EXPECT_FALSE(stopped);
  may = true;
  go.notify_all();
  std::string head;
  EXPECT_EQ(slow.answer(&head), "done");
  EXPECT_NE(head.find("Connection: close"), std::string::npos);
  slow.socket().close();
  EXPECT_FALSE(stopped);
  clock_.advance(milliseconds(300));
  EXPECT_EQ(stuck.rest(), "") << "cut off";
  test::run(io_, tasks.join());
  EXPECT_TRUE(stopped);
  EXPECT_EQ(server_->connections(), 0U);
  boost::system::error_code failed;
  boost::asio::ip::tcp::socket late(io_);
  late.connect({boost::asio::ip::address_v4::loopback(), server_->port()}, failed);
  EXPECT_TRUE(failed);
}

TEST_F(HttpServerTest, AServerThatIsDestroyedCutsAllConnectionsOff) {
  std::size_t asked = 0;
  std::size_t ended = 0;
  Notify never(io_.get_executor());
  listen([&](Request& request) -> Task<Response> {
    struct Ended {
      std::size_t& count;
      ~Ended() { ++count; }
    } const guard{ended};
    ++asked;
    if (request.path() == "/body") static_cast<void>(co_await request.whole_body());
    for (;;) co_await never.wait();
  });
  auto idle = visit();
  auto waits = visit();
  auto sends = visit();
  waits.send(kGet);
  sends.send("POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na");
  while (asked < 2) io_.run_one();
  server_.reset();
  EXPECT_EQ(waits.rest(), "");
  EXPECT_EQ(sends.rest(), "");
  EXPECT_EQ(idle.rest(), "");
  test::run_ready(io_);
  EXPECT_EQ(ended, 2U) << "no handler is left behind";
}

TEST_F(HttpServerTest, ASocketFileIsOursAloneAndGoesWithTheServer) {
  test::TempDir dir;
  const auto path = dir.path() + "/s";
  const auto make = [&] { return Server::listen_unix(io_.get_executor(), path, echo, options_); };
  auto first = test::value_of(make());
  struct stat found = {};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  EXPECT_EQ(make().error().code, Errc::conflict);
  test::run(io_, first->stop(milliseconds(0)));
  EXPECT_NE(::stat(path.c_str(), &found), 0);
  {
    // A process that died leaves this.
    boost::asio::local::stream_protocol::acceptor dead(io_, {path});
  }
  server_ = test::value_of(make());
  boost::asio::local::stream_protocol::socket client(io_);
  client.connect({path});
  EXPECT_FALSE(Server::listen_unix(io_.get_executor(), std::string(200, 'x'), echo, options_));
}

TEST_F(HttpServerTest, ASocketThatListensAlreadyIsTakenOver) {
  boost::asio::ip::tcp::acceptor given(io_, {boost::asio::ip::address_v4::loopback(), 0});
  const auto port = given.local_endpoint().port();
  server_ = test::value_of(Server::listen_fd(io_.get_executor(), given.release(), echo, options_));
  EXPECT_EQ(server_->port(), port);
  auto visitor = visit();
  visitor.send(kGet);
  EXPECT_EQ(visitor.answer(), "GET /hello ");
  EXPECT_FALSE(Server::listen_fd(io_.get_executor(), -1, echo, options_));
}

}  // namespace
}  // namespace reef::http_server
