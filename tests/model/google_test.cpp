// Only Gemini has these: schemas it refuses, signatures on calls, replies that are blocked.
#include "model/google/google.h"

#include <gtest/gtest.h>

#include "model/google/schema.h"
#include "model/histories.h"

namespace reef::model {
namespace {

using reef::test::assistant_says;
using reef::test::calls;
using reef::test::result_of;
using reef::test::user_says;

const GoogleCodec kCodec(GoogleOptions{"https://generativelanguage.googleapis.com", "k"});

std::string cleaned(std::string_view schema) {
  const auto out = google::cleaned_schema(json::parse(schema)->as_object());
  return out ? json::write(*out) : "none";
}

TEST(GoogleSchema, KeepsWhatGeminiKnows) {
  EXPECT_EQ(cleaned(R"({"$schema":"x","type":"object","additionalProperties":false,
                        "properties":{"p":{"type":"string","minLength":1,"format":"uri"}},
                        "required":["p","q"]})"),
            R"({"type":"object","properties":{"p":{"minLength":1,"type":"string"}},)"
            R"("required":["p"]})");
}

TEST(GoogleSchema, NoParametersAreNone) {
  EXPECT_EQ(cleaned("{}"), "none");
  EXPECT_EQ(cleaned(R"({"type":"object","properties":{}})"), "none");
}

TEST(GoogleSchema, WritesReferencesOut) {
  EXPECT_EQ(cleaned(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},
                        "$defs":{"A":{"type":["string","null"],"enum":["x","",3]}}})"),
            R"({"type":"object","properties":{"a":{"nullable":true,"type":"string",)"
            R"("enum":["x"]}}})");
}

TEST(GoogleSchema, ASchemaThatHoldsItselfEnds) {
  const auto text = cleaned(R"({"type":"object","properties":{"a":{"$ref":"#"},
                                "b":{"$ref":"#/properties/b"}}})");
  EXPECT_LT(text.size(), 10'000U);
}

TEST(GoogleSchema, OneThatHoldsItselfManyTimesStaysSmall) {
  json::object properties;
  for (int i = 0; i < 12; ++i)
    properties["branch" + std::to_string(i)] =
        json::object{{"allOf", json::array{json::object{{"$ref", "#"}}}},
                     {"description", std::string(2000, 'd')}};
  const json::object schema{{"type", "object"}, {"properties", properties}};
  EXPECT_LT(cleaned(json::write(schema)).size(), 16U << 20);
  json::object deep;
  for (int i = 0; i < 30; ++i) deep = json::object{{"branch1", std::move(deep)}};
  google::restore_arguments(deep, schema);
  EXPECT_TRUE(deep.contains("branch1"));

  json::array choices(20, json::object{{"$ref", "#/properties/a"}});
  const json::object loop{{"type", "object"},
                          {"properties", {{"a", json::object{{"anyOf", choices}}}}}};
  EXPECT_LT(cleaned(json::write(loop)).size(), 1U << 20);
  json::object arguments{{"a", json::object{{"x", 1}}}};
  google::restore_arguments(arguments, loop);
  EXPECT_EQ(json::write(arguments), R"({"a":{"x":1}})");
}

TEST(GoogleSchema, AnObjectThatMayBeMissingComesBackAsOne) {
  const auto schema = json::parse(R"({"type":"object","properties":{
      "env":{"anyOf":[{"type":"object"},{"type":"null"}]},
      "list":{"type":["object","null"]},
      "either":{"anyOf":[{"type":"string"},{"type":"object"}]}}})");
  auto arguments =
      json::parse(R"({"env":"{\"A\":1}","list":"{\"B\":2}","either":"{\"C\":3}"})")->as_object();
  google::restore_arguments(arguments, schema->as_object());
  EXPECT_EQ(json::write(arguments), R"({"env":{"A":1},"list":{"B":2},"either":"{\"C\":3}"})");
}

TEST(GoogleSchema, ChoicesStandAlone) {
  EXPECT_EQ(cleaned(R"({"type":"object","properties":{"a":{"description":"d","oneOf":[
                        {"type":"string","const":"x"},{"type":"null"},{"type":"integer"}]}}})"),
            R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string","enum":["x"]},)"
            R"({"type":"integer"}],"description":"d","nullable":true}}})");
}

TEST(GoogleSchema, ObjectsOfAnyShapeTravelAsText) {
  const auto schema = json::parse(R"({"type":"object","properties":{"env":{"type":"object",
      "additionalProperties":{"type":"string"}},"list":{"type":"array","items":{"type":"object"}},
      "plain":{"type":"string"}}})");
  EXPECT_NE(cleaned(json::write(*schema)).find("(an object, written as JSON)"), std::string::npos);
  auto arguments = json::parse(R"({"env":"{\"A\":\"1\"}","list":["{\"x\":2}","no"],
                                   "plain":"{\"A\":1}"})")
                       ->as_object();
  google::restore_arguments(arguments, schema->as_object());
  EXPECT_EQ(json::write(arguments),
            R"({"env":{"A":"1"},"list":[{"x":2},"no"],"plain":"{\"A\":1}"})");
}

json::value body_of(const Request& request, const ModelFacts& facts = {}) {
  return *json::parse(kCodec.encode(request, facts, TimePoint()).body);
}

Request question(std::string model) {
  Request request;
  request.model = std::move(model);
  request.messages = {user_says("go"), assistant_says({calls("a", "ls"), calls("b", "ls")}),
                      result_of("a", "x"), result_of("b", "no", true), user_says("and?")};
  return request;
}

TEST(Google, ResponsesStandAlone) {
  const auto body = body_of(question("gemini-2.5-flash"));
  EXPECT_EQ(json::write(body.at_pointer("/contents/2")),
            R"({"role":"user","parts":[{"functionResponse":{"id":"a","name":"ls","response":)"
            R"({"output":"x"}}},{"functionResponse":{"id":"b","name":"ls","response":)"
            R"({"error":"no"}}}]})");
  EXPECT_EQ(json::write(body.at_pointer("/contents/3")),
            R"({"role":"user","parts":[{"text":"and?"}]})");
}

TEST(Google, ForeignCallsAreMarkedWhereSignaturesAreDemanded) {
  EXPECT_FALSE(body_of(question("gemini-2.5-flash"))
                   .at_pointer("/contents/1/parts/0")
                   .as_object()
                   .contains("thoughtSignature"));
  const auto body = body_of(question("gemini-3-pro"));
  EXPECT_EQ(body.at_pointer("/contents/1/parts/0/thoughtSignature"),
            "skip_thought_signature_validator");
  EXPECT_FALSE(body.at_pointer("/contents/1/parts/1").as_object().contains("thoughtSignature"));
}

TEST(Google, ItsOwnSignaturesAreGivenBack) {
  auto request = question("gemini-3-pro");
  const DeltaSink sink = [](const Delta&) {};
  const auto decoder = kCodec.decoder(request, {});
  EXPECT_FALSE(decoder->take(
      "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"ls\","
      "\"args\":{}},\"thoughtSignature\":\"U0lH\"},{\"functionCall\":{\"name\":\"ls\"}}]},"
      "\"finishReason\":\"STOP\"}],\"modelVersion\":\"gemini-3-pro\"}\r\n\r\n",
      sink));
  const auto outcome = decoder->finish();
  auto reply = std::get<Reply>(outcome).message;
  EXPECT_EQ(reply.stop_reason, session::StopReason::tool_use);
  reply.api = kCodec.api();
  request.messages = {user_says("go"),
                      std::make_shared<const session::Message>(
                          session::message_from_json(session::to_json(session::Message(reply))))};
  const auto body = body_of(request);
  EXPECT_EQ(body.at_pointer("/contents/1/parts/0/thoughtSignature"), "U0lH");
  EXPECT_FALSE(body.at_pointer("/contents/1/parts/1").as_object().contains("thoughtSignature"));
  request.model = "gemini-3-flash";
  EXPECT_EQ(body_of(request).at_pointer("/contents/1/parts/0/thoughtSignature"),
            "skip_thought_signature_validator");
}

TEST(Google, LevelsBecomeLevelsOrBudgets) {
  ModelFacts facts;
  facts.thinking = true;
  const auto thinking = [&](std::string model, ThinkingLevel level) {
    auto request = question(std::move(model));
    request.thinking = level;
    return json::write(body_of(request, facts).at_pointer("/generationConfig/thinkingConfig"));
  };
  EXPECT_EQ(thinking("gemini-2.5-flash", ThinkingLevel::off), R"({"thinkingBudget":0})");
  EXPECT_EQ(thinking("gemini-2.5-pro", ThinkingLevel::off), R"({"thinkingBudget":128})");
  EXPECT_EQ(thinking("gemini-2.5-pro", ThinkingLevel::high),
            R"({"thinkingBudget":16384,"includeThoughts":true})");
  EXPECT_EQ(thinking("gemini-3-flash", ThinkingLevel::off), R"({"thinkingLevel":"minimal"})");
  EXPECT_EQ(thinking("gemini-3-pro", ThinkingLevel::high),
            R"({"thinkingLevel":"high","includeThoughts":true})");
  facts.thinking = false;
  EXPECT_FALSE(
      body_of(question("gemini-2.0-flash"), facts).as_object().contains("generationConfig"));
}

TEST(Google, ExtraParametersJoinTheConfiguration) {
  auto request = question("m");
  request.max_tokens = 10;
  request.extra = *json::parse(R"({"generationConfig":{"temperature":1}})")->if_object();
  EXPECT_EQ(json::write(body_of(request).at("generationConfig")),
            R"({"maxOutputTokens":10,"temperature":1})");
}

Outcome read(std::string_view chunk) {
  const auto decoder = kCodec.decoder({}, {});
  const DeltaSink sink = [](const Delta&) {};
  const auto line = json::write(*json::parse(chunk));
  if (auto failure = decoder->take("data: " + line + "\n\n", sink)) return *failure;
  return decoder->finish();
}

TEST(Google, ABlockedReplyIsAFailure) {
  const auto prompt = read(R"({"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}})");
  EXPECT_EQ(std::get<Failure>(prompt).kind, Failure::Kind::invalid_request);
  EXPECT_NE(std::get<Failure>(prompt).message.find("PROHIBITED_CONTENT"), std::string::npos);
  const auto reply =
      read(R"({"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"SAFETY"}]})");
  EXPECT_EQ(std::get<Failure>(reply).kind, Failure::Kind::invalid_request);
  const auto stumbled = read(R"({"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL",
                                 "finishMessage":"no such thing"}]})");
  EXPECT_EQ(std::get<Failure>(stumbled).kind, Failure::Kind::server);
  EXPECT_NE(std::get<Failure>(stumbled).message.find("no such thing"), std::string::npos);
}

TEST(Google, ThoughtsCountAsOutputAndCachedInputIsTold) {
  const auto outcome = read(R"({"candidates":[{"content":{"parts":[{"text":"a"}]},
      "finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,
      "cachedContentTokenCount":60,"candidatesTokenCount":5,"thoughtsTokenCount":20,
      "toolUsePromptTokenCount":3,"totalTokenCount":128}})");
  const auto& usage = std::get<Reply>(outcome).message.usage;
  EXPECT_EQ(usage.input, 43);
  EXPECT_EQ(usage.cache_read, 60);
  EXPECT_EQ(usage.output, 25);
  EXPECT_EQ(usage.reasoning, 20);
  EXPECT_EQ(usage.total(), 128);
}

TEST(Google, SaysWhenToComeBack) {
  const auto failure = kCodec.failure(429, {}, R"({"error":{"code":429,"message":"q",
      "status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo",
      "retryDelay":"7.5s"}]}})");
  EXPECT_EQ(failure.retry_after, std::chrono::milliseconds(7500));
}

TEST(Google, ListsWhatGeneratesContent) {
  const auto models = kCodec.decode_list(R"({"models":[
    {"name":"models/gemini-2.5-flash","inputTokenLimit":1048576,"outputTokenLimit":65536,
     "supportedGenerationMethods":["generateContent","countTokens"],"thinking":true},
    {"name":"models/embedding-001","supportedGenerationMethods":["embedContent"]}]})");
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0].id, "gemini-2.5-flash");
  EXPECT_EQ(models[0].context_window, 1'048'576);
  EXPECT_TRUE(models[0].thinking);
}

}  // namespace
}  // namespace reef::model
