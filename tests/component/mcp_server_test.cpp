#include "component/mcp_server.h"

#include <gtest/gtest.h>

#include "component/unit.h"
#include "support/run.h"

namespace reef::component {
namespace {

Task<ToolAnswer> greet(json::object arguments) {
  const auto name = json::find_string(arguments, "name");
  if (!name) co_return ToolAnswer{"name is missing", {}, true};
  if (*name == "nobody") throw std::runtime_error("nobody there");
  co_return ToolAnswer{"hello " + std::string(*name), {{"greeted", *name}}};
}

class McpServerTest : public testing::Test {
 protected:
  McpServerTest() {
    service_.name = "greeter";
    service_.version = "1";
    service_.tools.push_back({"greet", "Says hello.", {{"type", "object"}}, true, greet});
  }

  HttpReply post(json::object message,
                 std::map<std::string, std::string, std::less<>> headers = {}) {
    HttpRequest request{"POST", "/mcp", std::move(headers), json::write(message)};
    request.headers.emplace("content-type", "application/json");
    return test::run(io_, answer(service_, request));
  }
  static json::object body(const HttpReply& reply) {
    return test::value_of(json::parse(reply.body)).as_object();
  }
  static int code(const HttpReply& reply) {
    return static_cast<int>(body(reply).at("error").at("code").as_int64());
  }
  static json::object modern(std::string_view method, json::object params = {},
                             std::string_view version = "2026-07-28") {
    params["_meta"] = json::object{{"io.modelcontextprotocol/protocolVersion", version},
                                   {"io.modelcontextprotocol/clientCapabilities", json::object{}}};
    return {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}};
  }
  static json::object legacy(std::string_view method, json::object params = {}) {
    return {{"jsonrpc", "2.0"}, {"id", "a"}, {"method", method}, {"params", std::move(params)}};
  }

  boost::asio::io_context io_;
  Service service_;
};

const std::map<std::string, std::string, std::less<>> kList = {
    {"mcp-protocol-version", "2026-07-28"}, {"mcp-method", "tools/list"}};
const std::map<std::string, std::string, std::less<>> kCall = {
    {"mcp-protocol-version", "2026-07-28"}, {"mcp-method", "tools/call"}, {"mcp-name", "greet"}};

TEST_F(McpServerTest, BothErasListAndCall) {
  const auto list = body(post(modern("tools/list"), kList)).at("result").as_object();
  EXPECT_EQ(list.at("resultType"), "complete");
  EXPECT_EQ(list.at("tools").as_array().at(0).at("annotations").at("readOnlyHint"), true);
  const json::object arguments{{"name", "greet"}, {"arguments", json::object{{"name", "Ada"}}}};
  const auto called = body(post(modern("tools/call", arguments), kCall)).at("result").as_object();
  EXPECT_EQ(called.at("content").as_array().at(0).at("text"), "hello Ada");
  EXPECT_EQ(called.at("structuredContent").at("greeted"), "Ada");

  const auto begun = body(post(legacy("initialize", {{"protocolVersion", "2025-06-18"}})));
  EXPECT_EQ(begun.at("result").at("protocolVersion"), "2025-06-18");
  EXPECT_EQ(body(post(legacy("initialize", {{"protocolVersion", "1999"}})))
                .at("result")
                .at("protocolVersion"),
            "2025-11-25");
  EXPECT_EQ(post({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}).status, 202);
  EXPECT_EQ(body(post(legacy("tools/list"))).at("result").at("tools").as_array().size(), 1U);
  EXPECT_EQ(body(post(legacy("tools/call", arguments))).at("result").at("isError"), false);
  EXPECT_TRUE(body(post(legacy("ping"))).at("result").as_object().empty());
}

TEST_F(McpServerTest, DiscoverSaysWhatIsSpoken) {
  const auto found = body(post(modern("server/discover"), {{"mcp-protocol-version", "2026-07-28"},
                                                           {"mcp-method", "server/discover"}}));
  EXPECT_EQ(found.at("result").at("supportedVersions").as_array().at(0), "2026-07-28");
  EXPECT_EQ(code(post(legacy("server/discover"))), -32602) << "without _meta";
}

TEST_F(McpServerTest, HeadersMustAgreeWithTheBody) {
  EXPECT_EQ(code(post(modern("tools/list"))), -32020);
  EXPECT_EQ(code(post(modern("tools/list"), kCall)), -32020);
  auto other = kCall;
  other["mcp-name"] = "other";
  EXPECT_EQ(code(post(modern("tools/call", {{"name", "greet"}}), other)), -32020);
  const auto newer = post(modern("tools/list", {}, "2030-01-01"), kList);
  EXPECT_EQ(newer.status, 400);
  EXPECT_EQ(code(newer), -32022);
}

TEST_F(McpServerTest, AToolThatFailsIsAResultAndOneThatIsNotThereAnError) {
  const auto thrown = body(post(
      legacy("tools/call", {{"name", "greet"}, {"arguments", json::object{{"name", "nobody"}}}})));
  EXPECT_EQ(thrown.at("result").at("isError"), true);
  EXPECT_EQ(code(post(legacy("tools/call", {{"name", "part"}}))), -32602);
  EXPECT_EQ(code(post(legacy("tools/call", {{"name", "greet"}, {"arguments", 1}}))), -32602);
  EXPECT_EQ(code(post(legacy("resources/list"))), -32601);
}

TEST_F(McpServerTest, AMessageThatIsNoRequestIsRefused) {
  const auto raw = [&](std::string method, std::string path, std::string text,
                       std::map<std::string, std::string, std::less<>> headers = {}) {
    headers.emplace("content-type", "application/json");
    const HttpRequest request{std::move(method), std::move(path), std::move(headers),
                              std::move(text)};
    return test::run(io_, answer(service_, request));
  };
  EXPECT_EQ(raw("GET", "/mcp", "").status, 405);
  EXPECT_EQ(raw("POST", "/other", "{}").status, 404);
  EXPECT_EQ(code(raw("POST", "/mcp", "{\"jsonrpc\"")), -32700);
  EXPECT_EQ(code(raw("POST", "/mcp", "[]")), -32600);
  EXPECT_EQ(code(raw("POST", "/mcp", R"({"jsonrpc":"2.0","id":{},"method":"ping"})")), -32600);
  EXPECT_EQ(raw("POST", "/mcp", "{}", {{"origin", "https://evil.example"}}).status, 403);
  EXPECT_EQ(raw("POST", "/mcp", "{}", {{"origin", "http://127.0.0.1.evil.example"}}).status, 403);
  EXPECT_NE(raw("POST", "/mcp", "{}", {{"origin", "http://localhost:3000"}}).status, 403);
  EXPECT_EQ(raw("POST", "/mcp", "{}", {{"content-type", "text/plain"}}).status, 415);
}

TEST_F(McpServerTest, ABatchIsAnsweredWhereTheRevisionHasThem) {
  const auto post_batch = [&](std::string text, std::string version) {
    HttpRequest request{"POST", "/mcp", {{"content-type", "application/json"}}, std::move(text)};
    if (!version.empty()) request.headers.emplace("mcp-protocol-version", std::move(version));
    return test::run(io_, answer(service_, request));
  };
  const std::string batch =
      R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},)"
      R"({"id":2},{"jsonrpc":"2.0","id":3,"method":"initialize"},)"
      R"({"jsonrpc":"2.0","id":4,"method":"nothing"}])";
  const auto reply = post_batch(batch, "");
  EXPECT_EQ(reply.status, 200);
  const auto answers = test::value_of(json::parse(reply.body)).as_array();
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_TRUE(answers[0].as_object().contains("result"));
  EXPECT_EQ(answers[1].at("id"), 2);
  EXPECT_EQ(answers[1].at("error").at("code"), -32600);
  EXPECT_EQ(answers[2].at("error").at("code"), -32600) << "a handshake stands alone";
  EXPECT_EQ(answers[3].at("error").at("code"), -32601);
  EXPECT_EQ(post_batch(R"([{"jsonrpc":"2.0","method":"x"}])", "2025-03-26").status, 202);
  EXPECT_EQ(code(post_batch(batch, "2025-06-18")), -32600);
  EXPECT_EQ(code(post_batch(batch, "2026-07-28")), -32600);
}

TEST(Component, NamesAndUnits) {
  EXPECT_TRUE(is_service_name("cron-2_x"));
  for (const auto* bad : {"", "../x", "a/b", "a.b", "a b"})
    EXPECT_FALSE(is_service_name(bad)) << bad;
  Service service;
  service.description = "A thing";
  const auto unit = systemd_unit(service, {"/opt/re ef/x", "--home", "/h/100%\"$"});
  EXPECT_NE(unit.find(R"(ExecStart="/opt/re ef/x" "--home" "/h/100%%\"$$")"), std::string::npos)
      << unit;
}

}  // namespace
}  // namespace reef::component
