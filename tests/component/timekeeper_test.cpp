// Jobs are said when they are due, whatever happens to the clock, the file and other jobs.
#include "timekeeper.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "support/manual_clock.h"
#include "support/temp_dir.h"

namespace reef::cron {
namespace {

using namespace std::chrono_literals;

class TimekeeperTest : public testing::Test {
 protected:
  TimekeeperTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    clock.set_time_of_day(*parse_iso("2026-11-15T10:00:00Z"));
    tasks.spawn(timekeeper.keep_time());
  }
  ~TimekeeperTest() override {
    tasks.cancel();
    test::run(io, tasks.join());
    ::unsetenv("TZ");
    ::tzset();
  }

  Task<Status> say(std::string name, Job job) {
    said.push_back(format_iso(clock.now()).substr(11, 8) + " " + name + ": " + job.message);
    if (name == "endless") co_await sleep_for(30min);
    if (name == "broken") co_return Error(Errc::unavailable, "nobody listens");
    co_return Ok{};
  }
  void add(const std::string& name, const std::string& schedule) {
    ASSERT_TRUE(jobs.add(name, schedule, "", "hello", seconds_now(clock)));
    timekeeper.look_again();
  }
  void write(const std::string& bytes) {
    test::write_file(path + ".new", bytes);
    ASSERT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
  }
  // Returns what was said since the last call.
  std::vector<std::string> told() { return std::exchange(said, {}); }

  using List = std::vector<std::string>;
  test::TempDir folder;
  const std::string path = folder / "jobs.json";
  boost::asio::io_context io{1};
  test::ManualClock clock{io};
  PosixFiles files;
  Jobs jobs = test::value_of(Jobs::load(files, path, seconds_now(clock)));
  List said;
  Timekeeper timekeeper{io.get_executor(), clock, jobs, [this](std::string name, Job job) {
                          return say(std::move(name), std::move(job));
                        }};
  TaskGroup tasks{io.get_executor(), "test"};
};

TEST_F(TimekeeperTest, JobsAreSaidAtTheirTimes) {
  add("tick", "@every 90s");
  add("hourly", "30 * * * *");
  clock.advance(89s);
  EXPECT_EQ(told(), List{});
  clock.advance(1s);
  EXPECT_EQ(told(), List{"10:01:30 tick: hello"});
  ASSERT_TRUE(jobs.remove("tick"));
  clock.advance(2h);
  EXPECT_EQ(told(), (List{"10:30:00 hourly: hello", "11:30:00 hourly: hello"}));
}

TEST_F(TimekeeperTest, AJobThatTakesLongOrFailsHoldsUpNoOther) {
  add("endless", "@every 1m");
  add("broken", "@every 1m");
  add("tick", "@every 1m");
  clock.advance(1min);
  EXPECT_EQ(told(),
            (List{"10:01:00 broken: hello", "10:01:00 endless: hello", "10:01:00 tick: hello"}));
  EXPECT_EQ(jobs.all().at("broken").last_error, "nobody listens");
  clock.advance(1min);
  EXPECT_EQ(told().size(), 3U);
}

TEST_F(TimekeeperTest, AClockThatIsSetIsNoticed) {
  add("tea", "0 16 * * *");
  clock.advance(1min);
  clock.set_time_of_day(*parse_iso("2026-11-15T15:59:59Z"));
  clock.advance(3s);
  EXPECT_EQ(told().size(), 1U);
  clock.set_time_of_day(*parse_iso("2026-11-18T08:00:00Z"));
  clock.advance(3s);
  EXPECT_EQ(told().size(), 1U) << "days that were left out count once";
}

TEST_F(TimekeeperTest, AFileThatSomebodyChangedIsReadSoon) {
  add("tick", "@every 1m");
  write(R"({"tock":{"schedule":"@every 10s","message":"hi","once":true}})");
  clock.advance(14s);
  const auto all = told();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].ends_with("tock: hi")) << all[0];
  EXPECT_TRUE(jobs.all().empty()) << "once is once";
  write("{");
  clock.advance(1min);
  EXPECT_EQ(told(), List{});
}

TEST_F(TimekeeperTest, QuietHoursAreKept) {
  write(R"({"tick":{"schedule":"@every 1h","message":"hi","quietStart":"11:30",)"
        R"("quietEnd":"14:00"}})");
  clock.advance(4h + 59min);
  List hours;
  for (const auto& one : told()) hours.push_back(one.substr(0, 2));
  EXPECT_EQ(hours, (List{"11", "14"}));
}

}  // namespace
}  // namespace reef::cron
