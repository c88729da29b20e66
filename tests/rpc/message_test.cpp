#include "rpc/message.h"

#include <gtest/gtest.h>

#include "rpc/lines.h"
#include "rpc/received.h"

namespace reef::rpc {
namespace {

std::vector<std::string> read(Lines& lines, std::string_view bytes, std::size_t step) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    lines.feed(bytes.substr(at, step));
    while (auto line = lines.next()) out.push_back(*std::move(line));
  }
  return out;
}

TEST(JsonRpcLines, EveryCutReadsTheSame) {
  constexpr std::string_view kBytes = "{\"a\":1}\r\n\n  \n{\"b\":2}\nrest";
  for (std::size_t step = 1; step <= kBytes.size(); ++step) {
    Lines lines;
    EXPECT_EQ(read(lines, kBytes, step), (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}"}));
  }
}

TEST(JsonRpcLines, ALineThatIsTooLongIsDroppedAndTheNextIsRead) {
  const auto bytes = "first\n" + std::string(500, 'x') + "\nlast\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    Lines lines(100);
    EXPECT_EQ(read(lines, bytes, step), (std::vector<std::string>{"first", "last"}));
    EXPECT_EQ(lines.dropped(), 1U);
  }
}

TEST(JsonRpcMessage, TellsRequestsNotificationsAndAnswersApart) {
  const auto request = message_from(R"({"jsonrpc":"2.0","id":"a","method":"ping"})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, Message::Kind::request);
  const auto notification = message_from(R"({"jsonrpc":"2.0","method":"x","params":{"a":1}})");
  ASSERT_TRUE(notification);
  EXPECT_EQ(notification->kind, Message::Kind::notification);
  const auto answer = message_from(R"({"jsonrpc":"2.0","id":3,"result":{"b":2}})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Message::Kind::answer);
  EXPECT_EQ(answer->id, json::value(3));
  const auto refusal =
      message_from(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}})");
  ASSERT_TRUE(refusal);
  ASSERT_TRUE(refusal->error);
  EXPECT_EQ(refusal->error->code, -32700);
}

TEST(JsonRpcMessage, RefusesWhatIsNone) {
  for (const auto* text :
       {"", "{", "[]", "7", "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]", "{\"id\":1}",
        R"({"jsonrpc":"1.0","method":"x"})", R"({"jsonrpc":"2.0"})",
        R"({"jsonrpc":"2.0","method":7})", R"({"jsonrpc":"2.0","method":"x","id":{}})",
        R"({"jsonrpc":"2.0","result":{}})"})
    EXPECT_FALSE(message_from(text)) << text;
}

TEST(JsonRpcMessage, AResultThatIsNoObjectIsAFailure) {
  const auto answer = message_from(R"({"jsonrpc":"2.0","id":3,"result":"words"})");
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->error);
}

TEST(JsonRpcReceived, ABatchIsTakenApartAndItsBadItemsKeepTheirIds) {
  const auto received = take_apart(
      R"([{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},{"id":"x"},7])", 10);
  EXPECT_TRUE(received.batch);
  ASSERT_EQ(received.items.size(), 4U);
  EXPECT_EQ(received.items[0].message.kind, Message::Kind::request);
  EXPECT_EQ(received.items[1].message.kind, Message::Kind::notification);
  ASSERT_TRUE(received.items[2].refusal);
  EXPECT_EQ(received.items[2].refusal->code, kInvalidRequest);
  EXPECT_EQ(received.items[2].message.id, json::value("x"));
  ASSERT_TRUE(received.items[3].refusal);
  EXPECT_TRUE(received.items[3].message.id.is_null());
}

TEST(JsonRpcReceived, WhatIsNoBatchIsRefusedOnce) {
  const auto code = [](std::string_view text, std::size_t batch_max) {
    const auto received = take_apart(text, batch_max);
    EXPECT_FALSE(received.batch);
    EXPECT_EQ(received.items.size(), 1U);
    return received.items.at(0).refusal ? received.items.at(0).refusal->code : 0;
  };
  constexpr std::string_view kTwo =
      R"([{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","method":"b"}])";
  EXPECT_EQ(code("{", 2), kParseError);
  EXPECT_EQ(code("[]", 2), kInvalidRequest);
  EXPECT_EQ(code(kTwo, 1), kInvalidRequest);
  EXPECT_EQ(code(kTwo, 0), kInvalidRequest);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":{},"method":"b"})", 0), kInvalidRequest);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","method":"b"})", 0), 0);
}

TEST(JsonRpcMessage, AnErrorCarriesItsDataThere) {
  const auto sent = make_error(5, {kInvalidParams, "no", json::object{{"why", "so"}}});
  const auto read = message_from(json::write(sent));
  ASSERT_TRUE(read && read->error);
  EXPECT_EQ(read->error->code, kInvalidParams);
  EXPECT_EQ(read->error->data, json::value(json::object{{"why", "so"}}));
  EXPECT_FALSE(make_error(5, {kInvalidParams, "no"}).at("error").as_object().contains("data"));
}

}  // namespace
}  // namespace reef::rpc
