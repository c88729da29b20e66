// A component's files on a disk that fails at any call, once or for good.
#include <cerrno>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "component/port_file.h"
#include "jobs.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef {
namespace {

using test::FaultyFiles;
using test::read_file;
using test::value_of;

constexpr std::time_t kNow = 1'700'000'000;
constexpr int kNever = 200;  // more calls than any of these makes

// Runs the attempt on a disk that is full for a moment, on one that stays full, and on one that
// writes less than it was given.
template <class Try>
void sweep(const Try& attempt) {
  for (const bool forever : {false, true}) {
    int nth = 1;
    for (; nth < kNever; ++nth) {
      FaultyFiles files;
      if (!attempt(
              files, [&] { files.fail_at(nth, ENOSPC, forever); }, nth))
        break;
    }
    EXPECT_GT(nth, 1) << "the disk was asked";
    EXPECT_LT(nth, kNever);
  }
  // Only calls that write can be cut short.
  for (int nth = 1; nth < 20; ++nth) {
    FaultyFiles files;
    attempt(
        files, [&] { files.cut_write_at(nth); }, nth);
  }
}

std::string names_in(const cron::Jobs& jobs) {
  std::string out;
  for (const auto& [name, job] : jobs.all()) out += name + ":" + job.message + ";";
  return out;
}
std::string names_in(const std::string& path) {
  PosixFiles files;
  return names_in(value_of(cron::Jobs::load(files, path, kNow)));
}

TEST(FullDisk, JobsAreTheOldOnesOrTheNewOnesAndWhatIsAcknowledgedIsKept) {
  const test::TempDir dir;
  const auto path = dir / "jobs.json";
  const auto reset = [&] {
    std::filesystem::remove(path);
    PosixFiles files;
    auto jobs = value_of(cron::Jobs::load(files, path, kNow));
    ASSERT_TRUE(jobs.add("old", "@daily", "", "tea", kNow));
  };
  struct Change {
    std::function<Status(cron::Jobs&)> make;
    std::string after;
  };
  const Change changes[] = {
      {[](cron::Jobs& jobs) { return jobs.add("new", "@hourly", "", "cake", kNow); },
       "new:cake;old:tea;"},
      {[](cron::Jobs& jobs) { return jobs.add("old", "@hourly", "", "milk", kNow); }, "old:milk;"},
      {[](cron::Jobs& jobs) { return jobs.remove("old"); }, ""},
  };
  for (const auto& change : changes)
    sweep([&](FaultyFiles& files, const auto& begin_to_fail, int nth) {
      reset();
      auto jobs = value_of(cron::Jobs::load(files, path, kNow));
      begin_to_fail();
      const auto done = change.make(jobs);
      const bool hit = files.hit();
      files.heal();
      const auto kept = names_in(path);
      if (done) {
        EXPECT_EQ(kept, change.after) << nth;
        EXPECT_EQ(names_in(jobs), change.after) << nth;
      } else {
        EXPECT_NE(done.error().what.find("No space left"), std::string::npos) << done.error().what;
        EXPECT_NE(done.error().what.find("jobs.json"), std::string::npos) << done.error().what;
        EXPECT_EQ(names_in(jobs), "old:tea;") << nth << ": as if it had not been asked";
        EXPECT_TRUE(kept == "old:tea;" || kept == change.after) << nth << ": " << kept;
        // When the disk has room again, memory and file agree.
        EXPECT_TRUE(change.make(jobs)) << nth;
        EXPECT_EQ(names_in(path), change.after) << nth;
      }
      return hit;
    });
}

TEST(FullDisk, AFileOfJobsThatCannotBeReadIsNotTakenForNone) {
  const test::TempDir dir;
  PosixFiles real;
  auto jobs = value_of(cron::Jobs::load(real, dir / "jobs.json", kNow));
  ASSERT_TRUE(jobs.add("old", "@daily", "", "tea", kNow));
  sweep([&](FaultyFiles& files, const auto& begin_to_fail, int nth) {
    begin_to_fail();
    const auto loaded = cron::Jobs::load(files, dir / "jobs.json", kNow);
    if (loaded) EXPECT_EQ(names_in(*loaded), "old:tea;") << nth;
    return files.hit();
  });
}

TEST(FullDisk, APortFileIsWholeOrAsItWas) {
  const test::TempDir dir;
  std::filesystem::create_directories(dir / "run");
  const auto path = dir / "run/dice.port";
  for (const bool before : {false, true})
    sweep([&](FaultyFiles& files, const auto& begin_to_fail, int nth) {
      std::filesystem::remove(path);
      if (before) test::write_file(path, "1111\n");  // left by a component that was killed
      begin_to_fail();
      bool hit = false;
      {
        const auto made = component::PortFile::write(files, dir.path(), "dice", 2222, "token");
        hit = files.hit();
        files.heal();
        const auto now = test::exists(path) ? read_file(path) : std::string("(none)");
        if (made) {
          EXPECT_EQ(now, "2222\ntoken\n") << nth;
        } else {
          EXPECT_NE(made.error().what.find("No space left"), std::string::npos)
              << made.error().what;
          EXPECT_TRUE(now == "2222\ntoken\n" || now == (before ? "1111\n" : "(none)"))
              << nth << now;
        }
        if (!made) return hit;
      }
      EXPECT_FALSE(test::exists(path)) << nth << ": taken away at the end";
      return hit;
    });
}

}  // namespace
}  // namespace reef
