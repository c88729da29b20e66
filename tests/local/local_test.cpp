#include "local/local.h"

#include <gtest/gtest.h>

#include "base/notify.h"
#include "model/model.h"
#include "support/run.h"

namespace reef::local {
namespace {

session::MessagePtr said(const std::string& text) {
  session::UserMessage message;
  message.content.push_back(session::TextBlock{text});
  return std::make_shared<const session::Message>(std::move(message));
}

session::MessagePtr replied(const std::string& text) {
  session::AssistantMessage message;
  message.content.push_back(session::TextBlock{text});
  return std::make_shared<const session::Message>(std::move(message));
}

std::string local_answer(std::vector<session::MessagePtr> messages) {
  model::Request request;
  request.messages = std::move(messages);
  const auto reply = local_reply(request);
  EXPECT_TRUE(reply.calls.empty());
  return reply.text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Local, AlwaysSaysThatItIsNotALanguageModel) {
  for (const std::string text : {"hello", "the key is blue", "what is the key?", "recap", "?"})
    EXPECT_TRUE(has(local_answer({said(text)}), "not a language model")) << text;
}

TEST(Local, AnswersAQuestionFromWhatWasSaid) {
  const auto answer =
      local_answer({said("The deploy key is in the blue vault"), replied("Noted."),
                    said("Lunch is at noon"), replied("Noted."), said("Where is the deploy key?")});
  EXPECT_TRUE(has(answer, "The deploy key is in the blue vault")) << answer;
  EXPECT_TRUE(has(answer, "message 1")) << answer;
  EXPECT_FALSE(has(answer, "Lunch")) << answer;
}

TEST(Local, ANewerStatementComesBeforeAnOlderOne) {
  const auto answer = local_answer({said("the port is 80"), replied("."), said("the port is 81"),
                                    replied("."), said("what is the port?")});
  EXPECT_LT(answer.find("81"), answer.find("80")) << answer;
}

TEST(Local, SaysSoWhenNothingAnswers) {
  EXPECT_TRUE(has(local_answer({said("Lunch is at noon"), said("Where is the key?")}),
                  "Nothing in this conversation answers that"));
}

TEST(Local, AWeakMatchIsCalledTheNearest) {
  const auto answer = local_answer({said("The spare key is under the flowerpot"), replied("."),
                                    said("Who mended the lock, hinge and key of the red barn?")});
  EXPECT_TRUE(has(answer, "The nearest I found:\nmessage 1: \"The spare key")) << answer;
}

TEST(Local, AQuestionInAnyScriptIsAnswered) {
  const auto answer =
      local_answer({said("我的密码是一二三四"), replied("."), said("我的密码是什么？")});
  EXPECT_TRUE(has(answer, "From this conversation:\nmessage 1: \"我的密码是一二三四\"")) << answer;
}

TEST(Local, RecapsTheConversation) {
  const auto answer = local_answer({said("one apple"), replied("x"), said("two pears"),
                                    replied("x"), said("what did I say so far")});
  EXPECT_TRUE(has(answer, "1. \"one apple\"\n2. \"two pears\"")) << answer;
}

TEST(Local, IsDeterministicAndSurvivesAnyText) {
  for (const std::string text : {"", " ", "\xFF\xFE", "🙂🙂🙂", "????", "漢字は？"})
    EXPECT_EQ(local_answer({said(text), said(text)}), local_answer({said(text), said(text)}));
  EXPECT_FALSE(local_answer({}).empty());
}

TEST(Local, StreamsWhatItAnswersAndCountsTokens) {
  boost::asio::io_context io(1);
  LocalProvider provider;
  model::Request request;
  request.messages.push_back(said("hello"));
  std::string streamed;
  int pieces = 0;
  const model::DeltaSink sink = [&](model::Delta delta) {
    EXPECT_FALSE(delta.text.empty());
    streamed += delta.text;
    ++pieces;
  };
  const auto outcome = test::run(io, provider.stream(request, sink));
  const auto& reply = std::get<model::Reply>(outcome).message;
  EXPECT_EQ(session::text_of(reply.content), streamed);
  EXPECT_GT(pieces, 5);
  EXPECT_GT(reply.usage.input, 0);
  EXPECT_GT(reply.usage.output, 0);
}

TEST(Providers, RouteByNameAndSayWhatThereIs) {
  model::Providers providers;
  providers.add("local", std::make_shared<LocalProvider>());
  EXPECT_EQ(providers.route("local")->model, "local");
  EXPECT_EQ(providers.route("local/big/one")->model, "big/one");
  const auto missing = providers.route("gpt-x");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(has(missing.error().what, "gpt-x"));
  EXPECT_TRUE(has(missing.error().what, "local"));
}

}  // namespace
}  // namespace reef::local
