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
  // 2:30 does not exist on 29 March 2026, so the next time is on the day after.
  EXPECT_EQ(next("30 2 * * *", local(2026, 3, 28, 12, 0)), local(2026, 3, 30, 2, 30));
  // One hour of 25 October 2026 comes twice; 0:30 on the next day is still found.
  EXPECT_EQ(next("30 0 26 * *", local(2026, 10, 25, 0, 0)), local(2026, 10, 26, 0, 30));
}

TEST_F(ScheduleTest, MistakesAreNamed) {
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

TEST_F(ScheduleTest, UtcBeforeTheFieldsIsUtc) {
  use_zone("Asia/Tokyo");
  const auto noon = local(2026, 11, 15, 21, 0);  // 12:00 UTC
  EXPECT_EQ(next("UTC 30 13 * * *", noon), noon + 90 * 60);
  EXPECT_EQ(next("30 13 * * *", noon), local(2026, 11, 16, 13, 30));
}

TEST_F(ScheduleTest, QuietHoursMayLieOverMidnight) {
  use_zone("UTC");
  PosixFiles files;
  const test::TempDir folder;
  const auto path = folder.path() + "/jobs.json";
  ASSERT_TRUE(replace_atomically(files, path, R"({"j":{"schedule":"@hourly","message":"m",
      "quietStart":"23:00","quietEnd":"07:30","once":true,"sender":"alice"}})")
                  .ok());
  auto jobs = test::value_of(Jobs::load(files, path, local(2026, 1, 1, 12, 0)));
  const auto& job = jobs.all().at("j");
  EXPECT_TRUE(is_quiet(job, local(2026, 1, 1, 23, 0)));
  EXPECT_TRUE(is_quiet(job, local(2026, 1, 2, 7, 29)));
  EXPECT_FALSE(is_quiet(job, local(2026, 1, 2, 7, 30)));
  EXPECT_FALSE(is_quiet(job, local(2026, 1, 2, 22, 59)));
  EXPECT_EQ(job.sender, "alice");
  ASSERT_TRUE(jobs.said("j").ok());
  EXPECT_TRUE(jobs.all().empty());
}

TEST_F(ScheduleTest, AChangeByAnotherProgramIsTakenIn) {
  use_zone("UTC");
  PosixFiles files;
  const test::TempDir folder;
  const auto path = folder.path() + "/jobs.json";
  const auto now = local(2026, 1, 1, 12, 0);
  auto jobs = test::value_of(Jobs::load(files, path, now));
  ASSERT_TRUE(jobs.add("mine", "@hourly", "", "m", now).ok());
  const auto due = jobs.all().at("mine").due;
  ASSERT_TRUE(replace_atomically(files, path, R"({"mine":{"schedule":"@hourly","message":"m"},
      "theirs":{"schedule":"@daily","message":"n"}})")
                  .ok());
  ASSERT_TRUE(jobs.look(now + 1800).ok());
  ASSERT_EQ(jobs.all().size(), 2U);
  EXPECT_EQ(jobs.all().at("mine").due, due);
  ASSERT_TRUE(replace_atomically(files, path, "{").ok());
  EXPECT_FALSE(jobs.look(now).ok());
  EXPECT_EQ(jobs.all().size(), 2U);
  EXPECT_TRUE(jobs.look(now).ok()) << "it is told once";
}

}  // namespace
}  // namespace reef::cron
