#include "mcp/spec.h"

#include <gtest/gtest.h>

#include "mcp/content.h"

namespace reef::mcp {
namespace {

Spec program() {
  Spec spec;
  spec.name = "files";
  spec.command = "server";
  return spec;
}

Spec address() {
  Spec spec;
  spec.name = "web";
  spec.url = "https://example.org/mcp";
  return spec;
}

// CrabTalk's S-5: a token that is not part of the fingerprint lets one agent use another's.
TEST(McpSpec, S5EverythingThatMattersIsInTheFingerprint) {
  const auto base = program();
  std::vector<Spec> others(6, base);
  others[0].args = {"x"};
  others[1].env["A"] = "b";
  others[2].cwd = "/tmp";
  others[3].timeout = std::chrono::seconds(5);
  others[4].command = "other";
  others[5].auto_restart = false;
  auto web = address();
  auto with_auth = web, with_header = web, with_client = web, with_secret = web;
  with_client.oauth.client_id = with_secret.oauth.client_id = "me";
  with_secret.oauth.client_secret = "secret";
  EXPECT_NE(fingerprint(web), fingerprint(with_client));
  EXPECT_NE(fingerprint(with_secret), fingerprint(with_client));
  with_auth.auth = "secret-token";
  with_header.headers["X-Key"] = "secret";
  EXPECT_NE(fingerprint(web), fingerprint(with_auth));
  EXPECT_NE(fingerprint(web), fingerprint(with_header));
  for (const auto& other : others) EXPECT_NE(fingerprint(base), fingerprint(other));
  auto renamed = base;
  renamed.name = "another";
  EXPECT_EQ(fingerprint(base), fingerprint(renamed)) << "a name is only the agent's word";
}

TEST(McpSpec, SecretsAreMaskedWhereverTheyStand) {
  auto spec = program();
  spec.args = {"--api-key", "sk-12345", "--token=tt-9876", "--verbose", "https://u:pw@h/x?key=zz"};
  spec.env = {{"GITHUB_TOKEN", "ghp_abc"}, {"FROM", "env:NAME"}};
  auto web = address();
  web.url = "https://user:pw@example.org/mcp?token=abc&x=y#f";
  web.headers["Authorization"] = "Bearer abcdef";
  web.auth = "tok-123456";
  web.oauth.client_secret = "hunter2";
  web.oauth.assertion = "cmd:fetch-it";
  const auto a = masked(spec), b = masked(web);
  EXPECT_EQ(a.args, (std::vector<std::string>{"--api-key", "***", "--token=***", "--verbose",
                                              "https://***@h/x?key=***"}));
  EXPECT_EQ(a.env.at("GITHUB_TOKEN"), "***");
  EXPECT_EQ(a.env.at("FROM"), "env:NAME");
  EXPECT_EQ(b.url, "https://***@example.org/mcp?token=***&x=***#f");
  EXPECT_EQ(b.headers.at("Authorization"), "***");
  EXPECT_EQ(b.oauth.client_secret, "***");
  EXPECT_EQ(b.oauth.assertion, "cmd:fetch-it");
  EXPECT_EQ(b.auth, "***");
}

TEST(McpSpec, WordsOfOthersAreScrubbed) {
  Secrets secrets;
  secrets.add("hunter2-long");
  secrets.add("hunter2");
  secrets.add("ab");
  EXPECT_EQ(secrets.scrub("ab: hunter2-long and hunter2"), "ab: *** and ***");
}

TEST(McpSpec, ImpossibleSpecsAreRefused) {
  auto both = program();
  both.url = "http://x";
  auto neither = program();
  neither.command.clear();
  auto ftp = address();
  ftp.url = "ftp://x";
  auto header = address();
  header.headers["a\r\nb"] = "c";
  auto name = program();
  name.name = "../x";
  auto variable = program();
  variable.env["A=B"] = "c";
  auto relative = program();
  relative.cwd = "here";
  for (const auto& bad : {both, neither, ftp, header, name, variable, relative})
    EXPECT_FALSE(check(bad));
  EXPECT_TRUE(check(program()));
  EXPECT_TRUE(check(address()));
}

TEST(McpContent, HeadersCarryAnyText) {
  EXPECT_EQ(header_value("us-west1"), "us-west1");
  EXPECT_EQ(header_value("a b"), "a b");
  EXPECT_EQ(header_value(" padded "), "=?base64?IHBhZGRlZCA=?=");
  EXPECT_EQ(header_value("\xC3\xA9"), "=?base64?w6k=?=");
  EXPECT_EQ(header_value("a\r\nb"), "=?base64?YQ0KYg==?=");
  EXPECT_EQ(header_value("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
}

TEST(McpContent, EveryKindOfContentIsUnderstoodOrNamed) {
  const auto value = *json::parse(R"({"isError":true,"structuredContent":{"a":1},"content":[
    {"type":"text","text":"words"},{"type":"image","data":"AAAA","mimeType":"image/png"},
    {"type":"image","data":"not base64!","mimeType":"image/png"},
    {"type":"audio","data":"AAAA","mimeType":"audio/wav"},
    {"type":"resource_link","uri":"x://y","name":"n"},
    {"type":"resource","resource":{"uri":"x://z","text":"inside"}},
    {"type":"hologram"},7]})");
  const auto result = call_result_from(value.as_object());
  EXPECT_TRUE(result.is_error);
  ASSERT_EQ(result.images.size(), 1U);
  EXPECT_EQ(result.structured.at("a"), json::value(1));
  for (const auto* words : {"words", "[image: image/png", "[audio: audio/wav", "x://y", "inside",
                            "not known: hologram"})
    EXPECT_NE(result.text.find(words), std::string::npos) << words << " in " << result.text;
}

TEST(McpContent, AToolAgainstTheRulesIsRefused) {
  for (const auto* text : {"7", "{}", R"({"name":""})",
                           R"({"name":"a","inputSchema":{"properties":{"x":{"type":"number",
                               "x-mcp-header":"X"}}}})",
                           R"({"name":"a","inputSchema":{"properties":{"x":{"type":"string",
                               "x-mcp-header":"a b"}}}})"})
    EXPECT_FALSE(tool_from(*json::parse(text))) << text;
  const auto tool = tool_from(*json::parse(R"({"name":"a","inputSchema":7,
    "annotations":{"readOnlyHint":true}})"));
  ASSERT_TRUE(tool);
  EXPECT_TRUE(tool->read_only);
  EXPECT_EQ(tool->schema.at("type"), json::value("object"));
}

}  // namespace
}  // namespace reef::mcp
