// The tests without a network that every backend's codec must pass.

#include <chrono>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/overload.h"
#include "base/random.h"
#include "model/backends.h"
#include "model/histories.h"

namespace reef::model {
namespace {

using test::Script;

// Feeds the body in these pieces; `heard` gets the deltas, one line each.
Outcome decode(const Codec& codec, const std::vector<std::string>& pieces,
               std::string* heard = nullptr) {
  Request request;
  request.model = "used-model";
  const auto decoder = codec.decoder(request, {});
  const DeltaSink sink = [&](const Delta& delta) {
    if (heard) *heard += fmt::format("{}:{}\n", static_cast<int>(delta.kind), delta.text);
  };
  for (const auto& piece : pieces) {
    if (decoder->done()) break;
    if (auto failure = decoder->take(piece, sink)) return *std::move(failure);
  }
  return decoder->finish();
}

// The outcome as a text, to compare.
std::string without_usage(const Outcome& outcome) {
  if (const auto* failure = std::get_if<Failure>(&outcome))
    return fmt::format("{} {}: {}", name_of(failure->kind), failure->http_status, failure->message);
  const auto& message = std::get<Reply>(outcome).message;
  auto out = fmt::format("{} by '{}'", session::name_of(message.stop_reason), message.model);
  for (const auto& block : message.content)
    out += std::visit(
        Overload{
            [](const session::TextBlock& b) { return fmt::format("\ntext '{}'", b.text); },
            [](const session::ThinkingBlock& b) {
              return fmt::format("\nthinking '{}'", b.thinking);
            },
            [](const session::ToolCallBlock& b) {
              return fmt::format("\ncall {} {} {}", b.id, b.name, json::write(b.arguments));
            },
            [](const auto&) { return std::string("\nsomething else"); },
        },
        block);
  return out;
}

std::string describe(const Outcome& outcome) {
  const auto* reply = std::get_if<Reply>(&outcome);
  if (!reply) return without_usage(outcome);
  const auto& usage = reply->message.usage;
  return without_usage(outcome) + fmt::format("\nusage {} {} {} {} {}", usage.input, usage.output,
                                              usage.cache_read, usage.cache_write, usage.reasoning);
}

class Conformance : public testing::TestWithParam<test::Backend> {
 protected:
  const test::Backend& backend() const { return GetParam(); }
  std::shared_ptr<const Codec> codec_ = backend().codec("http://127.0.0.1:1", "sk-test");

  Outcome play(const Script& script, std::string* heard = nullptr) {
    return decode(*codec_, {backend().stream(script)}, heard);
  }
  std::string usage(const Script& script) const {
    return fmt::format("\nusage {} {} {} {} {}", script.input, script.output, script.cache_read,
                       backend().counts_cache_writes ? script.cache_write : 0,
                       backend().counts_reasoning ? script.reasoning : 0);
  }
};

Script everything() {
  Script script;
  script.blocks = {Script::Thinking{{"Let me ", "see \xf0\x9f\xa6\x80."}, "c2lnbmVk"},
                   Script::Text{{"I look", " twice:\n\n", "caf\xc3\xa9 \"x\""}},
                   Script::Call{"call_a", "read", {"{\"path\":", "\"/tmp/\xc3\xa9\"", "}"}},
                   Script::Call{"call_b", "bash", {"{\"cmd\":\"ls\",\"n\":[1,2.5,null]}"}}};
  script.stop = Script::Stop::tools;
  script.cache_write = 3;
  script.reasoning = 2;
  return script;
}

TEST_P(Conformance, TextComesAsItIsSaid) {
  Script script;
  script.blocks = {Script::Text{{"Hello", ", ", "w\xc3\xb6rld"}}};
  std::string heard;
  EXPECT_EQ(describe(play(script, &heard)),
            "stop by 'used-model'\ntext 'Hello, w\xc3\xb6rld'" + usage(script));
  EXPECT_EQ(heard, "0:Hello\n0:, \n0:w\xc3\xb6rld\n");
}

TEST_P(Conformance, ThoughtsCallsAndUsageComeWhole) {
  const auto script = everything();
  std::string heard;
  const auto outcome = play(script, &heard);
  EXPECT_EQ(describe(outcome),
            "toolUse by 'used-model'\nthinking 'Let me see \xf0\x9f\xa6\x80.'\n"
            "text 'I look twice:\n\ncaf\xc3\xa9 \"x\"'\n"
            "call call_a read {\"path\":\"/tmp/\xc3\xa9\"}\n"
            "call call_b bash {\"cmd\":\"ls\",\"n\":[1,2.5,null]}" +
                usage(script));
  if (backend().has_signatures) {
    const auto& thought =
        std::get<session::ThinkingBlock>(std::get<Reply>(outcome).message.content.at(0));
    EXPECT_NE(thought.signature.find("c2lnbmVk"), std::string::npos);
  }
  EXPECT_NE(heard.find("1:Let me \n"), std::string::npos);
  EXPECT_NE(heard.find("2:read\n"), std::string::npos);
  EXPECT_NE(heard.find("2:bash\n"), std::string::npos);
}

TEST_P(Conformance, ACallWithoutArgumentsHasNone) {
  Script script;
  script.blocks = {Script::Call{"call_a", "now", {}}};
  script.stop = Script::Stop::tools;
  EXPECT_EQ(describe(play(script)), "toolUse by 'used-model'\ncall call_a now {}" + usage(script));
}

TEST_P(Conformance, ALimitIsToldFromAnEnd) {
  Script script;
  script.blocks = {Script::Text{{"and then"}}};
  script.stop = Script::Stop::length;
  EXPECT_EQ(describe(play(script)), "length by 'used-model'\ntext 'and then'" + usage(script));
}

TEST_P(Conformance, EveryCutGivesTheSame) {
  const auto bytes = backend().stream(everything());
  std::string whole_heard;
  const auto whole = describe(decode(*codec_, {bytes}, &whole_heard));
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    std::string heard;
    ASSERT_EQ(describe(decode(*codec_, {bytes.substr(0, cut), bytes.substr(cut)}, &heard)), whole)
        << cut;
    ASSERT_EQ(heard, whole_heard) << cut;
  }
  std::vector<std::string> single;
  for (const char c : bytes) single.emplace_back(1, c);
  EXPECT_EQ(describe(decode(*codec_, single)), whole);
}

// A reply that is cut off is never taken for a whole one.
TEST_P(Conformance, ADisconnectAnywhereIsNoticed) {
  const auto bytes = backend().stream(everything());
  const auto whole = without_usage(decode(*codec_, {bytes}));
  std::size_t failures = 0;
  for (std::size_t end = 0; end < bytes.size(); ++end) {
    const auto outcome = decode(*codec_, {bytes.substr(0, end)});
    if (const auto* failure = std::get_if<Failure>(&outcome)) {
      ASSERT_EQ(failure->kind, Failure::Kind::network) << end << " " << failure->message;
      ASSERT_TRUE(is_transient(*failure));
      ++failures;
    } else {
      // Some formats send the token counts after the end; only those may be missing.
      ASSERT_EQ(without_usage(outcome), whole) << end;
    }
  }
  EXPECT_GE(failures, bytes.size() / 2);
}

TEST_P(Conformance, AnErrorInMidStreamEndsTheReply) {
  std::string heard;
  const auto outcome = decode(*codec_, {backend().failing}, &heard);
  EXPECT_EQ(heard, "0:so far\n");
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome)) << describe(outcome);
  EXPECT_EQ(std::get<Failure>(outcome).kind, backend().failing_kind) << describe(outcome);
  EXPECT_FALSE(std::get<Failure>(outcome).message.empty());
}

TEST_P(Conformance, HttpErrorsHaveTheirKind) {
  for (const auto& error : backend().errors) {
    const auto failure = codec_->failure(error.status, error.headers, error.body);
    EXPECT_EQ(name_of(failure.kind), name_of(error.kind)) << error.body;
    EXPECT_EQ(failure.final, error.final) << error.body;
    EXPECT_EQ(failure.http_status, error.status);
    EXPECT_FALSE(failure.message.empty()) << error.body;
    EXPECT_LE(failure.message.size(), 2000U);
  }
}

TEST_P(Conformance, AnyErrorBodyIsSurvived) {
  const std::string bodies[] = {"",
                                "<html>Bad gateway</html>",
                                "{",
                                "[]",
                                "null",
                                "{\"error\":null}",
                                "{\"error\":\"x\"}",
                                "{\"error\":{\"message\":7,\"type\":[]}}",
                                "{\"message\":{}}",
                                std::string(5000, '\xff'),
                                std::string("\0\x01", 2)};
  for (const int status : {400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 529})
    for (const auto& body : bodies) {
      const auto failure = codec_->failure(status, {}, body);
      EXPECT_FALSE(failure.message.empty());
      EXPECT_EQ(failure.kind == Failure::Kind::auth, status == 401 || status == 403) << status;
      EXPECT_EQ(is_transient(failure), status == 408 || status == 429 || status >= 500)
          << status << body;
    }
}

TEST_P(Conformance, GarbageIsAFailureNotACrash) {
  SeededRandom random(7);
  const auto good = backend().stream(everything());
  for (int round = 0; round < 2000; ++round) {
    auto bytes = good;
    for (auto n = 1 + random.below(4); n > 0; --n) {
      const auto at = random.below(bytes.size());
      switch (random.below(3)) {
        case 0:
          bytes[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          bytes.erase(at, 1 + random.below(20));
          break;
        default:
          bytes.insert(at, good.substr(random.below(good.size()), random.below(40)));
      }
    }
    static_cast<void>(decode(*codec_, {bytes}));
  }
  for (const auto& bytes :
       {std::string("<html>hello</html>\n\n"), std::string(4000, '\0'), std::string("data: {\n\n"),
        std::string("data: []\n\n"), std::string("{\"error\":{}}")}) {
    EXPECT_TRUE(std::holds_alternative<Failure>(decode(*codec_, {bytes}))) << bytes;
  }
}

TEST_P(Conformance, TenMegabytesAreTakenInShortTime) {
  Script script;
  Script::Text text;
  const std::string piece(1000, 'x');
  for (int i = 0; i < 10'000; ++i) text.pieces.push_back(piece);
  Script::Call call{"call_a", "write", {"{\"content\":\""}};
  for (int i = 0; i < 1'000; ++i) call.argument_pieces.push_back(piece);
  call.argument_pieces.emplace_back("\"}");
  script.blocks = {text, call};
  script.stop = Script::Stop::tools;
  const auto bytes = backend().stream(script);
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < bytes.size(); i += 16'384) pieces.push_back(bytes.substr(i, 16'384));

  const auto start = std::chrono::steady_clock::now();
  const auto outcome = decode(*codec_, pieces);
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(std::holds_alternative<Reply>(outcome)) << describe(outcome);
  const auto& content = std::get<Reply>(outcome).message.content;
  ASSERT_EQ(content.size(), 2U);
  EXPECT_EQ(std::get<session::TextBlock>(content[0]).text.size(), 10'000'000U);
  EXPECT_EQ(std::get<session::ToolCallBlock>(content[1]).arguments.at("content").as_string().size(),
            1'000'000U);
  // This bound is generous: a quadratic decoder would take minutes.
  EXPECT_LT(took, std::chrono::seconds(20));
}

// An event that never ends must not fill the memory.
TEST_P(Conformance, AReplyWithoutEndIsGivenUp) {
  Script script;
  script.blocks = {Script::Text{{std::string(1 << 20, 'x')}}};
  const auto bytes = backend().stream(script);
  const auto decoder = codec_->decoder({}, {});
  const DeltaSink sink = [](const Delta&) {};
  auto failure = decoder->take(bytes.substr(0, bytes.find_last_of('x') + 1), sink);
  for (int i = 0; i < 20 && !failure; ++i) failure = decoder->take(std::string(1 << 20, 'x'), sink);
  EXPECT_TRUE(failure.has_value());
}

TEST_P(Conformance, RequestsAreValidWhateverWasSaid) {
  const char* given = std::getenv("REEF_SEED");
  const auto first = given ? std::strtoull(given, nullptr, 10) : 1;
  const std::vector<std::string> apis = {std::string(codec_->api()), "other", ""};
  for (auto seed = first; seed < first + 2000; ++seed) {
    const auto request = reef::test::random_request(seed, apis, backend().models);
    ModelFacts facts;
    facts.thinking = seed % 2 == 0;
    facts.images = seed % 3 != 0;
    facts.tools = seed % 5 != 0;
    facts.max_output = seed % 7 == 0 ? 0 : 64'000;
    const auto http = codec_->encode(request, facts, TimePoint());
    const auto body = json::parse(http.body);
    ASSERT_TRUE(body) << body.error().what << "\nREEF_SEED=" << seed;
    ASSERT_EQ(backend().validate(*body), "") << "REEF_SEED=" << seed << "\n" << http.body;
  }
}

// A kill leaves results in the order they came and the rest interrupted; a crash leaves the rest
// missing. Both are followed here by a message that steers or asks anew.
TEST_P(Conformance, C5_ParallelCallsHalfDoneAreAValidRequest) {
  using namespace session;
  const auto shared = [](Message message) {
    return std::make_shared<const Message>(std::move(message));
  };
  UserMessage user;
  user.content = {TextBlock{"go"}};
  AssistantMessage reply;
  reply.api = codec_->api();
  reply.model = "m";
  reply.stop_reason = StopReason::tool_use;
  for (const auto* id : {"c1", "c2", "c3"}) reply.content.push_back(ToolCallBlock{id, "ls", {}});
  const auto result = [&](const char* id, bool done) {
    ToolResultMessage message;
    message.tool_call_id = id;
    message.tool_name = "ls";
    message.content = {TextBlock{done ? "a b" : "interrupted"}};
    message.is_error = !done;
    return shared(message);
  };
  Request killed;
  killed.model = "m";
  killed.tools = {Tool{"ls", "", {{"type", "object"}}}};
  killed.messages = {shared(user),        shared(reply), result("c3", true), result("c1", false),
                     result("c2", false), shared(user),  shared(user)};
  auto crashed = killed;
  crashed.messages = {shared(user), shared(reply), result("c2", true), shared(user)};
  for (const auto* request : {&killed, &crashed}) {
    const auto http = codec_->encode(*request, {}, TimePoint());
    const auto body = json::parse(http.body);
    ASSERT_TRUE(body) << body.error().what;
    EXPECT_EQ(backend().validate(*body), "") << http.body;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, testing::ValuesIn(test::all_backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reef::model
