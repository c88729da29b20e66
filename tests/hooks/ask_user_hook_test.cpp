#include "hooks/ask_user/ask_user_hook.h"

#include <gtest/gtest.h>

#include "support/run.h"

namespace reef::hooks {
namespace {

class AskUserHookTest : public testing::Test {
 protected:
  runtime::ToolAnswer call(const std::string& arguments) {
    runtime::Caller caller{{}, "user", test::value_of(session::SessionId::parse("260101-a-b")), ""};
    caller.ask = [this](runtime::Ask ask) { return reply(std::move(ask)); };
    const auto parsed = test::value_of(json::parse(arguments));
    return test::run(io, hook.call("ask_user", parsed.as_object(), caller));
  }
  Task<Result<std::vector<runtime::UserAnswer>>> reply(runtime::Ask ask) {
    asked = ask;
    if (failure) co_return *failure;
    co_return runtime::answers_from(ask, content);
  }

  boost::asio::io_context io{1};
  AskUserHook hook;
  std::string content;
  std::optional<Error> failure;
  runtime::Ask asked;
};

TEST_F(AskUserHookTest, OneAnswerIsGivenAsItIs) {
  content = "2";
  const auto answer = call(R"({"questions":[{"question":"Which?","header":"Way","options":[
    {"label":"left","description":"over the bridge"},{"label":"right"}]}]})");
  EXPECT_FALSE(answer.is_error);
  EXPECT_EQ(answer.text, "right");
  ASSERT_EQ(asked.questions.size(), 1U);
  EXPECT_EQ(asked.questions[0].options[0].description, "over the bridge");
  content = "neither,\nstay";
  EXPECT_EQ(call(R"({"questions":[{"question":"Which?"}]})").text, "neither,\nstay");
}

TEST_F(AskUserHookTest, SeveralAnswersAreToldWithTheirQuestions) {
  content = R"({"Days":["Mon","2"]})";
  EXPECT_EQ(call(R"({"questions":[{"question":"Which way?"},{"question":"When?","header":"Days",
    "options":[{"label":"Mon"},{"label":"Tue"}],"multi_select":true}]})")
                .text,
            "Which way?: (not answered)\nDays: Mon, Tue");
  EXPECT_TRUE(asked.questions[1].multi_select);
}

TEST_F(AskUserHookTest, AMistakeNamesTheField) {
  EXPECT_EQ(call("{}").text.substr(0, 32), "invalid arguments: 'questions' m");
  EXPECT_NE(call(R"({"questions":[{"header":"x"}]})").text.find("questions[0].question"),
            std::string::npos);
  EXPECT_NE(call(R"({"questions":[{"question":"x","options":[{"label":1}]}]})")
                .text.find("options[0].label"),
            std::string::npos);
  EXPECT_TRUE(call(R"({"questions":[]})").is_error);
  EXPECT_TRUE(call(R"({"questions":[{"question":""}]})").is_error);
}

TEST_F(AskUserHookTest, NoAnswerSaysWhatWasAsked) {
  failure = Error(Errc::timeout, "nobody answered in time");
  const auto answer =
      call(R"({"questions":[{"question":"Which way?","header":"Way"},{"question":"When?"}]})");
  EXPECT_TRUE(answer.is_error);
  EXPECT_EQ(answer.text, "ask_user timed out: no reply received for: Way; When?");
}

}  // namespace
}  // namespace reef::hooks
