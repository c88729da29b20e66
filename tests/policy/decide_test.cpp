#include "policy/decide.h"

#include <gtest/gtest.h>

namespace reef::policy {
namespace {

Facts large() {
  Facts facts;
  facts.tokens = 150'000;
  facts.window = 200'000;
  facts.messages = 10;
  facts.titled = true;
  facts.model = "anthropic/claude";
  facts.permission_mode = "ask";
  return facts;
}

TEST(Limits, TheSmallerOfThresholdAndWhatTheWindowLeaves) {
  const Rules rules;
  EXPECT_EQ(limits(rules, 200'000).compact, 100'000);
  EXPECT_EQ(limits(rules, 200'000).flush, 96'000);
  // The reserve has a floor, which counts here because reserve_tokens is smaller.
  EXPECT_EQ(limits(rules, 64'000).compact, 44'000);
  EXPECT_EQ(limits(rules, 64'000).reserve, 20'000);
  EXPECT_EQ(limits(rules, 0).compact, 100'000);
}

TEST(Limits, ASmallWindowIsNotGivenUpForTheReserve) {
  const Rules rules;
  EXPECT_EQ(limits(rules, 16'000).compact, 8'000);
  EXPECT_EQ(limits(rules, 4'000).flush, 0);
}

TEST(Decide, ExactlyAtTheLimitNothingHappens) {
  auto facts = large();
  facts.tokens = 100'000;
  EXPECT_FALSE(decide({}, facts).compact.act);
  facts.tokens = 100'001;
  EXPECT_TRUE(decide({}, facts).compact.act);
  EXPECT_NE(decide({}, facts).compact.why.find("100001 of 200000 tokens, above 100000"),
            std::string::npos);
}

TEST(Decide, AFlushComesFirstAndOncePerCompaction) {
  auto facts = large();
  facts.tokens = 97'000;
  EXPECT_TRUE(decide({}, facts).flush.act);
  EXPECT_FALSE(decide({}, facts).compact.act);
  facts.flushed_at = 0;
  EXPECT_FALSE(decide({}, facts).flush.act);
  facts.compactions = 1;
  EXPECT_TRUE(decide({}, facts).flush.act);
}

TEST(Decide, ATurnThatJumpsOverBothLimitsStillGetsItsFlush) {
  const auto plan = decide({}, large());
  EXPECT_TRUE(plan.flush.act);
  EXPECT_TRUE(plan.compact.act);
}

TEST(Decide, NoFlushWhereNothingCanBeWritten) {
  auto safe = large();
  safe.permission_mode = "safe";
  EXPECT_TRUE(decide({}, safe).flush.act) << "it may only write notes, which every mode allows";
  auto scoped = large();
  scoped.may_remember = false;
  EXPECT_FALSE(decide({}, scoped).flush.act);
  auto mute = large();
  mute.sends = false;
  EXPECT_FALSE(decide({}, mute).flush.act);
  auto local = large();
  local.model = "local";
  EXPECT_FALSE(decide({}, local).flush.act);
  EXPECT_TRUE(decide({}, local).compact.act);
}

TEST(Decide, ARefusedCompactionWaitsUntilTheContextHasGrown) {
  auto facts = large();
  facts.refused_at = facts.tokens;
  EXPECT_FALSE(decide({}, facts).compact.act);
  facts.tokens += 4'000;
  EXPECT_TRUE(decide({}, facts).compact.act);
}

TEST(Decide, ATitleAfterTheFirstExchange) {
  Facts facts;
  facts.messages = 1;
  EXPECT_FALSE(decide({}, facts).title.act);
  facts.messages = 2;
  EXPECT_TRUE(decide({}, facts).title.act);
  facts.titled = true;
  EXPECT_FALSE(decide({}, facts).title.act);
}

TEST(Decide, NothingWhenAllIsOff) {
  auto facts = large();
  facts.titled = false;
  const auto plan = decide(Rules::none(), facts);
  EXPECT_FALSE(plan.title.act || plan.flush.act || plan.compact.act);
}

TEST(Rules, OverridesAreAllOrNothing) {
  Rules rules;
  EXPECT_TRUE(override_with(rules, {"compact=off", "compact_threshold=5000"}).ok());
  EXPECT_FALSE(rules.compact);
  EXPECT_EQ(rules.compact_threshold, 5'000);
  const auto before = rules;
  const auto refused = override_with(rules, {"title=off", "compact_treshold=1"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("compact_treshold: there is no such rule"),
            std::string::npos);
  EXPECT_EQ(rules, before);
  EXPECT_FALSE(override_with(rules, {"title"}).ok());
  EXPECT_FALSE(override_with(rules, {"title=maybe"}).ok());
  EXPECT_FALSE(override_with(rules, {"flush_margin=-1"}).ok());
  EXPECT_FALSE(override_with(rules, json::object{{"archive_days", "many"}}).ok());
  EXPECT_EQ(rules, before);
}

TEST(Rules, ShownRulesCanBeReadBack) {
  Rules rules;
  rules.flush_prompt = "write it down";
  rules.archive_days = 30;
  Rules again;
  ASSERT_TRUE(override_with(again, to_json(rules)).ok());
  EXPECT_EQ(again, rules);
}

}  // namespace
}  // namespace reef::policy
