#include "model/scripted/scripted.h"

#include <gtest/gtest.h>

#include "base/task_group.h"
#include "model/complete.h"
#include "support/run.h"

namespace reef::model {
namespace {

Request conversation(int user_messages) {
  Request request;
  for (int i = 0; i < user_messages; ++i)
    request.messages.push_back(std::make_shared<const session::Message>(session::UserMessage{}));
  return request;
}

TEST(Scripted, TheConversationDecidesWhichReplyComes) {
  boost::asio::io_context io(1);
  ScriptedProvider provider(
      *parse_script(R"({"replies":[{"text":"one two"},{"text":"ab","repeat":3}]})"));
  for (const auto& [turn, expected, pieces] :
       {std::tuple(1, "one two", 2), std::tuple(2, "ababab", 3), std::tuple(3, "one two", 2)}) {
    const auto request = conversation(turn);
    int count = 0;
    const DeltaSink sink = [&](const Delta&) { ++count; };
    const auto outcome = test::run(io, provider.stream(request, sink));
    EXPECT_EQ(session::text_of(std::get<Reply>(outcome).message.content), expected);
    EXPECT_EQ(count, pieces);
  }
}

TEST(Scripted, FailuresAreStructured) {
  boost::asio::io_context io(1);
  ScriptedProvider provider(*parse_script(
      R"({"replies":[{"text":"so","fail":"rate_limit","message":"slow down","http_status":429}]})"));
  const auto request = conversation(1);
  const DeltaSink sink = [](const Delta&) {};
  const auto outcome = test::run(io, provider.stream(request, sink));
  const auto& failure = std::get<Failure>(outcome);
  EXPECT_EQ(failure.kind, Failure::Kind::rate_limit);
  EXPECT_EQ(describe(failure, "s/x"), "model 's/x' failed (rate_limit, HTTP 429): slow down");
}

Task<void> stream_into(ScriptedProvider& provider, const Request& request, const DeltaSink& sink,
                       bool& cancelled) {
  try {
    static_cast<void>(co_await provider.stream(request, sink));
  } catch (const boost::system::system_error&) {
    cancelled = true;
  }
}

TEST(Scripted, AHangingReplyEndsWhenCancelled) {
  boost::asio::io_context io(1);
  ScriptedProvider provider(*parse_script(R"({"replies":[{"text":"so far","hang":true}]})"));
  const auto request = conversation(1);
  std::string heard;
  const DeltaSink sink = [&](const Delta& delta) { heard += delta.text; };
  bool cancelled = false;
  TaskGroup group(io.get_executor(), "test");
  group.spawn(stream_into(provider, request, sink, cancelled));
  test::run_ready(io);
  EXPECT_EQ(heard, "so far");
  EXPECT_FALSE(cancelled);
  group.cancel();
  test::run(io, group.join());
  EXPECT_TRUE(cancelled);
}

TEST(Scripted, ACompletionIsTheWholeReply) {
  boost::asio::io_context io(1);
  ScriptedProvider provider(
      *parse_script(R"({"replies":[{"text":"one two"},{"fail":"auth","message":"no"}]})"));
  const auto first = conversation(1);
  const auto whole = test::run(io, complete(provider, first));
  EXPECT_EQ(session::text_of(std::get<Reply>(whole).message.content), "one two");
  const auto second = conversation(2);
  EXPECT_EQ(std::get<Failure>(test::run(io, complete(provider, second))).kind, Failure::Kind::auth);
}

TEST(Scripted, BadScriptsSayWhere) {
  for (const auto& [script, part] :
       {std::pair("{", "not JSON"), std::pair("{}", "replies"),
        std::pair(R"({"replies":[]})", "replies"),
        std::pair(R"({"replies":[{"text":"a"},7]})", "replies[1]"),
        std::pair(R"({"replies":[{"fail":"bored"}]})", "bored"),
        std::pair(R"({"replies":[{"text":"a","repeat":-1}]})", "repeat")}) {
    const auto parsed = parse_script(script);
    ASSERT_FALSE(parsed) << script;
    EXPECT_NE(parsed.error().what.find(part), std::string::npos) << parsed.error().what;
  }
}

}  // namespace
}  // namespace reef::model
