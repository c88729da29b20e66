// The ways in which OpenAI-like servers differ; each was seen in the wild.
#include "model/openai/openai.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/anthropic/anthropic.h"
#include "model/azure/azure.h"
#include "model/bedrock/bedrock.h"
#include "model/google/google.h"
#include "model/openai/errors.h"

namespace reef::model::openai {
namespace {

struct Heard {
  Outcome outcome;
  std::string text;
  std::string thinking;

  const session::AssistantMessage& message() const { return std::get<Reply>(outcome).message; }
  std::vector<session::ToolCallBlock> calls() const {
    std::vector<session::ToolCallBlock> out;
    for (const auto& block : message().content)
      if (const auto* call = std::get_if<session::ToolCallBlock>(&block)) out.push_back(*call);
    return out;
  }
};

Request question() {
  Request request;
  request.model = "m";
  session::UserMessage user;
  user.content.push_back(session::TextBlock{"hello there"});
  request.messages.push_back(std::make_shared<const session::Message>(user));
  return request;
}

Heard read(const Codec& codec, std::string_view bytes) {
  Heard heard;
  const auto request = question();
  const auto decoder = codec.decoder(request, ModelFacts());
  const DeltaSink sink = [&](const Delta& delta) {
    if (delta.kind == Delta::Kind::text) heard.text += delta.text;
    if (delta.kind == Delta::Kind::thinking) heard.thinking += delta.text;
  };
  if (auto failure = decoder->take(bytes, sink)) {
    heard.outcome = *failure;
  } else {
    heard.outcome = decoder->finish();
  }
  return heard;
}

const ChatCodec kChat(ChatSettings{endpoint_at("http://localhost:1", "")});
const ResponsesCodec kResponses(endpoint_at("http://localhost:1", ""));

std::string delta(std::string_view json, std::string_view finish = "null") {
  return fmt::format("data: {{\"choices\":[{{\"delta\":{},\"finish_reason\":{}}}]}}\n\n", json,
                     finish);
}
const std::string kStop = delta("{}", "\"stop\"");

TEST(OpenAiUrls, AnyFormOfTheAddressWillDo) {
  for (const auto& [given, base] : {
           std::pair("https://api.openai.com/v1", "https://api.openai.com/v1"),
           std::pair("https://api.openai.com", "https://api.openai.com/v1"),
           std::pair("https://api.openai.com/v1/", "https://api.openai.com/v1"),
           std::pair("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1"),
           std::pair("https://api.openai.com/v1/responses/", "https://api.openai.com/v1"),
           std::pair(" localhost:11434 ", "http://localhost:11434/v1"),
           std::pair("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"),
           std::pair("openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
           std::pair("https://x.example/openai/v1/models?a=b", "https://x.example/openai/v1"),
           std::pair("https://generativelanguage.googleapis.com/v1beta/openai/",
                     "https://generativelanguage.googleapis.com/v1beta/openai"),
       })
    EXPECT_EQ(normalise_base_url(given), base) << given;
}

// The URL a codec's request goes to, for any form of the address.
template <class Codec, class Options>
std::string url_of(std::string base) {
  Options options;
  options.base_url = std::move(base);
  Request request;
  request.model = "m";
  return Codec(std::move(options)).encode(request, {}, TimePoint()).url;
}

TEST(AnthropicUrls, AnyFormOfTheAddressWillDo) {
  for (const auto* given :
       {"https://api.anthropic.com", "https://api.anthropic.com/", "api.anthropic.com",
        "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages",
        "https://api.anthropic.com/v1/messages/", "https://api.anthropic.com/v1/messages?beta=true",
        "https://api.anthropic.com/v1/models",
        " https://api.anthropic.com/v1/messages/count_tokens "})
    EXPECT_EQ((url_of<AnthropicCodec, AnthropicOptions>(given)),
              "https://api.anthropic.com/v1/messages")
        << given;
  EXPECT_EQ((url_of<AnthropicCodec, AnthropicOptions>("http://proxy:8080/anthropic/messages")),
            "http://proxy:8080/anthropic/v1/messages");
  EXPECT_EQ((url_of<AnthropicCodec, AnthropicOptions>("localhost:9")),
            "http://localhost:9/v1/messages");
}

TEST(GoogleUrls, AnyFormOfTheAddressWillDo) {
  constexpr auto kHost = "https://generativelanguage.googleapis.com";
  for (const std::string path :
       {"", "/", "/v1beta", "/v1beta/", "/v1beta/models", "/v1beta/models/",
        "/v1beta/models/gemini-2.5-pro:generateContent?alt=sse"})
    EXPECT_EQ((url_of<GoogleCodec, GoogleOptions>(kHost + path)),
              std::string(kHost) + "/v1beta/models/m:streamGenerateContent?alt=sse")
        << path;
  EXPECT_EQ((url_of<GoogleCodec, GoogleOptions>("https://proxy.example/g/v1/models")),
            "https://proxy.example/g/v1/models/m:streamGenerateContent?alt=sse");
}

TEST(BedrockUrls, AnyFormOfTheAddressWillDo) {
  for (const auto* given : {"https://b.example", "https://b.example/", "b.example/model",
                            "https://b.example/model/x/converse"})
    EXPECT_EQ((url_of<BedrockCodec, BedrockOptions>(given)),
              "https://b.example/model/m/converse-stream")
        << given;
}

TEST(AzureUrls, DatedAndNewPathsAndBothKindsOfKeys) {
  const auto url = [](const char* base, const char* version) {
    return expand(azure::endpoint_at({base, version}, "k").chat_url, "my model");
  };
  EXPECT_EQ(url("res", ""), "https://res.openai.azure.com/openai/v1/chat/completions");
  EXPECT_EQ(url("https://res.openai.azure.com/openai/v1/", "v1"),
            "https://res.openai.azure.com/openai/v1/chat/completions");
  EXPECT_EQ(url("https://res.openai.azure.com", "2024-10-21"),
            "https://res.openai.azure.com/openai/deployments/my%20model/chat/completions"
            "?api-version=2024-10-21");
  EXPECT_EQ(
      url("https://r.azure.com/openai/deployments/x/chat/completions?api-version=2025-01-01", ""),
      "https://r.azure.com/openai/deployments/my%20model/chat/completions"
      "?api-version=2025-01-01");
  EXPECT_EQ(azure::endpoint_at({"res", ""}, "k").headers, (Headers{{"api-key", "k"}}));
  EXPECT_EQ(azure::endpoint_at({"res", ""}, "eyJa.b.c").headers,
            (Headers{{"Authorization", "Bearer eyJa.b.c"}}));
  EXPECT_EQ(azure::endpoint_at({"res", "", azure::Settings::Auth::bearer}, "k").headers,
            (Headers{{"Authorization", "Bearer k"}}));
}

TEST(OpenAiChat, UsageThatNeverComesIsEstimated) {
  const auto heard = read(kChat, delta(R"({"content":"12345678"})") + kStop + "data: [DONE]\n\n");
  EXPECT_EQ(heard.message().usage.output, 2);
  EXPECT_EQ(heard.message().usage.input, 3);
}

TEST(OpenAiChat, TheEndMarkMayBeMissingOrUnfinished) {
  for (const std::string_view end : {"", "data: [DONE]", "data: [DONE]\n", ": bye\n\n"}) {
    const auto heard = read(kChat, delta(R"({"content":"hi"})") + kStop + std::string(end));
    EXPECT_EQ(heard.text, "hi") << end;
    EXPECT_TRUE(std::holds_alternative<Reply>(heard.outcome)) << end;
  }
  const auto cut = read(kChat, delta(R"({"content":"hi"})"));
  EXPECT_EQ(std::get<Failure>(cut.outcome).kind, Failure::Kind::network);
}

TEST(OpenAiChat, ThinkingHasManyNames) {
  for (const std::string_view name : {"reasoning_content", "reasoning", "reasoning_text"}) {
    const auto heard = read(
        kChat, delta(fmt::format(R"({{"{}":"hm"}})", name)) + delta(R"({"content":"so"})") + kStop);
    EXPECT_EQ(heard.thinking, "hm") << name;
    EXPECT_EQ(heard.text, "so") << name;
  }
  // A thought that is sent in two fields is heard once.
  EXPECT_EQ(read(kChat, delta(R"({"reasoning":"hm","reasoning_content":"hm"})") + kStop).thinking,
            "hm");
  const auto parts = read(
      kChat,
      delta(
          R"({"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"so"}]})") +
          kStop);
  EXPECT_EQ(parts.thinking, "hm");
  EXPECT_EQ(parts.text, "so");
}

TEST(OpenAiChat, CallsComeInManyShapes) {
  const auto call = [](std::string_view json) {
    return delta(fmt::format(R"({{"tool_calls":[{}]}})", json));
  };
  // Without an index a new id begins a new call.
  auto heard = read(kChat, call(R"({"id":"a","function":{"name":"f","arguments":"{}"}})") +
                               call(R"({"id":"b","function":{"name":"g","arguments":"{\"x\""}})") +
                               call(R"({"function":{"arguments":":1}"}})") + kStop);
  ASSERT_EQ(heard.calls().size(), 2U);
  EXPECT_EQ(json::write(heard.calls()[1].arguments), R"({"x":1})");
  EXPECT_EQ(heard.message().stop_reason, session::StopReason::tool_use);

  // All calls have the same index but different ids.
  heard = read(kChat,
               call(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}})") +
                   call(R"({"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}})") +
                   kStop);
  ASSERT_EQ(heard.calls().size(), 2U);
  EXPECT_EQ(json::write(heard.calls()[1].arguments), R"({"x":2})");

  // Every piece repeats the id and the name.
  heard = read(
      kChat, call(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}})") +
                 call(R"({"index":0,"id":"a","function":{"name":"f","arguments":":1}"}})") + kStop);
  ASSERT_EQ(heard.calls().size(), 1U);
  EXPECT_EQ(json::write(heard.calls()[0].arguments), R"({"x":1})");

  // There are no ids at all, and the arguments are an object or null.
  heard = read(kChat, call(R"({"index":0,"function":{"name":"f","arguments":{"x":1}}})") +
                          call(R"({"index":1,"function":{"name":"g","arguments":null}})") + kStop);
  ASSERT_EQ(heard.calls().size(), 2U);
  EXPECT_FALSE(heard.calls()[0].id.empty());
  EXPECT_NE(heard.calls()[0].id, heard.calls()[1].id);
  EXPECT_EQ(json::write(heard.calls()[0].arguments), R"({"x":1})");
  EXPECT_TRUE(heard.calls()[1].arguments.empty());

  // This is the form from before tools.
  heard = read(kChat, delta(R"({"function_call":{"name":"f","arguments":"{\"x\""}})") +
                          delta(R"({"function_call":{"arguments":":1}"}})", "\"function_call\""));
  ASSERT_EQ(heard.calls().size(), 1U);
  EXPECT_EQ(json::write(heard.calls()[0].arguments), R"({"x":1})");
}

TEST(OpenAiChat, AServerThatDoesNotStreamIsUnderstood) {
  const auto heard = read(kChat, R"(
  {"id":"x","model":"used","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",
   "content":"a \"}\" b","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}}],
   "usage":{"prompt_tokens":3,"completion_tokens":2,"cost":0.25}}
)");
  EXPECT_EQ(heard.text, "a \"}\" b");
  ASSERT_EQ(heard.calls().size(), 1U);
  EXPECT_EQ(heard.message().usage.input, 3);
  EXPECT_DOUBLE_EQ(heard.message().usage.cost.total, 0.25);
  EXPECT_EQ(heard.message().model, "used");

  const auto failed = read(kChat, R"({"error":{"message":"no","type":"authentication_error"}})");
  EXPECT_EQ(std::get<Failure>(failed.outcome).kind, Failure::Kind::auth);
}

TEST(OpenAiChat, AFilterThatWithheldEverythingIsAFailure) {
  const auto withheld = read(kChat, delta("{}", "\"content_filter\""));
  EXPECT_EQ(std::get<Failure>(withheld.outcome).kind, Failure::Kind::invalid_request);
  const auto some = read(kChat, delta(R"({"content":"a"})") + delta("{}", "\"content_filter\""));
  EXPECT_EQ(some.text, "a");
  EXPECT_TRUE(std::holds_alternative<Reply>(some.outcome));
}

TEST(OpenAiChat, TheBodyIsWhatItShouldBe) {
  auto request = question();
  request.system = "sys";
  request.max_tokens = 10;
  request.stop = {"END"};
  request.thinking = ThinkingLevel::minimal;
  request.tools = {{"f", "does f", {}}};
  request.tool_choice = {ToolChoice::Mode::named, "f"};
  request.extra = {{"temperature", 0.5}, {"stream_options", nullptr}};
  const auto sent = kChat.encode(request, ModelFacts(), TimePoint());
  EXPECT_EQ(sent.url, "http://localhost:1/v1/chat/completions");
  const auto body = *json::parse(sent.body);
  EXPECT_EQ(body.at("max_tokens").as_int64(), 10);
  EXPECT_EQ(body.at("reasoning_effort").as_string(), "low");
  EXPECT_EQ(body.at("temperature").as_double(), 0.5);
  EXPECT_TRUE(body.at("stream_options").is_null());
  EXPECT_EQ(body.at("tool_choice").at("function").at("name").as_string(), "f");
  EXPECT_EQ(body.at("tools").at(0).at("function").at("parameters").at("type").as_string(),
            "object");
  EXPECT_EQ(body.at("messages").at(0).at("role").as_string(), "system");
  EXPECT_EQ(body.at("messages").at(1).at("content").as_string(), "hello there");

  const ChatCodec official(ChatSettings{endpoint_at("https://api.openai.com", "k")});
  const auto theirs = *json::parse(official.encode(request, ModelFacts(), TimePoint()).body);
  EXPECT_EQ(theirs.at("max_completion_tokens").as_int64(), 10);
  EXPECT_EQ(theirs.at("reasoning_effort").as_string(), "minimal");
}

TEST(OpenAiResponses, ReasoningGoesBackAsItCame) {
  const auto heard = read(
      kResponses,
      "data: "
      "{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\","
      "\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"SECRET\"}}\n\n"
      "data: "
      "{\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"function_"
      "call\","
      "\"call_id\":\"c1\",\"name\":\"f\",\"arguments\":\"{}\"}}\n\n"
      "data: "
      "{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"model\":\"m\"}}"
      "\n\n");
  ASSERT_TRUE(std::holds_alternative<Reply>(heard.outcome));
  auto request = question();
  auto said = heard.message();
  said.api = "openai-responses";
  said.model = "m";
  request.messages.push_back(std::make_shared<const session::Message>(said));
  const auto body = *json::parse(kResponses.encode(request, ModelFacts(), TimePoint()).body);
  const auto& input = body.at("input").as_array();
  ASSERT_GE(input.size(), 4U);
  EXPECT_EQ(input[1].at("encrypted_content").as_string(), "SECRET");
  EXPECT_EQ(input[2].at("type").as_string(), "function_call");
  EXPECT_EQ(input[3].at("type").as_string(), "function_call_output");
  EXPECT_EQ(input[3].at("call_id").as_string(), "c1");
}

TEST(OpenAiResponses, AServerThatDoesNotStreamIsUnderstood) {
  const auto heard =
      read(kResponses, R"({"object":"response","status":"completed","model":"used","output":[
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]},
    {"type":"function_call","call_id":"c","name":"f","arguments":"{\"x\":1}"}],
    "usage":{"input_tokens":5,"output_tokens":1,"input_tokens_details":{"cached_tokens":2}}})");
  EXPECT_EQ(heard.text, "hi");
  ASSERT_EQ(heard.calls().size(), 1U);
  EXPECT_EQ(heard.message().usage.input, 3);
  EXPECT_EQ(heard.message().usage.cache_read, 2);
}

TEST(OpenAiErrors, ManyShapesOneMeaning) {
  using Kind = Failure::Kind;
  const std::tuple<int, const char*, Kind> cases[] = {
      {400, R"({"error":"model \"x\" not found, try pulling it first"})", Kind::invalid_request},
      {400,
       R"({"object":"error","message":"This model's maximum context length is 10 tokens","code":400})",
       Kind::context_overflow},
      {400,
       R"({"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}})",
       Kind::context_overflow},
      {400, R"({"detail":"prompt is too long: 9 tokens > 8 maximum"})", Kind::context_overflow},
      {401, R"({"detail":"Unauthorized"})", Kind::auth},
      {402, R"({"error":{"message":"Insufficient credits","code":402}})", Kind::rate_limit},
      {413, R"({"error":{"message":"Request too large for model with 8000 TPM"}})",
       Kind::context_overflow},
      {422, R"({"message":"bad"})", Kind::invalid_request},
      {429, "", Kind::rate_limit},
      {500, R"({"error":{"message":"context size has been exceeded"}})", Kind::context_overflow},
      {504, "upstream timed out", Kind::timeout},
      {529, "{}", Kind::overloaded},
      {418, "[]", Kind::invalid_request},
  };
  for (const auto& [status, body, kind] : cases) {
    const auto failure = failure_from_body(status, body);
    EXPECT_EQ(name_of(failure.kind), name_of(kind)) << body;
    EXPECT_FALSE(failure.message.empty()) << body;
  }
  EXPECT_TRUE(
      failure_from_body(429, R"({"error":{"code":"insufficient_quota","message":"pay"}})").final);
  EXPECT_EQ(failure_from_stream(*json::parse(R"({"code":502,"message":"x"})")).kind, Kind::server);
  EXPECT_EQ(failure_from_stream(*json::parse(R"({"code":429,"message":"x"})")).kind,
            Kind::rate_limit);
}

TEST(OpenAiLists, ModelsComeInSeveralShapes) {
  for (const std::string_view body :
       {R"({"object":"list","data":[{"id":"a","context_length":4096},{"id":"b"}]})",
        R"({"models":[{"name":"a","max_model_len":4096},{"name":"b"},{"x":1},7]})",
        R"([{"id":"a","context_window":4096},{"id":"b"}])"}) {
    const auto models = kChat.decode_list(body);
    ASSERT_EQ(models.size(), 2U) << body;
    EXPECT_EQ(models[0].id, "a");
    EXPECT_EQ(models[0].context_window, 4096);
  }
  EXPECT_TRUE(kChat.decode_list("<html>").empty());
}

}  // namespace
}  // namespace reef::model::openai
