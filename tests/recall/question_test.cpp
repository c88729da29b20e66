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
  EXPECT_EQ(question.role, Role::tool);
  EXPECT_EQ(question.not_role, Role::user);
  EXPECT_EQ(question.session, "260302-old-pump");
  EXPECT_EQ(question.filter, "status:done");
  ASSERT_TRUE(question.after);
  EXPECT_EQ(format_iso(*question.after), "2026-01-02T00:00:00.000Z");
}

TEST(Question, WhatMakesNoSenseAsAConditionIsWords) {
  EXPECT_FALSE(words(parse_question("role:emperor", false)).empty());
  EXPECT_FALSE(words(parse_question("before:yesterday", false)).empty());
  EXPECT_FALSE(parse_question("before:yesterday", false).before);
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
