// Questions that agents ask in the middle of a turn: how they are shown, answered, listed, ended.
#include <gtest/gtest.h>

#include "runtime/stage.h"

namespace reef::runtime {
namespace {

Ask two_questions() {
  Ask ask;
  ask.questions = {{"Which colour?", "Colour", {{"Red", ""}, {"Blue", ""}}, false},
                   {"Which days?", "Days", {{"Mon", ""}, {"Tue", ""}, {"Wed", ""}}, true}};
  return ask;
}

std::string read(const Ask& ask, std::string_view content) {
  std::string out;
  for (const auto& answer : answers_from(ask, content)) {
    for (const auto& words : answer) out += words + ",";
    out += ";";
  }
  return out;
}

TEST(Answers, SeveralQuestionsAreAnsweredAtOnce) {
  const auto ask = two_questions();
  EXPECT_EQ(read(ask, R"({"Which colour?": "blue", "Days": ["1", "Wed"]})"), "Blue,;Mon,Wed,;");
  EXPECT_EQ(read(ask, R"(["2", ["tue"]])"), "Blue,;Tue,;");
  EXPECT_EQ(read(ask, "red\n2, 3\n"), "Red,;Tue,Wed,;");
  EXPECT_EQ(read(ask, R"({"Days": "Mon"})"), ";Mon,;") << "the other stays open";
  EXPECT_EQ(read(ask, "green, and any day"), "green, and any day,;;") << "words are kept";
}

TEST(Answers, TextThatOnlyLooksLikeJsonIsWords) {
  const auto ask = two_questions();
  EXPECT_EQ(read(ask, R"({"Weather": "fine"})"), R"({"Weather": "fine"},;;)");
  EXPECT_EQ(read(ask, "{braces}"), "{braces},;;");
  EXPECT_EQ(read(ask, R"([1, 2])"), "[1, 2],;;");
  EXPECT_EQ(read(ask, R"(["a", "b", "c"])"), R"(["a", "b", "c"],;;)");
}

TEST(Answers, OneQuestionTakesItsOptionsByLabelNumberOrListAndWordsAsTheyAre) {
  Ask ask;
  ask.questions = {two_questions().questions[1]};
  EXPECT_EQ(read(ask, "mon"), "Mon,;");
  EXPECT_EQ(read(ask, "3"), "Wed,;");
  EXPECT_EQ(read(ask, "1,2"), "Mon,Tue,;");
  EXPECT_EQ(read(ask, R"(["Mon", "3"])"), "Mon,Wed,;");
  EXPECT_EQ(read(ask, "4"), "4,;") << "there is no fourth";
  EXPECT_EQ(read(ask, "Mon, or later"), "Mon, or later,;");
  ask.questions[0].options.push_back({"1", ""});
  EXPECT_EQ(read(ask, "1"), "1,;") << "a label goes before a number";
}

TEST(Answers, APermissionUnderstandsWhatPeopleSay) {
  Ask ask;
  ask.kind = Ask::Kind::permission;
  ask.questions = {{"Run it?",
                    "bash",
                    {{"Allow once", ""}, {"Always in this session", ""}, {"Deny", ""}},
                    false}};
  for (const auto* yes : {"yes", "Y", "allow", "ok", "1", "allow once", " Yes\n"})
    EXPECT_EQ(read(ask, yes), "Allow once,;") << yes;
  for (const auto* always : {"always", "2", "ALWAYS in this session"})
    EXPECT_EQ(read(ask, always), "Always in this session,;") << always;
  for (const auto* no : {"no", "n", "deny", "3"}) EXPECT_EQ(read(ask, no), "Deny,;") << no;
  EXPECT_EQ(read(ask, "yes, but in /tmp"), "yes, but in /tmp,;") << "no consent is read into it";
  ask.kind = Ask::Kind::question;
  EXPECT_EQ(read(ask, "yes"), "yes,;") << "only of a permission";
}

class QuestionsTest : public Stage {
 protected:
  session::Key key = *session::Key::of_pair("reef", "user");
};

TEST_F(QuestionsTest, AnAnswerReachesTheToolThatAsked) {
  const auto run = submit(R"({"replies":[
    {"calls":[{"name":"ask","arguments":{"text":"Which?"}}]}, {"text":"so"}]})");
  test::run_ready(io);
  const auto pending = runtime.questions().list();
  ASSERT_EQ(pending.size(), 1U);
  EXPECT_EQ(pending[0]->origin.sender, "user");
  EXPECT_EQ(pending[0]->origin.call_id, hook->callers.at(0).call_id);
  EXPECT_EQ(pending[0]->origin.session, sessions.current(key));
  EXPECT_TRUE(pending[0]->expires_at);
  EventLog::Place place;
  Event last = Start{};
  for (;;) {
    last = *test::value_of(test::run(io, run->events().next(place)));
    if (std::holds_alternative<AskUser>(last)) break;
  }
  EXPECT_EQ(std::get<AskUser>(last).id, pending[0]->id) << "shown to whoever reads along";
  ASSERT_TRUE(runtime.questions().answer(pending[0]->id, "2"));
  EXPECT_EQ(told(run), "start tools(ask) result(blue) done 'so' end")
      << "who comes later is not asked again";
  EXPECT_TRUE(runtime.questions().list().empty());
}

TEST_F(QuestionsTest, C9_SeveralQuestionsWaitSideBySide) {
  const auto run = submit(R"({"replies":[{"calls":[
    {"name":"ask","arguments":{"text":"one"}}, {"name":"ask","arguments":{"text":"two"}},
    {"name":"ask","arguments":{"text":"three"}}]}, {"text":"so"}]})");
  test::run_ready(io);
  const auto pending = runtime.questions().list();
  ASSERT_EQ(pending.size(), 3U);
  ASSERT_TRUE(runtime.questions().answer(pending[1]->id, "b"));
  EXPECT_EQ(runtime.questions().answer(pending[1]->id, "again").error().code, Errc::not_found);
  test::run_ready(io);
  ASSERT_TRUE(runtime.questions().answer_oldest(key, "a"));
  ASSERT_TRUE(runtime.questions().answer_oldest(key, "c"));
  EXPECT_EQ(told(run), "start tools(ask,ask,ask) result(b) result(a) result(c) done 'so' end");
  EXPECT_EQ(runtime.questions().answer_oldest(key, "d").error().code, Errc::not_found);
}

TEST_F(QuestionsTest, NobodyAnswersInTime) {
  hook->patience = std::chrono::minutes(5);
  const auto run = submit(R"({"replies":[
    {"calls":[{"name":"ask","arguments":{"text":"Which?"}}]}, {"text":"so"}]})");
  clock.advance(std::chrono::seconds(299));
  ASSERT_EQ(runtime.questions().list().size(), 1U);
  EXPECT_EQ(runtime.questions().list()[0]->expires_at, clock.now() + std::chrono::seconds(1));
  clock.advance(std::chrono::seconds(1));
  EXPECT_TRUE(runtime.questions().list().empty());
  EXPECT_EQ(told(run), "start tools(ask) error(nobody answered in time) done 'so' end");
}

TEST_F(QuestionsTest, AQuestionThatIsHeldWaitsLongerThanItsPatience) {
  hook->patience = std::chrono::minutes(5);
  const auto run = submit(R"({"replies":[
    {"calls":[{"name":"ask","arguments":{"text":"Which?"}}]}, {"text":"so"}]})");
  test::run_ready(io);
  const auto id = runtime.questions().list().at(0)->id;
  runtime.questions().hold(id, true);
  clock.advance(std::chrono::minutes(10));
  ASSERT_TRUE(runtime.questions().find(id)) << "somebody is about to answer";
  runtime.questions().hold(id, false);
  EXPECT_EQ(told(run), "start tools(ask) error(nobody answered in time) done 'so' end");
}

TEST_F(QuestionsTest, AnEmptyAnswerIsNone) {
  const auto run = submit(R"({"replies":[
    {"calls":[{"name":"ask","arguments":{"text":"Which?"}}]}, {"text":"so"}]})");
  test::run_ready(io);
  EXPECT_EQ(runtime.questions().answer_oldest(key, " \n").error().code, Errc::invalid);
  EXPECT_EQ(runtime.questions().list().size(), 1U);
}

TEST_F(QuestionsTest, AKillTakesTheQuestionAway) {
  const auto run = submit(R"({"replies":[
    {"calls":[{"name":"ask","arguments":{"text":"Which?"}}]}, {"text":"so"}]})");
  test::run_ready(io);
  ASSERT_EQ(runtime.questions().list().size(), 1U);
  ASSERT_TRUE(runtime.kill("reef", "user"));
  EXPECT_EQ(told(run), "start tools(ask) ask(Which?) error(interrupted) done end(cancelled)");
  EXPECT_TRUE(runtime.questions().list().empty());
}

}  // namespace
}  // namespace reef::runtime
