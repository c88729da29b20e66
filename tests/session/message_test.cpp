#include <gtest/gtest.h>

#include "session/entry.h"

namespace reef::session {
namespace {

const TimePoint kTime(std::chrono::milliseconds(1767323046000));

TEST(Message, AssistantCarriesEverythingPiReadsWithoutAsking) {
  AssistantMessage message;
  message.content.push_back(TextBlock{"hi"});
  message.api = "reef-local";
  message.provider = "local";
  message.model = "local";
  message.usage.input = 3;
  message.usage.output = 4;
  message.time = kTime;
  const auto out = to_json(Message(message));
  for (const auto* field :
       {"role", "content", "api", "provider", "model", "usage", "stopReason", "timestamp"})
    EXPECT_TRUE(out.contains(field)) << field;
  EXPECT_EQ(json::write(out.at("usage")),
            R"({"input":3,"output":4,"cacheRead":0,"cacheWrite":0,"totalTokens":7,)"
            R"("cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}})");
}

TEST(Message, EveryKindRoundTrips) {
  UserMessage user;
  user.content = {TextBlock{"look 🙂"}, ImageBlock{"aGk=", "image/png"}};
  user.time = kTime;
  AssistantMessage assistant;
  assistant.content = {ThinkingBlock{"hmm", "sig"}, ThinkingBlock{"", "sealed", true},
                       TextBlock{"done", "signed"},
                       ToolCallBlock{"c1", "bash", {{"command", "ls"}}, "signed"}};
  assistant.usage.reasoning = 2;
  assistant.stop_reason = StopReason::tool_use;
  assistant.usage.cost.total = 0.0048;
  assistant.time = kTime;
  ToolResultMessage result;
  result.tool_call_id = "c1";
  result.tool_name = "bash";
  result.content = {TextBlock{"a\n"}};
  result.is_error = true;
  result.time = kTime;
  for (const Message& message : {Message(user), Message(assistant), Message(result)}) {
    const auto once = to_json(message);
    EXPECT_EQ(json::write(to_json(message_from_json(once))), json::write(once));
  }
}

TEST(Message, UnknownRolesAndBlocksAreKept) {
  const auto line = R"({"role":"mystery","command":"ls","output":"a","odd":[1]})";
  const auto message = message_from_json(json::parse(line)->as_object());
  EXPECT_EQ(role_of(message), "mystery");
  EXPECT_EQ(json::write(to_json(message)), line);
  const auto block = R"({"role":"user","content":[{"type":"hologram","x":1}],"timestamp":5})";
  EXPECT_EQ(json::write(to_json(message_from_json(json::parse(block)->as_object()))), block);
}

TEST(Message, WrongTypesNeverThrow) {
  for (const auto* text : {R"({"role":"assistant","content":null,"usage":7,"timestamp":"x"})",
                           R"({"role":"user","content":{"a":1}})", R"({"role":5})", R"({})",
                           R"({"role":"toolResult","content":[1,null,"x"],"isError":"yes"})"})
    EXPECT_NO_THROW(static_cast<void>(to_json(message_from_json(json::parse(text)->as_object()))))
        << text;
}

TEST(Header, StaysUnder512BytesWhateverTheDirectory) {
  Header header;
  header.id = "261115-swift-river";
  header.time = kTime;
  header.cwd = std::string(5000, 'x');
  const auto line = header_line(header);
  EXPECT_LE(line.size(), Header::kBytesMax);
  const auto again = header_from(json::parse(line)->as_object());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, header.id);
  EXPECT_EQ(again->version, 3);
  EXPECT_EQ(again->time, kTime);
}

}  // namespace
}  // namespace reef::session
