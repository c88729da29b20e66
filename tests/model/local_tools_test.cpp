// The local provider with tools: what it calls, and what it makes of the answers.
#include <gtest/gtest.h>

#include "model/local/found.h"
#include "model/local/intent.h"
#include "model/local/local.h"

namespace reef::model {
namespace {

class LocalToolsTest : public testing::Test {
 protected:
  LocalToolsTest() {
    for (const auto* name : {"forget", "recall", "remember", "search_sessions"})
      request.tools.push_back({name, "", {}});
  }

  template <class Message>
  void add(Message message) {
    request.messages.push_back(std::make_shared<const session::Message>(std::move(message)));
  }
  void user(const std::string& text) {
    session::UserMessage message;
    message.content.push_back(session::TextBlock{text});
    add(std::move(message));
  }
  // Its calls as "tool{arguments}" words, then each answered in order.
  std::string calls(const std::vector<std::string>& answers, bool failed = false) {
    const auto reply = local_reply(request);
    EXPECT_EQ(reply.text, "");
    session::AssistantMessage message;
    std::string out;
    for (const auto& call : reply.calls) {
      out += call.name + json::write(call.arguments) + " ";
      message.content.push_back(call);
    }
    add(std::move(message));
    for (std::size_t i = 0; i < reply.calls.size() && i < answers.size(); ++i) {
      session::ToolResultMessage result;
      result.tool_call_id = reply.calls[i].id;
      result.tool_name = reply.calls[i].name;
      result.is_error = failed;
      result.content.push_back(session::TextBlock{answers[i]});
      add(std::move(result));
    }
    return out;
  }
  std::string said() {
    const auto reply = local_reply(request);
    EXPECT_TRUE(reply.calls.empty());
    return reply.text;
  }

  Request request;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr auto kFound =
    "## Watering\nsession: 260302-old-pump · agent: reef · sender: user\n"
    "updated: 2026-03-02T11:00:00.000Z · matched message #0 · said: 2026-03-02T10:00:00.000Z\n"
    "- [user #0] How do I mend the greenhouse pump?\n- [assistant #1] Replace the rubber seal.\n"
    "---\n## (untitled)\nsession: 260105-calm-boat · agent: reef · sender: user\n"
    "updated: 2026-01-05T11:00:00.000Z · matched message #3 · said: 2026-01-05T10:00:00.000Z\n"
    "- [user #3] The pump of the boat is new\n";

TEST_F(LocalToolsTest, AQuestionIsLookedUpAndAnsweredWithSessionAndDate) {
  user("What did we say about the greenhouse pump?");
  EXPECT_EQ(
      calls({kFound, "## pump\nthe greenhouse pump is a Grundig"}),
      R"(search_sessions{"query":"the greenhouse pump","limit":12} recall{"query":"the greenhouse pump"} )");
  const auto answer = said();
  EXPECT_TRUE(has(answer, "note 'pump': \"the greenhouse pump is a Grundig\"")) << answer;
  EXPECT_TRUE(has(answer,
                  "2026-03-02, session 260302-old-pump (Watering): \"How do I mend the "
                  "greenhouse pump?\"\n  answered: \"Replace the rubber seal.\""))
      << answer;
  EXPECT_TRUE(has(answer, "not a language model"));
}

TEST_F(LocalToolsTest, WhatHardlyMatchesIsNotQuoted) {
  user("Which colour has the greenhouse roof in summer?");
  calls({kFound, "no memories found"});
  EXPECT_TRUE(has(said(), "Nothing I know answers that")) << said();
}

TEST_F(LocalToolsTest, ItQuotesNeitherItselfNorToolsNorQuestionsWithoutAnswer) {
  user("Where is the greenhouse pump?");
  calls(
      {"## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #2 · said: 2026-03-02T10:00:00.000Z\n"
       "- [tool:bash #2] greenhouse pump\n---\n"
       "## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #3 · said: 2026-03-02T10:00:00.000Z\n"
       "- [assistant #3] greenhouse pump (Quoted by Reef's local provider, not a language model.)\n"
       "---\n## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #4 · said: 2026-03-02T10:00:00.000Z\n"
       "- [user #4] Where is the greenhouse pump?\n",
       "no memories found"});
  EXPECT_TRUE(has(said(), "Nothing I know answers that")) << said();
}

TEST_F(LocalToolsTest, TitlesAreNotWordsAndSummariesAre) {
  user("Where is the greenhouse pump?");
  calls(
      {"## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched the title · said: 2026-03-02T10:00:00.000Z\n"
       "- [title] greenhouse pump\n---\n"
       "## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #2 · said: 2026-03-02T10:00:00.000Z\n"
       "- [title] greenhouse pump\n- [user #2] The greenhouse pump is behind the door\n---\n"
       "## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched the summary · said: 2026-03-02T10:00:00.000Z\n"
       "- [summary] The greenhouse pump was mended\n",
       "no memories found"});
  const auto answer = said();
  EXPECT_TRUE(has(answer, "\"The greenhouse pump is behind the door\"")) << answer;
  EXPECT_TRUE(has(answer, "\"The greenhouse pump was mended\"")) << answer;
  EXPECT_FALSE(has(answer, "\"greenhouse pump\"")) << answer;
}

TEST_F(LocalToolsTest, FailuresAreSaid) {
  user("Where is the greenhouse?");
  calls({"disk on fire", "disk on fire"}, true);
  EXPECT_TRUE(has(said(), "could not be searched: disk on fire")) << said();
}

TEST_F(LocalToolsTest, RemembersWhatItIsToldTo) {
  user("Please remember that the deploy key is in the blue vault.");
  EXPECT_EQ(
      calls({"remembered: deploy key blue vault"}),
      R"(remember{"name":"deploy key blue vault","content":"the deploy key is in the blue vault"} )");
  EXPECT_TRUE(has(said(), "I will remember: \"the deploy key is in the blue vault\"")) << said();
}

TEST_F(LocalToolsTest, ForgetsTheNoteThatIsMeant) {
  user("forget about the deploy key");
  EXPECT_EQ(calls({"## deploy key blue vault\nthe deploy key is in the blue vault"}),
            R"(recall{"query":"the deploy key","limit":1} )");
  EXPECT_EQ(calls({"forgot: deploy key blue vault"}), R"(forget{"name":"deploy key blue vault"} )");
  EXPECT_TRUE(has(said(), "Forgotten")) << said();
}

TEST_F(LocalToolsTest, ForgetsNothingElse) {
  user("forget the cat");
  calls({"## deploy\nthe deploy key is in the blue vault"});
  EXPECT_TRUE(has(said(), "I have no note about \"the cat\"")) << said();
}

TEST_F(LocalToolsTest, CallsOfLaterTurnsHaveIdsOfTheirOwn) {
  user("where is the key?");
  const auto first = local_reply(request).calls.at(0).id;
  calls({"no sessions found", "no memories found"});
  user("and where is the lock?");
  EXPECT_NE(local_reply(request).calls.at(0).id, first);
}

TEST(Intent, IsFoundInPlainWords) {
  using Kind = Intent::Kind;
  const std::tuple<std::string, Kind, std::string> cases[] = {
      {"Remember that I like tea.", Kind::remember, "I like tea"},
      {"remember: pin 1234", Kind::remember, "pin 1234"},
      {"Do you remember where I parked?", Kind::question, "Do you remember where I parked"},
      {"remember what I said?", Kind::question, "remember what I said"},
      {"Forget that I like tea", Kind::forget, "I like tea"},
      {"what did we say about tea?", Kind::question, "tea"},
      {"find the tea shop", Kind::question, "the tea shop"},
      {"what did we say so far?", Kind::recap, ""},
      {"summarise this", Kind::recap, ""},
      {"Suggest a title", Kind::title, ""},
      {"hello there", Kind::greeting, ""},
      {"Hi Reef!", Kind::greeting, ""},
      {"The port is 81", Kind::statement, ""},
      {"remember", Kind::statement, ""},
      {"", Kind::statement, ""},
  };
  for (const auto& [text, kind, subject] : cases) {
    const auto intent = intent_of(text);
    EXPECT_EQ(intent.kind, kind) << text;
    if (intent.kind == kind) EXPECT_EQ(intent.subject, subject) << text;
  }
}

TEST(Found, ReadsWhatToolsAnswerAndSurvivesAnything) {
  const auto notes = notes_in("## a\none\n---\ntwo\n---\n## b\nthree");
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].content, "one\n---\ntwo");
  EXPECT_EQ(notes[1].name, "b");
  ASSERT_EQ(passages_in(kFound).size(), 2U);
  EXPECT_EQ(passages_in(kFound)[0].role, "user");
  for (const auto* text : {"", "##", "## ", "---\n", "## x\n---\n## y", "no sessions found",
                           "## t\nsession: \nmatched message #\n- [#] \n"}) {
    static_cast<void>(notes_in(text));
    static_cast<void>(passages_in(text));
  }
}

}  // namespace
}  // namespace reef::model
