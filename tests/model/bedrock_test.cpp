// Only Bedrock has these: signatures, frames, and rules for where cache points may stand.
#include "model/bedrock/bedrock.h"

#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/bedrock/event_stream.h"
#include "model/bedrock/sigv4.h"
#include "model/histories.h"

namespace reef::model {
namespace {

using reef::test::assistant_says;
using reef::test::calls;
using reef::test::result_of;
using reef::test::user_says;

// AWS publishes these values with the algorithm (in its test suite and in the example of its
// documentation).
const bedrock::AwsKeys kKeys = {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
const TimePoint kThen(std::chrono::milliseconds(1440938160000));  // 2015-08-30T12:36:00Z

std::string header(const HttpRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.headers)
    if (key == name) return value;
  return {};
}

std::string signature(HttpRequest request, std::string_view service = "service") {
  bedrock::sign(request, kKeys, "us-east-1", service, kThen);
  const auto all = header(request, "authorization");
  return all.substr(all.find("Signature=") + 10);
}

TEST(SigV4, AgreesWithThePublishedVectors) {
  HttpRequest get;
  get.method = "GET";
  get.url = "https://example.amazonaws.com/";
  EXPECT_EQ(signature(get), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");

  auto sorted = get;
  sorted.url += "?Param2=value2&Param1=value1";
  EXPECT_EQ(signature(sorted), "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");

  auto trimmed = get;
  trimmed.headers = {{"My-Header1", "value1"}, {"My-Header2", "\"a   b   c\""}};
  EXPECT_EQ(signature(trimmed), "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");

  HttpRequest post;
  post.url = "https://example.amazonaws.com/";
  EXPECT_EQ(signature(post), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");

  post.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  post.body = "Param1=value1";
  EXPECT_EQ(signature(post), "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
}

TEST(SigV4, AgreesWithTheExampleOfTheDocumentation) {
  HttpRequest request;
  request.method = "GET";
  request.url = "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08";
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
  bedrock::sign(request, kKeys, "us-east-1", "iam", kThen);
  EXPECT_EQ(header(request, "x-amz-date"), "20150830T123600Z");
  EXPECT_EQ(header(request, "authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
            "SignedHeaders=content-type;host;x-amz-date, "
            "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

TEST(SigV4, ATokenIsSentAndSigned) {
  HttpRequest request;
  request.url = "https://example.amazonaws.com/";
  auto keys = kKeys;
  keys.session_token = "TOKEN";
  bedrock::sign(request, keys, "us-east-1", "service", kThen);
  EXPECT_EQ(header(request, "x-amz-security-token"), "TOKEN");
  EXPECT_NE(header(request, "authorization").find("host;x-amz-date;x-amz-security-token"),
            std::string::npos);
}

TEST(EventStream, CrcIsTheOneOfTheStandard) {
  EXPECT_EQ(bedrock::crc32("123456789"), 0xCBF43926U);
  EXPECT_EQ(bedrock::crc32(""), 0U);
}

std::string number(std::uint32_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return out;
}

std::string sealed(const std::string& headers, const std::string& payload) {
  auto out = number(static_cast<std::uint32_t>(16 + headers.size() + payload.size()), 4) +
             number(static_cast<std::uint32_t>(headers.size()), 4);
  out += number(bedrock::crc32(out), 4);
  out += headers + payload;
  return out + number(bedrock::crc32(out), 4);
}

TEST(EventStream, HeadersOfEveryTypeAreSteppedOver) {
  const auto name = [](const std::string& text) { return number(1, 1) + text; };
  std::string headers;
  headers += name("a") + '\0' + name("b") + '\1' + name("c") + '\2' + "x" + name("d") + '\3' + "xx";
  headers += name("e") + '\4' + "xxxx" + name("f") + '\5' + "xxxxxxxx";
  headers += name("g") + '\6' + number(3, 2) + "xxx" + name("h") + '\7' + number(2, 2) + "hi";
  headers += name("i") + '\x08' + "xxxxxxxx" + name("j") + '\x09' + std::string(16, 'x');
  bedrock::FrameParser parser;
  parser.feed(sealed(headers, "payload"));
  const auto frame = parser.next();
  ASSERT_TRUE(frame) << frame.error().what;
  ASSERT_TRUE(*frame);
  EXPECT_EQ((*frame)->header("h"), "hi");
  EXPECT_EQ((*frame)->headers.size(), 1U);
  EXPECT_EQ((*frame)->payload, "payload");
}

TEST(EventStream, EveryFlippedBitIsNoticed) {
  const auto good = sealed(number(1, 1) + "a" + '\7' + number(1, 2) + "b", "payload");
  for (std::size_t i = 0; i < good.size(); ++i)
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto bad = good;
      bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ (1U << bit));
      bedrock::FrameParser parser;
      parser.feed(bad + good);
      EXPECT_FALSE(parser.next()) << i;
    }
}

TEST(EventStream, LengthsThatCannotBeAreRefused) {
  for (const auto& [total, headers] :
       {std::pair(15U, 0U), std::pair(16U, 1U), std::pair(0xFFFFFFFFU, 0U), std::pair(20U, 8U)}) {
    auto bytes = number(total, 4) + number(headers, 4);
    bytes += number(bedrock::crc32(bytes), 4);
    bedrock::FrameParser parser;
    parser.feed(bytes);
    EXPECT_FALSE(parser.next()) << total;
  }
}

Request conversation(std::string model) {
  Request request;
  request.model = std::move(model);
  request.system = "Be brief.";
  request.tools = {{"ls", "List", {{"type", "object"}}}};
  request.messages = {user_says("go"), assistant_says({calls("a", "ls")}), result_of("a", "x"),
                      assistant_says({session::TextBlock{"so"}}), user_says("and?")};
  return request;
}

BedrockCodec codec() {
  BedrockOptions options;
  options.region = "eu-west-1";
  options.keys = kKeys;
  return BedrockCodec(options);
}

std::size_t cache_points(const std::string& model) {
  const auto body = codec().encode(conversation(model), {}, kThen).body;
  std::size_t count = 0;
  for (auto at = body.find("cachePoint"); at != std::string::npos;
       at = body.find("cachePoint", at + 1))
    ++count;
  return count;
}

TEST(Bedrock, CachePointsStandOnlyWhereTheyAreTaken) {
  EXPECT_EQ(cache_points("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), 4U);
  EXPECT_EQ(cache_points("amazon.nova-pro-v1:0"), 3U);
  EXPECT_EQ(cache_points("anthropic.claude-3-haiku-20240307-v1:0"), 0U);
  EXPECT_EQ(cache_points("meta.llama3-70b-instruct-v1:0"), 0U);
}

TEST(Bedrock, TheModelIsPartOfThePath) {
  const auto request = codec().encode(conversation("a.b-v1:0"), {}, kThen);
  EXPECT_EQ(request.url,
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a.b-v1%3A0/converse-stream");
}

TEST(Bedrock, ForbiddenCallsAreNotDeclared) {
  auto request = conversation("meta.llama3");
  request.tool_choice.mode = ToolChoice::Mode::none;
  const auto body = codec().encode(request, {}, kThen).body;
  EXPECT_EQ(body.find("toolConfig"), std::string::npos);
  EXPECT_EQ(body.find("toolUse"), std::string::npos);
  EXPECT_NE(body.find("called the tool ls"), std::string::npos);
}

TEST(Bedrock, ClaudeThinksInAdditionalFields) {
  auto request = conversation("anthropic.claude-sonnet-4-5-v1:0");
  request.thinking = ThinkingLevel::low;
  ModelFacts facts;
  facts.thinking = true;
  facts.max_output = 64'000;
  const auto body = json::parse(codec().encode(request, facts, kThen).body);
  EXPECT_EQ(json::write(body->at("additionalModelRequestFields")),
            R"({"thinking":{"type":"enabled","budget_tokens":2048}})");
}

TEST(Bedrock, CredentialsComeFromTheKeyOrTheEnvironment) {
  const std::map<std::string, std::string> set = {{"AWS_ACCESS_KEY_ID", "id"},
                                                  {"AWS_SECRET_ACCESS_KEY", "secret"},
                                                  {"AWS_SESSION_TOKEN", "token"},
                                                  {"AWS_DEFAULT_REGION", "eu-central-1"}};
  const auto get = [](const std::map<std::string, std::string>& from) {
    return [&from](const std::string& name) {
      const auto found = from.find(name);
      return found == from.end() ? std::string() : found->second;
    };
  };
  const auto pair = bedrock_options("A:S/+=", "", "", get(set));
  EXPECT_EQ(pair.keys.id, "A");
  EXPECT_EQ(pair.keys.secret, "S/+=");
  EXPECT_EQ(pair.keys.session_token, "");
  EXPECT_EQ(pair.region, "eu-central-1");
  EXPECT_EQ(bedrock_options("A:S:T", "", "", get(set)).keys.session_token, "T");
  EXPECT_EQ(bedrock_options("ABSKxyz", "r", "", get(set)).api_key, "ABSKxyz");
  const auto ambient = bedrock_options("", "", "", get(set));
  EXPECT_EQ(ambient.keys.id + ambient.keys.secret + ambient.keys.session_token, "idsecrettoken");
  const std::map<std::string, std::string> bearer = {{"AWS_BEARER_TOKEN_BEDROCK", "key"}};
  EXPECT_EQ(bedrock_options("", "", "", get(bearer)).api_key, "key");
  EXPECT_EQ(bedrock_options("", "", "", get(bearer)).region, "us-east-1");
}

TEST(Bedrock, AnApiKeyIsSentAsItIs) {
  BedrockOptions options;
  options.api_key = "ABSK";
  const auto request = BedrockCodec(options).encode(conversation("m"), {}, kThen);
  EXPECT_EQ(header(request, "authorization"), "Bearer ABSK");
  EXPECT_EQ(header(request, "x-amz-date"), "");
}

TEST(Bedrock, ListsWhatStreamsText) {
  const auto models = codec().decode_list(R"({"modelSummaries":[
    {"modelId":"a","inputModalities":["TEXT","IMAGE"],"outputModalities":["TEXT"],
     "responseStreamingSupported":true},
    {"modelId":"b","inputModalities":["TEXT"],"outputModalities":["EMBEDDING"]},
    {"modelId":"c","inputModalities":["TEXT"],"outputModalities":["TEXT"],
     "responseStreamingSupported":true}, 7]})");
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].id, "a");
  EXPECT_TRUE(models[0].images);
  EXPECT_FALSE(models[1].images);
  EXPECT_TRUE(codec().decode_list("garbage").empty());
}

}  // namespace
}  // namespace reef::model
