// Only Anthropic has these: cache breakpoints, thinking, and the wording of its errors.
#include "model/anthropic/anthropic.h"

#include <gtest/gtest.h>

#include "model/claude.h"
#include "model/histories.h"

namespace reef::model {
namespace {

using reef::test::assistant_says;
using reef::test::calls;
using reef::test::result_of;
using reef::test::user_says;

const AnthropicCodec kCodec(AnthropicOptions{"https://api.anthropic.com/v1/", "sk"});

Request question(std::string model = "claude-sonnet-4-5") {
  Request request;
  request.model = std::move(model);
  request.system = "Be brief.";
  request.tools = {{"ls", "List", {}}, {"cat", "Read", {}}};
  request.messages = {user_says("one"), assistant_says({session::TextBlock{"two"}}),
                      user_says("three"), assistant_says({session::TextBlock{"four"}}),
                      user_says("five")};
  return request;
}

ModelFacts thinker() {
  ModelFacts facts;
  facts.thinking = true;
  facts.max_output = 64'000;
  return facts;
}

json::object body_of(const Request& request, const ModelFacts& facts = thinker()) {
  return json::parse(kCodec.encode(request, facts, TimePoint()).body)->as_object();
}

TEST(Anthropic, TheStablePrefixIsCached) {
  const json::value body = body_of(question());
  const auto cached = [&](const char* path) {
    return body.at_pointer(path).as_object().contains("cache_control");
  };
  EXPECT_FALSE(cached("/tools/0"));
  EXPECT_TRUE(cached("/tools/1"));
  EXPECT_TRUE(cached("/system/0"));
  EXPECT_FALSE(cached("/messages/0/content/0"));
  EXPECT_FALSE(cached("/messages/1/content/0"));
  EXPECT_TRUE(cached("/messages/2/content/0"));
  EXPECT_TRUE(cached("/messages/4/content/0"));
}

TEST(Anthropic, EarlierMessagesAreSentAgainUnchanged) {
  auto request = question();
  const auto prefix = [](const json::object& body, std::size_t count) {
    std::string out = json::write(body.at("system")) + json::write(body.at("tools"));
    for (std::size_t i = 0; i < count; ++i) {
      auto message = body.at("messages").as_array().at(i);
      for (auto& block : message.at("content").as_array()) block.as_object().erase("cache_control");
      out += json::write(message);
    }
    return out;
  };
  const auto before = prefix(body_of(request), 5);
  request.messages.push_back(assistant_says({session::TextBlock{"six"}, calls("a", "ls")}));
  request.messages.push_back(result_of("a", "x"));
  EXPECT_EQ(prefix(body_of(request), 5), before);
}

TEST(Anthropic, LevelsBecomeBudgetsOrEfforts) {
  auto request = question();
  EXPECT_FALSE(body_of(request).contains("thinking"));
  request.thinking = ThinkingLevel::medium;
  EXPECT_EQ(json::write(body_of(request).at("thinking")),
            R"({"type":"enabled","budget_tokens":8192})");
  EXPECT_FALSE(body_of(request, ModelFacts()).contains("thinking"));

  request.model = "claude-opus-4-6";
  EXPECT_EQ(json::write(body_of(request).at("thinking")), R"({"type":"adaptive"})");
  EXPECT_EQ(json::write(body_of(request).at("output_config")), R"({"effort":"medium"})");
  request.thinking = ThinkingLevel::xhigh;
  EXPECT_EQ(json::write(body_of(request).at("output_config")), R"({"effort":"max"})");
  request.model = "claude-sonnet-4-6";
  EXPECT_EQ(json::write(body_of(request).at("output_config")), R"({"effort":"high"})");
}

TEST(Anthropic, ThoughtsComeOnTopOfTheAnswerAndLeaveRoomForIt) {
  auto request = question();
  request.thinking = ThinkingLevel::high;
  request.max_tokens = 1000;
  EXPECT_EQ(body_of(request).at("max_tokens"), 1000 + 16384);
  EXPECT_EQ(body_of(request).at("thinking").at("budget_tokens"), 16384 - 24);
  auto small = thinker();
  small.max_output = 4096;
  EXPECT_EQ(body_of(request, small).at("max_tokens"), 4096);
  EXPECT_EQ(body_of(request, small).at("thinking").at("budget_tokens"), 3072);
  small.max_output = 1500;
  EXPECT_FALSE(body_of(request, small).contains("thinking"));
  request.max_tokens.reset();
  EXPECT_EQ(body_of(request, ModelFacts()).at("max_tokens"), 8192);
}

TEST(Anthropic, AForcedCallIsNotThoughtAbout) {
  auto request = question();
  request.thinking = ThinkingLevel::high;
  request.tool_choice = {ToolChoice::Mode::named, "cat"};
  const auto body = body_of(request);
  EXPECT_FALSE(body.contains("thinking"));
  EXPECT_EQ(json::write(body.at("tool_choice")), R"({"type":"tool","name":"cat"})");
}

TEST(Anthropic, ALoopAnotherModelBeganIsNotThoughtAbout) {
  auto request = question();
  request.thinking = ThinkingLevel::high;
  request.messages.push_back(assistant_says({calls("a", "ls")}, "openai-responses", "gpt-5"));
  request.messages.push_back(result_of("a", "x"));
  EXPECT_FALSE(body_of(request).contains("thinking"));
  request.messages.push_back(assistant_says({session::TextBlock{"so"}}));
  request.messages.push_back(user_says("and?"));
  EXPECT_TRUE(body_of(request).contains("thinking"));
}

TEST(Anthropic, ItsOwnThoughtsAreGivenBackAsTheyWere) {
  auto request = question();
  request.thinking = ThinkingLevel::high;
  request.messages.push_back(
      assistant_says({session::ThinkingBlock{"hm", "SIG"},
                      session::ThinkingBlock{"", "SEALED", true}, calls("a", "ls")},
                     "anthropic-messages", "claude-sonnet-4-5-20250929"));
  request.messages.push_back(result_of("a", "x"));
  const json::value body = body_of(request);
  EXPECT_EQ(json::write(body.at_pointer("/messages/5/content/0")),
            R"({"type":"thinking","thinking":"hm","signature":"SIG"})");
  EXPECT_EQ(json::write(body.at_pointer("/messages/5/content/1")),
            R"({"type":"redacted_thinking","data":"SEALED"})");
}

TEST(Anthropic, ExtraParametersGoThrough) {
  auto request = question();
  request.extra = {{"temperature", 0.5}, {"stream", false}};
  const auto body = body_of(request);
  EXPECT_EQ(body.at("temperature"), 0.5);
  EXPECT_EQ(body.at("stream"), true);
}

TEST(Anthropic, KeysAndSubscriptionsAuthoriseDifferently) {
  const auto headers = [](std::string key) {
    std::string out;
    const AnthropicCodec codec(AnthropicOptions{"http://h", std::move(key)});
    const auto request = codec.encode_list(TimePoint());
    for (const auto& [name, value] : request->headers) out += name + "=" + value + " ";
    return out;
  };
  EXPECT_EQ(headers("sk-ant-api03-x"), "anthropic-version=2023-06-01 x-api-key=sk-ant-api03-x ");
  EXPECT_EQ(headers("sk-ant-oat01-x"),
            "anthropic-version=2023-06-01 authorization=Bearer sk-ant-oat01-x "
            "anthropic-beta=oauth-2025-04-20 ");
}

TEST(Anthropic, ARefusalIsAFailure) {
  const auto decoder = kCodec.decoder(question(), {});
  const DeltaSink sink = [](const Delta&) {};
  EXPECT_FALSE(
      decoder->take("data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}\n\n"
                    "data: {\"type\":\"message_stop\"}\n\n",
                    sink));
  const auto outcome = decoder->finish();
  EXPECT_EQ(std::get<Failure>(outcome).kind, Failure::Kind::invalid_request);
}

TEST(Anthropic, NamesOfToolsComeBackAsTheyWere) {
  auto request = question();
  request.tools = {{"mcp.git/status", "", {}}};
  const auto sent = body_of(request).at("tools").at(0).at("name");
  EXPECT_EQ(sent, "mcp_git_status");
  const auto decoder = kCodec.decoder(request, {});
  std::string heard;
  const DeltaSink sink = [&](const Delta& delta) { heard += delta.text; };
  EXPECT_FALSE(decoder->take(
      "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
      "\"tool_use\",\"id\":\"a\",\"name\":\"mcp_git_status\",\"input\":{}}}\n\n"
      "data: {\"type\":\"message_stop\"}\n\n",
      sink));
  EXPECT_EQ(heard, "mcp.git/status");
  const auto outcome = decoder->finish();
  const auto& content = std::get<Reply>(outcome).message.content;
  EXPECT_EQ(std::get<session::ToolCallBlock>(content.at(0)).name, "mcp.git/status");
}

TEST(Claude, VersionsAreReadFromNames) {
  for (const auto& [name, major, minor] :
       {std::tuple("claude-opus-4-6", 4, 6), std::tuple("claude-opus-4-6-20260101", 4, 6),
        std::tuple("claude-sonnet-4-20250514", 4, 0), std::tuple("claude-3-7-sonnet-latest", 3, 7),
        std::tuple("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 4, 5),
        std::tuple("anthropic/claude-haiku-4.5", 4, 5), std::tuple("gpt-4-6", 0, 0),
        std::tuple("claude", 0, 0)})
    EXPECT_EQ(claude::version_of(name), std::pair(major, minor)) << name;
}

}  // namespace
}  // namespace reef::model
