#include "recall/question.h"

#include <gtest/gtest.h>

namespace reef::recall {
namespace {

std::string words(const Question& question) {
  std::string out;
  for (const auto& clause : question.words.clauses) out += clause.terms[0] + " ";
  return out;
}

TEST(Question, ConditionsAreTakenOutOfTheWords) {
  const auto question = parse_question(
      "pump role:tool after:2026-01-02 in:260302-old-pump status:done -role:user", false);
  EXPECT_EQ(words(question), "pump ");
  EXPECT_EQ(question.roles, (std::vector{Role::tool}));
  EXPECT_EQ(question.not_roles, (std::vector{Role::user}));
  ASSERT_EQ(question.sessions.size(), 1U);
  EXPECT_EQ(question.sessions[0].text(), "260302-old-pump");
  EXPECT_EQ(question.filters, (std::vector<std::string>{"status:done"}));
  ASSERT_TRUE(question.after);
  EXPECT_EQ(format_iso(*question.after), "2026-01-02T00:00:00.000Z");
}

TEST(Question, ASenselessConditionIsWords) {
  EXPECT_FALSE(words(parse_question("role:emperor", false)).empty());
  EXPECT_FALSE(words(parse_question("before:yesterday", false)).empty());
  EXPECT_FALSE(parse_question("before:yesterday", false).before);
}

TEST(Question, ConditionsThatAreSaidTwiceDoNotWiden) {
  const auto question = parse_question(
      "x before:2020-01-01 before:2030 after:2010-05 -before:2012-03-02T10:30 role:user role:tool "
      "-in:260302-a -in:260302-b",
      false);
  ASSERT_TRUE(question.before && question.after);
  EXPECT_EQ(format_iso(*question.before), "2020-01-01T00:00:00.000Z");
  EXPECT_EQ(format_iso(*question.after), "2012-03-02T10:30:00.000Z");
  EXPECT_EQ(question.roles, (std::vector{Role::user, Role::tool}));
  EXPECT_EQ(question.not_sessions.size(), 2U);
  EXPECT_EQ(words(question), "x ");
}

TEST(Question, WhereToLookSaysNothingAboutWhatFor) {
  EXPECT_FALSE(parse_question("numbat after:2026-01-01", false).date);
  EXPECT_TRUE(parse_question("numbat 2026-01-01", false).date);
}

TEST(Question, ConditionsAloneFindEverythingAndExclusionsAloneAreWords) {
  auto filtered = parse_question("role:user -needle", false);
  settle(filtered, true);
  EXPECT_TRUE(filtered.words.everything);
  auto excluded = parse_question("-status:bogus", false);
  look_for(excluded, excluded.filters.at(0));
  settle(excluded, false);
  EXPECT_FALSE(excluded.words.everything);
  ASSERT_EQ(excluded.words.clauses.size(), 1U);
  EXPECT_EQ(excluded.words.clauses[0].occur, search::Clause::Occur::required) << "a phrase";
}

TEST(Question, DatesAreUnderstood) {
  const auto day = date_in("what happened on 13 March 2023?");
  ASSERT_TRUE(day);
  EXPECT_EQ(day->year, 2023);
  EXPECT_EQ(day->month, 3U);
  EXPECT_EQ(day->day, 13U);
  const auto month = date_in("the trip in May 2022");
  ASSERT_TRUE(month);
  EXPECT_EQ(month->month, 5U);
  EXPECT_EQ(month->day, 0U);
  EXPECT_FALSE(date_in("may I march on?"));
}

}  // namespace
}  // namespace reef::recall
