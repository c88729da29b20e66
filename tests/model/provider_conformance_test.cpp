// The tests over a network that every backend must pass, whatever its wire format.
#include <gtest/gtest.h>
#include <zlib.h>

#include "base/task_group.h"
#include "model/backends.h"
#include "model/http_provider.h"
#include "support/manual_clock.h"
#include "support/run.h"

namespace reef::model {
namespace {

using namespace std::chrono_literals;
using reef::test::FakeHttp;
using reef::test::FakeReply;

struct Heard {
  std::string text;
  std::string thinking;
  std::vector<std::string> calls;
  std::size_t pieces = 0;

  DeltaSink sink() {
    return [this](Delta delta) {
      EXPECT_FALSE(delta.text.empty());
      ++pieces;
      if (delta.kind == Delta::Kind::text) text += delta.text;
      if (delta.kind == Delta::Kind::thinking) thinking += delta.text;
      if (delta.kind == Delta::Kind::tool_call) calls.push_back(delta.text);
    };
  }
};

Request question() {
  Request request;
  request.model = "asked-model";
  request.system = "Be brief.";
  session::UserMessage user;
  user.content.push_back(session::TextBlock{"What is 2+2? \"ü\"\n"});
  request.messages.push_back(std::make_shared<const session::Message>(user));
  json::object parameters{{"type", "object"}, {"properties", json::object()}};
  request.tools = {{"ls", "List a folder", parameters}, {"read", "Read a file", parameters}};
  return request;
}

std::string thinking_of(const session::AssistantMessage& message) {
  std::string out;
  for (const auto& block : message.content)
    if (const auto* thought = std::get_if<session::ThinkingBlock>(&block)) out += thought->thinking;
  return out;
}

std::vector<session::ToolCallBlock> calls_of(const session::AssistantMessage& message) {
  std::vector<session::ToolCallBlock> out;
  for (const auto& block : message.content)
    if (const auto* call = std::get_if<session::ToolCallBlock>(&block)) out.push_back(*call);
  return out;
}

std::string gzip(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(compressBound(text.size()) + 64, '\0');
  auto input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class OverTheWire : public testing::TestWithParam<test::Backend> {
 protected:
  ~OverTheWire() override {
    reef::test::run(io_, client_.stop());
    reef::test::run(io_, server_.stop());
  }

  const test::Backend& backend() const { return GetParam(); }

  std::string hello() const { return backend().say({"Hello, ", "w\xc3\xb6rld", "."}); }

  FakeReply stream_of(std::vector<std::string> pieces) const {
    auto reply = reef::test::event_stream(std::move(pieces));
    reply.headers = {{"Content-Type", backend().content_type}};
    return reply;
  }

  static FakeReply error_reply(const test::Backend::HttpError& error) {
    auto reply = reef::test::json_reply(error.status, error.body);
    reply.headers.insert(reply.headers.end(), error.headers.begin(), error.headers.end());
    return reply;
  }

  HttpProvider& provider(HttpOptions options = {}) {
    options.backoff = 2ms;
    provider_ = std::make_unique<HttpProvider>(
        HttpNeeds{client_, pool_, clock_, random_},
        [this](const std::string& key) { return backend().codec(server_.url(), key); },
        key_source_from("sk-test"),
        [](std::string_view model) {
          ModelFacts facts;
          facts.id = model;
          facts.price = {1, 2, 0.5, 4, 0};
          return facts;
        },
        std::move(options));
    return *provider_;
  }

  Outcome ask(HttpProvider& from, Heard& heard) {
    const auto request = question();
    const auto sink = heard.sink();
    return reef::test::run(io_, from.stream(request, sink));
  }

  Outcome ask(HttpOptions options = {}) {
    Heard heard;
    return ask(provider(std::move(options)), heard);
  }

  template <class Condition>
  Task<void> until(Condition condition) {
    while (!condition()) co_await server_.changed().wait();
  }

  boost::asio::io_context io_{1};
  FakeHttp server_{io_.get_executor()};
  http::Client client_{io_.get_executor()};
  Pool pool_{1};
  SystemClock clock_;
  SeededRandom random_{7};
  std::unique_ptr<HttpProvider> provider_;
};

TEST_P(OverTheWire, TextUsageAndModelCome) {
  server_.reply(stream_of({hello()}));
  Heard heard;
  const auto outcome = ask(provider(), heard);
  ASSERT_TRUE(std::holds_alternative<Reply>(outcome)) << std::get<Failure>(outcome).message;
  const auto& message = std::get<Reply>(outcome).message;
  EXPECT_EQ(session::text_of(message.content), "Hello, w\xc3\xb6rld.");
  EXPECT_EQ(heard.text, "Hello, w\xc3\xb6rld.");
  EXPECT_EQ(message.stop_reason, session::StopReason::stop);
  EXPECT_EQ(message.model, backend().says_model ? "used-model" : "asked-model");
  EXPECT_EQ(message.usage.input, 7);
  EXPECT_EQ(message.usage.cache_read, 4);
  EXPECT_EQ(message.usage.output, 5);
  EXPECT_DOUBLE_EQ(message.usage.cost.total, (7 * 1 + 5 * 2 + 4 * 0.5) / 1e6);
  ASSERT_EQ(server_.requests().size(), 1U);
  EXPECT_EQ(backend().judge(server_.requests()[0]), "");
}

TEST_P(OverTheWire, ParallelCallsComeWhole) {
  server_.reply(stream_of({backend().calls()}));
  Heard heard;
  const auto outcome = ask(provider(), heard);
  ASSERT_TRUE(std::holds_alternative<Reply>(outcome)) << std::get<Failure>(outcome).message;
  const auto& message = std::get<Reply>(outcome).message;
  EXPECT_EQ(message.stop_reason, session::StopReason::tool_use);
  EXPECT_EQ(session::text_of(message.content), "Let me look.");
  EXPECT_EQ(heard.calls, (std::vector<std::string>{"ls", "read"}));
  const auto calls = calls_of(message);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].name, "ls");
  EXPECT_EQ(json::write(calls[0].arguments), R"({"path":"/tmp"})");
  EXPECT_EQ(calls[1].name, "read");
  EXPECT_EQ(json::write(calls[1].arguments), R"({"file":"a b","n":3})");
  EXPECT_FALSE(calls[0].id.empty());
  EXPECT_NE(calls[0].id, calls[1].id);
}

TEST_P(OverTheWire, ThinkingIsKeptApart) {
  server_.reply(stream_of({backend().thinking()}));
  Heard heard;
  const auto outcome = ask(provider(), heard);
  ASSERT_TRUE(std::holds_alternative<Reply>(outcome)) << std::get<Failure>(outcome).message;
  const auto& message = std::get<Reply>(outcome).message;
  EXPECT_EQ(heard.thinking, "Hmm, 2+2.");
  EXPECT_EQ(heard.text, "4");
  EXPECT_EQ(thinking_of(message), "Hmm, 2+2.");
  EXPECT_EQ(session::text_of(message.content), "4");
}

TEST_P(OverTheWire, AFailureInMidStreamIsNotTriedAgain) {
  server_.reply(stream_of({backend().failing}));
  Heard heard;
  const auto outcome = ask(provider(), heard);
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
  EXPECT_EQ(std::get<Failure>(outcome).kind, backend().failing_kind);
  EXPECT_EQ(heard.text, "so far");
  EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_P(OverTheWire, HttpErrorsAreNamed) {
  for (const auto& error : backend().errors) {
    auto reply = error_reply(error);
    server_.on_request = [&](const auto&) { return reply; };
    HttpOptions options;
    options.retries_max = 0;
    const auto outcome = ask(options);
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    const auto& failure = std::get<Failure>(outcome);
    EXPECT_EQ(name_of(failure.kind), name_of(error.kind)) << error.body;
    EXPECT_EQ(failure.http_status, error.status);
    EXPECT_FALSE(failure.message.empty());
    EXPECT_EQ(failure.message.find("sk-test"), std::string::npos);
  }
}

TEST_P(OverTheWire, OnlyTransientFailuresAreTriedAgain) {
  for (const auto& error : backend().errors) {
    const auto before = server_.requests().size();
    const auto first = error_reply(error);
    const auto good = stream_of({hello()});
    server_.on_request = [&, before](const auto&) {
      return server_.requests().size() == before ? first : good;
    };
    const auto outcome = ask();
    const bool transient = is_transient(Failure{error.kind, "", error.status, {}, error.final});
    EXPECT_EQ(std::holds_alternative<Reply>(outcome), transient) << error.body;
    EXPECT_EQ(server_.requests().size() - before, transient ? 2U : 1U) << error.body;
  }
}

TEST_P(OverTheWire, RetriesEnd) {
  server_.reply(reef::test::json_reply(503, "busy"));
  const auto outcome = ask();
  EXPECT_EQ(std::get<Failure>(outcome).kind, Failure::Kind::overloaded);
  EXPECT_EQ(server_.requests().size(), 3U);
}

TEST_P(OverTheWire, RetryAfterIsHonouredOrReported) {
  auto slow = reef::test::json_reply(429, "{}");
  slow.headers.emplace_back("retry-after-ms", "25000");
  server_.reply(slow);
  server_.reply(stream_of({hello()}));
  {
    reef::test::ManualClock time(io_);
    Heard heard;
    const auto request = question();
    std::optional<Outcome> outcome;
    TaskGroup group(io_.get_executor(), "test");
    group.spawn(reef::test::store_result(provider().stream(request, heard.sink()), outcome));
    reef::test::run_until(io_, [&] { return time.until_next() == 25s; });
    time.advance(24'999ms);
    EXPECT_EQ(server_.requests().size(), 1U) << "too early";
    time.advance(1ms);
    reef::test::run_until(io_, [&] { return outcome.has_value(); });
    EXPECT_TRUE(outcome && std::holds_alternative<Reply>(*outcome));
  }

  auto hours = reef::test::json_reply(429, "{}");
  hours.headers.emplace_back("Retry-After", "7200");
  server_.on_request = [&](const auto&) { return hours; };
  const auto outcome = ask();
  EXPECT_EQ(std::get<Failure>(outcome).retry_after, 2h);
}

TEST_P(OverTheWire, AConnectionLostBeforeTheFirstWordIsTriedAgain) {
  for (const auto then : {FakeReply::Then::cut, FakeReply::Then::reset}) {
    const auto before = server_.requests().size();
    auto lost = stream_of({});
    lost.then = then;
    const auto good = stream_of({hello()});
    server_.on_request = [&, before](const auto&) {
      return server_.requests().size() == before ? lost : good;
    };
    EXPECT_TRUE(std::holds_alternative<Reply>(ask()));
  }
}

TEST_P(OverTheWire, AConnectionLostInMidReplyIsAFailure) {
  const auto bytes = hello();
  auto lost = stream_of({bytes.substr(0, bytes.size() * 2 / 3)});
  lost.then = FakeReply::Then::cut;
  server_.reply(lost);
  Heard heard;
  const auto outcome = ask(provider(), heard);
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
  EXPECT_EQ(std::get<Failure>(outcome).kind, Failure::Kind::network);
  EXPECT_GT(heard.pieces, 0U);
  EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_P(OverTheWire, SilenceEndsAsATimeout) {
  auto silent = stream_of({});
  silent.silent = true;
  auto stalled = stream_of({hello().substr(0, 20)});
  stalled.then = FakeReply::Then::hang;
  HttpOptions options;
  options.retries_max = 0;
  for (const auto& [reply, patience] : {std::pair(silent, options.timeouts.first_byte),
                                        std::pair(stalled, options.timeouts.idle)}) {
    server_.on_request = [&](const auto&) { return reply; };
    reef::test::ManualClock time(io_);
    Heard heard;
    const auto request = question();
    std::optional<Outcome> outcome;
    TaskGroup group(io_.get_executor(), "test");
    group.spawn(reef::test::store_result(provider(options).stream(request, heard.sink()), outcome));
    reef::test::run_until(io_, [&] { return time.until_next() == patience; });
    time.advance(patience - 1ms);
    EXPECT_FALSE(outcome);
    time.advance(1ms);
    reef::test::run_until(io_, [&] { return outcome.has_value(); });
    ASSERT_TRUE(outcome && std::holds_alternative<Failure>(*outcome));
    EXPECT_EQ(std::get<Failure>(*outcome).kind, Failure::Kind::timeout);
  }
}

TEST_P(OverTheWire, GarbageIsAFailureAndNothingElse) {
  std::string noise;
  SeededRandom random(1);
  for (int i = 0; i < 20'000; ++i) noise.push_back(static_cast<char>(random.next()));
  for (const std::string& garbage :
       {std::string("<html>Sign in to the hotel's network</html>"), std::string("null"),
        std::string("data: {\"choices\": 7}\n\ndata: 12\n\n"), std::string("{\"a\": "), noise,
        std::string("event: x\ndata: {\n\n")}) {
    server_.on_request = [&](const auto&) { return stream_of({garbage}); };
    HttpOptions options;
    options.retries_max = 0;
    const auto outcome = ask(options);
    EXPECT_TRUE(std::holds_alternative<Failure>(outcome)) << garbage.substr(0, 50);
  }
}

TEST_P(OverTheWire, CompressedStreamsAreRead) {
  const auto packed = gzip(hello());
  auto reply = stream_of({packed.substr(0, 30), packed.substr(30)});
  reply.headers.emplace_back("Content-Encoding", "gzip");
  server_.reply(reply);
  const auto outcome = ask();
  ASSERT_TRUE(std::holds_alternative<Reply>(outcome)) << std::get<Failure>(outcome).message;
}

TEST_P(OverTheWire, TenMegabytesComeWhole) {
  const std::vector<std::string> pieces(640, std::string(16U << 10, 'x'));
  const auto bytes = backend().say(pieces);
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < bytes.size(); at += 50'000)
    parts.push_back(bytes.substr(at, 50'000));
  server_.reply(stream_of(std::move(parts)));
  Heard heard;
  const auto outcome = ask(provider(), heard);
  ASSERT_TRUE(std::holds_alternative<Reply>(outcome)) << std::get<Failure>(outcome).message;
  EXPECT_EQ(heard.text.size(), 640U * (16U << 10));
  EXPECT_EQ(session::text_of(std::get<Reply>(outcome).message.content).size(), heard.text.size());
}

TEST_P(OverTheWire, CutsOverTheSocketChangeNothing) {
  const auto bytes = backend().calls();
  for (std::size_t at = 1; at < bytes.size(); at += 1 + bytes.size() / 25) {
    server_.on_request = [&](const auto&) {
      return stream_of({bytes.substr(0, at), bytes.substr(at)});
    };
    const auto outcome = ask();
    ASSERT_TRUE(std::holds_alternative<Reply>(outcome)) << at;
    EXPECT_EQ(calls_of(std::get<Reply>(outcome).message).size(), 2U);
  }
}

TEST_P(OverTheWire, CancellingInMidTokenClosesTheSocketAtOnce) {
  const auto bytes = hello();
  auto stalled = stream_of({bytes.substr(0, bytes.size() / 2)});
  stalled.then = FakeReply::Then::hang;
  server_.reply(stalled);
  auto& from = provider();
  TaskGroup group(io_.get_executor(), "test");
  const auto request = question();
  Heard heard;
  const auto sink = heard.sink();
  const auto task = [](HttpProvider& asked, const Request& what,
                       const DeltaSink& into) -> Task<void> {
    co_await yield_to_loop();
    static_cast<void>(co_await asked.stream(what, into));
    ADD_FAILURE() << "was not cancelled";
  };
  group.spawn(task(from, request, sink));
  reef::test::run(io_, until([&] { return server_.pieces_sent() == 1; }));
  const auto before = std::chrono::steady_clock::now();
  group.cancel();
  reef::test::run(io_, group.join());
  EXPECT_EQ(client_.in_flight(), 0U);
  reef::test::run(io_, until([&] { return server_.closed().size() == 1; }));
  EXPECT_LT(server_.closed().at(0) - before, 50ms);
}

TEST_P(OverTheWire, OneConnectionServesOneRequestAfterTheOther) {
  server_.reply(stream_of({hello()}));
  auto& from = provider();
  for (int i = 0; i < 4; ++i) {
    Heard heard;
    EXPECT_TRUE(std::holds_alternative<Reply>(ask(from, heard)));
    reef::test::run(io_, [](http::Client& client) -> Task<void> {
      while (client.in_flight() > 0) co_await yield_to_loop();
    }(client_));
  }
  EXPECT_EQ(server_.connections(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Backends, OverTheWire, testing::ValuesIn(test::all_backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reef::model
