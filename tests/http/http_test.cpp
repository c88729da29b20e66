#include "http/http.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/task_group.h"
#include "support/fake_http.h"
#include "support/manual_clock.h"
#include "support/run.h"

namespace reef::http {
namespace {

using namespace std::chrono_literals;
using test::FakeReply;

class HttpTest : public testing::Test {
 protected:
  ~HttpTest() override {
    test::run(io_, client_.stop());
    test::run(io_, server_.stop());
  }

  struct Got {
    int status = 0;
    Headers headers;
    std::string body;
    std::optional<Error> error;
  };

  Task<Got> fetch(Request request, Timeouts timeouts) {
    Got got;
    auto answer = co_await client_.send(std::move(request), timeouts);
    if (!answer) {
      got.error = answer.error();
      co_return got;
    }
    got.status = answer->status();
    got.headers = answer->headers();
    for (;;) {
      auto bytes = co_await answer->read();
      if (!bytes) {
        got.error = bytes.error();
        co_return got;
      }
      if (bytes->empty()) co_return got;
      got.body += *bytes;
    }
  }

  Got get(Request request, Timeouts timeouts = {}) {
    return test::run(io_, fetch(std::move(request), timeouts));
  }

  Request post(std::string body = "{}") const {
    return {"POST", server_.url() + "/v1/x", {{"X-One", "1"}, {"X-Empty", ""}}, std::move(body)};
  }

  template <class Condition>
  Task<void> until(Condition condition) {
    while (!condition()) co_await server_.changed().wait();
  }

  boost::asio::io_context io_{1};
  test::ManualClock clock_{io_};
  test::FakeHttp server_{io_.get_executor()};
  Client client_{io_.get_executor()};
};

TEST_F(HttpTest, ARequestGoesOutAsItIsAndItsAnswerComesBack) {
  server_.reply(test::json_reply(418, R"({"a":1})"));
  const auto got = get(post(std::string("a\0b", 3)));
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.status, 418);
  EXPECT_EQ(got.body, R"({"a":1})");
  EXPECT_EQ(*find_header(got.headers, "content-type"), "application/json");
  ASSERT_EQ(server_.requests().size(), 1U);
  const auto& seen = server_.requests()[0];
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.target, "/v1/x");
  EXPECT_EQ(seen.headers.at("x-one"), "1");
  EXPECT_EQ(seen.headers.at("x-empty"), "");
  EXPECT_FALSE(seen.headers.contains("expect"));
  EXPECT_EQ(seen.body, std::string("a\0b", 3));
}

TEST_F(HttpTest, ConnectionsAreKeptAndShared) {
  server_.reply(test::event_stream({"a", "b"}));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get(post()).body, "ab");
  EXPECT_EQ(server_.connections(), 1U);
}

TEST_F(HttpTest, RedirectsAreNotFollowed) {
  FakeReply moved;
  moved.status = 302;
  moved.headers = {{"Location", server_.url() + "/elsewhere"}};
  server_.reply(moved);
  EXPECT_EQ(get(post()).status, 302);
  EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_F(HttpTest, ProxiesComeFromTheEnvironmentButNotForThisMachine) {
  server_.reply(test::json_reply(200, "{}"));
  const auto proxy = server_.url();
  ::setenv("http_proxy", proxy.c_str(), 1);
  auto request = post();
  request.url = "http://model.invalid/v1/x";
  const auto far = get(request);
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  const auto near = get(post());
  ::unsetenv("http_proxy");
  EXPECT_EQ(far.status, 200);
  EXPECT_EQ(server_.requests()[0].target, "http://model.invalid/v1/x");
  EXPECT_EQ(near.status, 200);
}

TEST_F(HttpTest, CompressedAnswersAreUnpacked) {
  // gzip of "hello hello hello\n"
  const unsigned char packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
                                  0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x90, 0x5c,
                                  0x00, 0x3b, 0x7c, 0x8a, 0xdf, 0x12, 0x00, 0x00, 0x00};
  auto reply = test::event_stream(
      {std::string(reinterpret_cast<const char*>(packed), 12),
       std::string(reinterpret_cast<const char*>(packed) + 12, sizeof packed - 12)});
  reply.headers.emplace_back("Content-Encoding", "gzip");
  server_.reply(reply);
  EXPECT_EQ(get(post()).body, "hello hello hello\n");
  EXPECT_NE(server_.requests()[0].headers.at("accept-encoding").find("gzip"), std::string::npos);
}

TEST_F(HttpTest, InterimAnswersAndTrailersAreNotTheAnswer) {
  FakeReply raw;
  raw.raw =
      "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
      "chunked\r\nX-Late: 2\r\n\r\n2\r\nhi\r\n0\r\nX-Trailer: 3\r\n\r\n";
  server_.reply(raw);
  const auto got = get(post());
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, "hi");
  EXPECT_FALSE(find_header(got.headers, "x-early"));
  EXPECT_TRUE(find_header(got.headers, "x-late"));
  EXPECT_FALSE(find_header(got.headers, "x-trailer"));
}

TEST_F(HttpTest, FailuresSayWhatHappenedAndWhere) {
  auto request = post();
  request.url = "http://127.0.0.1:1/secret-path?key=hidden";
  const auto refused = get(request);
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, Errc::unavailable);
  EXPECT_NE(refused.error->what.find("127.0.0.1:1"), std::string::npos) << refused.error->what;
  EXPECT_EQ(refused.error->what.find("hidden"), std::string::npos) << refused.error->what;

  request.url = "gopher://127.0.0.1/";
  EXPECT_EQ(get(request).error->code, Errc::invalid);
  request.url = server_.url();
  request.headers = {{"X-Bad", "a\r\nX-Injected: 1"}};
  EXPECT_EQ(get(request).error->code, Errc::invalid);
}

TEST_F(HttpTest, ABodyThatIsCutIsAnErrorAfterWhatCame) {
  for (const auto then : {FakeReply::Then::cut, FakeReply::Then::reset}) {
    auto reply = test::event_stream({"so far"});
    reply.then = then;
    server_.on_request = [reply](const auto&) { return reply; };
    const auto got = get(post());
    ASSERT_TRUE(got.error);
    EXPECT_EQ(got.error->code, Errc::unavailable);
    if (then == FakeReply::Then::cut) EXPECT_EQ(got.body, "so far");
  }
}

TEST_F(HttpTest, GarbageIsAnError) {
  FakeReply garbage;
  garbage.raw = "\x16\x03\x01 this is not HTTP\r\n\r\n";
  server_.reply(garbage);
  const auto got = get(post());
  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->code, Errc::unavailable);
}

TEST_F(HttpTest, SilenceIsBounded) {
  FakeReply silent;
  silent.silent = true;
  auto stalled = test::event_stream({"so far"});
  stalled.then = FakeReply::Then::hang;
  server_.reply(silent);
  server_.reply(stalled);
  const auto get_late = [this](std::chrono::milliseconds patience) {
    std::optional<Got> got;
    TaskGroup tasks(io_.get_executor(), "test");
    tasks.spawn(test::store_result(fetch(post(), {}), got));
    const auto asked = server_.pieces_sent() + server_.requests().size();
    test::run_until(io_, [&] { return server_.pieces_sent() + server_.requests().size() > asked; });
    test::run_until(io_, [&] { return clock_.until_next() == patience; });
    clock_.advance(patience - 1ms);
    EXPECT_FALSE(got);
    clock_.advance(1ms);
    EXPECT_TRUE(got);
    return got.value_or(Got());
  };
  const auto no_head = get_late(Timeouts().first_byte);
  ASSERT_TRUE(no_head.error);
  EXPECT_EQ(no_head.error->code, Errc::timeout);
  const auto no_more = get_late(Timeouts().idle);
  ASSERT_TRUE(no_more.error);
  EXPECT_EQ(no_more.error->code, Errc::timeout);
  EXPECT_EQ(no_more.body, "so far");
  // No connection stays open.
  test::run(io_, until([&] { return server_.closed().size() == 2; }));
}

TEST_F(HttpTest, ConnectingIsBounded) {
  // The limit covers the TLS handshake: this server accepts and then says nothing.
  FakeReply silent;
  silent.silent = true;
  server_.reply(silent);
  auto request = post();
  request.url = "https://" + server_.url().substr(7);
  Timeouts timeouts;
  timeouts.connect = 50ms;
  const auto got = get(request, timeouts);
  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->code, Errc::timeout);
}

TEST_F(HttpTest, AReaderThatIsSlowMakesTheServerWait) {
  static constexpr std::size_t kPieces = 1000;
  static constexpr std::size_t kPieceBytes = 64U << 10;
  server_.reply(
      test::event_stream(std::vector<std::string>(kPieces, std::string(kPieceBytes, 'x'))));
  const auto slow = [this](std::size_t& total, std::size_t& most_ahead) -> Task<void> {
    auto answer = test::value_of(co_await client_.send(post(), {}));
    for (;;) {
      const auto bytes = test::value_of(co_await answer.read());
      if (bytes.empty()) break;
      EXPECT_LE(bytes.size(), kBufferBytesMax + (64U << 10));
      total += bytes.size();
      // The server gets ahead until the socket's buffers and ours are full, and no further.
      for (int i = 0; i < 50; ++i) co_await yield_to_loop();
      const auto sent = server_.pieces_sent() * kPieceBytes;
      most_ahead = std::max(most_ahead, sent - std::min(sent, total));
    }
  };
  std::size_t total = 0;
  std::size_t most_ahead = 0;
  test::run(io_, slow(total, most_ahead));
  EXPECT_EQ(total, kPieces * kPieceBytes);
  EXPECT_LT(most_ahead, total / 2);
}

// The peer must see its socket closed within 50 ms, whatever the request was doing.
class Cancel : public HttpTest, public testing::WithParamInterface<const char*> {};

TEST_P(Cancel, ClosesTheSocketAtOnce) {
  const std::string phase = GetParam();
  FakeReply reply = test::event_stream({"data: so f"});
  reply.then = FakeReply::Then::hang;
  reply.silent = phase != "body";
  server_.reply(reply);
  auto request = post();
  if (phase == "connect") request.url = "https://" + server_.url().substr(7);

  TaskGroup group(io_.get_executor(), "test");
  const auto task = [this](Request what) -> Task<void> {
    co_await yield_to_loop();
    static_cast<void>(co_await fetch(std::move(what), {}));
    ADD_FAILURE() << "was not cancelled";
  };
  group.spawn(task(request));
  test::run(io_, until([&] {
              if (phase == "connect") return server_.connections() == 1;
              if (phase == "headers") return server_.requests().size() == 1;
              return server_.pieces_sent() == 1;
            }));
  const auto before = std::chrono::steady_clock::now();
  group.cancel();
  test::run(io_, group.join());
  EXPECT_EQ(client_.in_flight(), 0U);
  test::run(io_, until([&] { return server_.closed().size() == 1; }));
  EXPECT_LT(server_.closed().at(0) - before, 50ms);
}

INSTANTIATE_TEST_SUITE_P(Phases, Cancel, testing::Values("connect", "headers", "body"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(HttpTest, StoppingFailsWhatIsUnderWay) {
  FakeReply silent;
  silent.silent = true;
  server_.reply(silent);
  TaskGroup group(io_.get_executor(), "test");
  Got got;
  const auto task = [this](Got& into) -> Task<void> {
    co_await yield_to_loop();
    into = co_await fetch(post(), {});
  };
  group.spawn(task(got));
  test::run(io_, until([&] { return server_.requests().size() == 1; }));
  test::run(io_, client_.stop());
  test::run(io_, group.join());
  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->code, Errc::unavailable);
  EXPECT_EQ(get(post()).error->code, Errc::unavailable);
}

TEST_F(HttpTest, ManyAtOnceShareNothingButTheLoop) {
  server_.on_request = [](const test::SeenRequest& request) {
    return test::event_stream({request.body, request.body});
  };
  TaskGroup group(io_.get_executor(), "test");
  int right = 0;
  const auto task = [this](int number, int& count) -> Task<void> {
    co_await yield_to_loop();
    const auto body = std::to_string(number);
    const auto got = co_await fetch(post(body), {});
    if (got.body == body + body) ++count;
  };
  for (int i = 0; i < 100; ++i) group.spawn(task(i, right));
  test::run(io_, group.join());
  EXPECT_EQ(right, 100);
}

}  // namespace
}  // namespace reef::http
