#include "schedule.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "jobs.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::cron {
namespace {

class ScheduleTest : public testing::Test {
 protected:
  void use_zone(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  ~ScheduleTest() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  static std::time_t local(int year, int month, int day, int hour, int minute) {
    std::tm tm = {};
    tm.tm_year = year - 1900, tm.tm_mon = month - 1, tm.tm_mday = day;
    tm.tm_hour = hour, tm.tm_min = minute, tm.tm_isdst = -1;
    return std::mktime(&tm);
  }
  static std::optional<std::time_t> next(const char* text, std::time_t after) {
    return test::value_of(Schedule::parse(text)).next(after);
  }
};

TEST_F(ScheduleTest, FieldsListsRangesAndSteps) {
  use_zone("UTC");
  const auto sunday = local(2026, 11, 15, 10, 2);
  EXPECT_EQ(next("* * * * *", sunday), local(2026, 11, 15, 10, 3));
  EXPECT_EQ(next("*/15 * * * *", sunday), local(2026, 11, 15, 10, 15));
  EXPECT_EQ(next("5,50 9-17 * * 1-5", sunday), local(2026, 11, 16, 9, 5));
  EXPECT_EQ(next("0 0 29 2 *", sunday), local(2028, 2, 29, 0, 0));
  EXPECT_EQ(next("30 4 1 * 7", sunday), local(2026, 11, 22, 4, 30)) << "7 is Sunday, either counts";
  EXPECT_EQ(next("@monthly", sunday), local(2026, 12, 1, 0, 0));
  EXPECT_EQ(next("@every 90s", sunday), sunday + 90);
  EXPECT_EQ(next("0 0 30 2 *", sunday), std::nullopt);
}

TEST_F(ScheduleTest, AClockPutForwardOrBackIsNoSpecialCase) {
  use_zone("Europe/Berlin");
  // 29 March 2026: 2:30 does not exist; the day after it does.
  EXPECT_EQ(next("30 2 * * *", local(2026, 3, 28, 12, 0)), local(2026, 3, 30, 2, 30));
  // 25 October 2026: 0:30 the next day, over an hour that comes twice.
  EXPECT_EQ(next("30 0 26 * *", local(2026, 10, 25, 0, 0)), local(2026, 10, 26, 0, 30));
}

TEST_F(ScheduleTest, WhatIsWrongIsNamed) {
  for (const auto* bad :
       {"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
        "* * * * 8", "5-1 * * * *", "*/0 * * * *", "a * * * *", "1- * * * *", "@every", "@every 5",
        "@every -5s", "@every 99999999999d", "@yearly"})
    EXPECT_FALSE(Schedule::parse(bad)) << bad;
  EXPECT_NE(Schedule::parse("* 25 * * *").error().what.find("hour: '25'"), std::string::npos);
}

TEST_F(ScheduleTest, JobsAreKeptAndADamagedFileIsNotOverwritten) {
  const test::TempDir home;
  PosixFiles files;
  const auto path = home / "jobs.json";
  {
    auto jobs = test::value_of(Jobs::load(files, path, 0));
    ASSERT_TRUE(jobs.add("tea", "@every 60s", "", "make tea", 1000));
    EXPECT_FALSE(jobs.add("../x", "@every 60s", "", "x", 1000));
    EXPECT_FALSE(jobs.add("x", "@every 60s", "", " \n", 1000));
    EXPECT_FALSE(jobs.add("never", "0 0 30 2 *", "", "x", 1000));
    EXPECT_TRUE(jobs.take_due(1059).empty());
    EXPECT_EQ(jobs.take_due(1060), std::vector<std::string>{"tea"});
    EXPECT_TRUE(jobs.take_due(1060).empty()) << "due again a minute later";
    EXPECT_EQ(jobs.next(), 1120);
    EXPECT_FALSE(jobs.remove("coffee"));
  }
  EXPECT_EQ(test::value_of(Jobs::load(files, path, 0)).all().at("tea").message, "make tea");
  ASSERT_TRUE(replace_atomically(files, path, R"({"tea":{"schedule":"now"}})"));
  EXPECT_FALSE(Jobs::load(files, path, 0));
}

}  // namespace
}  // namespace reef::cron
