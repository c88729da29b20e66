#include "session/usage.h"

#include <gtest/gtest.h>

namespace reef::session {
namespace {

Row row_of(const char* id, const char* agent) {
  Row row(*SessionId::parse(id));
  row.meta["agent"] = agent;
  return row;
}

TokenTotals totals(std::int64_t input, double cost) {
  return TokenTotals{input, 1, 0, 0, cost, 1};
}

class UsageTest : public testing::Test {
 protected:
  UsageTest() {
    a.usage_by_model["p/x"] = {{10, totals(100, 1)}, {11, totals(10, 0.5)}};
    a.usage_by_model["p/y"] = {{11, totals(7, 0)}};
    b.usage_by_model["p/x"] = {{10, totals(1, 0.25)}};
    b.usage_by_model["/"] = {{12, totals(3, 0)}};
  }
  std::vector<std::string> names(UsageQuery::By by) {
    std::vector<std::string> out;
    for (const auto& line : add_up_usage({&a, &b}, UsageQuery{by, {}, {}}).lines)
      out.push_back(line.name);
    return out;
  }

  Row a = row_of("a", "reef");
  Row b = row_of("b", "");
};

TEST_F(UsageTest, UsageIsGroupedAsRequested) {
  using By = UsageQuery::By;
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(By::session), (Names{"a", "b"}));
  EXPECT_EQ(names(By::agent), (Names{"reef", "unknown"}));
  EXPECT_EQ(names(By::model), (Names{"p/x", "p/y", "unknown"}));
  EXPECT_EQ(names(By::day), (Names{"1970-01-11", "1970-01-12", "1970-01-13"}));
}

TEST_F(UsageTest, EveryGroupingHasTheSameTotal) {
  using By = UsageQuery::By;
  for (const auto by : {By::session, By::agent, By::model, By::day}) {
    const auto report = add_up_usage({&a, &b}, UsageQuery{by, {}, {}});
    TokenTotals sum;
    for (const auto& line : report.lines) sum += line.totals;
    EXPECT_EQ(sum.input, 121);
    EXPECT_EQ(report.total.input, 121);
    EXPECT_EQ(report.total.replies, 5);
    EXPECT_DOUBLE_EQ(report.total.cost, 1.75);
  }
}

TEST_F(UsageTest, DaysAreFromTheFirstToBeforeTheSecond) {
  const auto report = add_up_usage({&a, &b}, UsageQuery{UsageQuery::By::day, 11, 12});
  ASSERT_EQ(report.lines.size(), 1U);
  EXPECT_EQ(report.lines[0].name, "1970-01-12");
  EXPECT_EQ(report.total.input, 17);
}

TEST(Usage, WordsAndDaysAreChecked) {
  EXPECT_EQ(*usage_by_from(""), UsageQuery::By::model);
  EXPECT_EQ(*usage_by_from("day"), UsageQuery::By::day);
  EXPECT_FALSE(usage_by_from("week"));
  EXPECT_EQ(*day_from("1970-01-02"), 1);
  EXPECT_EQ(*day_from("1970-01-02T23:59:59Z"), 1);
  EXPECT_FALSE(day_from("yesterday"));
  EXPECT_FALSE(day_from("2026-13-01"));
}

}  // namespace
}  // namespace reef::session
