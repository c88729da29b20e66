// Documents as files a person may edit, on a disk with traps in it, and on one that fails.
#include "store/fs/fs_documents.h"

#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

using session::Nothing;
using session::Whatever;

constexpr std::uint64_t kDocumentBytesMax = 1U << 20;

class FsDocumentsTest : public testing::Test {
 protected:
  FsDocumentsTest() {
    ::mkdir((home / "sessions").c_str(), 0700);
    ::mkdir((home / "sessions/s").c_str(), 0700);
  }
  std::string read(const std::string& name) {
    const auto document = test::value_of(documents.read(name, kDocumentBytesMax));
    return document ? document->bytes : "(none)";
  }
  // As if it had been written long ago; a new file's age is not to be trusted.
  void make_old(const std::string& name) {
    // The time of the last change of the inode cannot be set: it is waited for.
    const auto path = home / name;
    const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      const auto seen = test::value_of(documents.read(name, kDocumentBytesMax));
      if (!seen->version.hint().empty()) return;
      ::usleep(1000);
    }
    FAIL() << "never settled";
  }
  std::vector<std::string> everything() {
    std::vector<std::string> out;
    collect(home.path(), out);
    return out;
  }
  void collect(const std::string& folder, std::vector<std::string>& out) {
    PosixFiles real;
    for (const auto& name : test::value_of(real.list(folder))) {
      const auto path = folder + "/" + name;
      if (test::value_of(real.stat_path(path)).directory) {
        collect(path, out);
      } else {
        out.push_back(path.substr(home.path().size() + 1));
      }
    }
  }

  test::TempDir home;
  test::FaultyFiles files;
  FsDocuments documents{files, home.path()};
};

TEST_F(FsDocumentsTest, TheyAreTheFilesTheyAlwaysWere) {
  ASSERT_TRUE(documents.replace("agents/a.toml", "model = 'x'\n", Nothing{}));
  ASSERT_TRUE(documents.replace("sessions/s/data/x", "y", Nothing{}));
  EXPECT_EQ(test::read_file(home / "agents/a.toml"), "model = 'x'\n");
  EXPECT_EQ(test::read_file(home / "sessions/s/data/x"), "y");
  struct ::stat info = {};
  ASSERT_EQ(::stat((home / "agents/a.toml").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat((home / "agents").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  EXPECT_EQ(everything(), (std::vector<std::string>{"agents/a.toml", "sessions/s/data/x"}));
}

TEST_F(FsDocumentsTest, AHandEditIsAnotherVersionHoweverQuickAndSmall) {
  for (int i = 0; i < 50; ++i) {
    const auto mine = test::value_of(documents.replace("labels.toml", "a = 1", Whatever{}));
    // In the same tick of the clock, of the same size, into the same file.
    const Fd fd(::open((home / "labels.toml").c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(fd.get(), "a = 2", 5, 0), 5);
    EXPECT_FALSE(documents.unchanged("labels.toml", mine));
    EXPECT_EQ(documents.replace("labels.toml", "a = 3", mine).error().code, Errc::conflict);
    EXPECT_EQ(read("labels.toml"), "a = 2");
  }
}

TEST_F(FsDocumentsTest, WhatIsOldIsKnownWithoutReading) {
  test::write_file(home / "labels.toml", "old");
  make_old("labels.toml");
  const auto seen = test::value_of(documents.read("labels.toml", kDocumentBytesMax))->version;
  EXPECT_TRUE(documents.unchanged("labels.toml", seen));
  // Another file of the same size that claims to be as old.
  struct ::stat info = {};
  ASSERT_EQ(::stat((home / "labels.toml").c_str(), &info), 0);
  test::write_file(home / "other", "new");
  const struct ::timespec times[2] = {info.st_atim, info.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (home / "other").c_str(), times, 0), 0);
  ASSERT_EQ(::rename((home / "other").c_str(), (home / "labels.toml").c_str()), 0);
  EXPECT_FALSE(documents.unchanged("labels.toml", seen));
  EXPECT_EQ(documents.replace("labels.toml", "mine", seen).error().code, Errc::conflict);
}

TEST_F(FsDocumentsTest, ATouchIsNoChange) {
  const auto seen = test::value_of(documents.replace("labels.toml", "same", Nothing{}));
  ASSERT_EQ(::utimensat(AT_FDCWD, (home / "labels.toml").c_str(), nullptr, 0), 0);
  EXPECT_TRUE(documents.replace("labels.toml", "mine", seen));
}

TEST_F(FsDocumentsTest, LinksAreFollowedInTheUsersPartAndNeverInASession) {
  const test::TempDir outside;
  test::write_file(outside / "a.toml", "linked");
  test::write_file(outside / "secret", "secret");
  ::mkdir((home / "agents").c_str(), 0700);
  ::mkdir((home / "sessions/s/data").c_str(), 0700);
  ASSERT_EQ(::symlink((outside / "a.toml").c_str(), (home / "agents/a.toml").c_str()), 0);
  ASSERT_EQ(::symlink((outside / "secret").c_str(), (home / "sessions/s/data/x").c_str()), 0);
  ASSERT_EQ(::symlink(outside.path().c_str(), (home / "sessions/s/plans").c_str()), 0);
  ASSERT_EQ(::mkfifo((home / "agents/pipe").c_str(), 0600), 0);
  EXPECT_EQ(read("agents/a.toml"), "linked");
  EXPECT_EQ(test::value_of(session::names_in(documents, "agents/", 9)),
            std::vector<std::string>{"agents/a.toml"});
  EXPECT_EQ(documents.read("agents/pipe", kDocumentBytesMax).error().code, Errc::invalid);
  EXPECT_EQ(documents.open("agents").error().code, Errc::invalid);
  EXPECT_EQ(documents.remove("agents", Whatever{}).error().code, Errc::invalid);
  EXPECT_FALSE(documents.read("sessions/s/data/x", kDocumentBytesMax));
  EXPECT_EQ(read("sessions/s/plans/secret"), "(none)");
  EXPECT_FALSE(documents.replace("sessions/s/plans/new", "x", Whatever{}));
  EXPECT_TRUE(test::value_of(session::names_in(documents, "sessions/s/", 9)).empty());
  // A change is made here, not where the link leads.
  ASSERT_TRUE(documents.replace("agents/a.toml", "own", Whatever{}));
  EXPECT_EQ(test::read_file(outside / "a.toml"), "linked");
  EXPECT_EQ(read("agents/a.toml"), "own");
}

TEST_F(FsDocumentsTest, WhoseADocumentIsIsTold) {
  test::write_file(home / "Reef.md", "words");
  EXPECT_TRUE(test::value_of(documents.open("Reef.md"))->info().ours);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown((home / "Reef.md").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(test::value_of(documents.open("Reef.md"))->info().ours);
}

TEST_F(FsDocumentsTest, AnyNumberMayBeAskedFor) {
  test::value_of(documents.replace("agents/a", "x", Nothing{}));
  EXPECT_EQ(test::value_of(documents.list("agents/", SIZE_MAX, "")).documents.size(), 1U);
  const auto none = test::value_of(documents.list("agents/", 0, ""));
  EXPECT_TRUE(none.documents.empty());
}

TEST_F(FsDocumentsTest, AFileInTheFoldersPlaceIsAnErrorAndNotAnEmptyFolder) {
  EXPECT_TRUE(test::value_of(documents.list("agents/", 9, "")).documents.empty());
  test::write_file(home / "agents", "a file");
  EXPECT_FALSE(documents.list("agents/", 9, ""));
}

TEST_F(FsDocumentsTest, WhatACrashLeftIsTakenAway) {
  auto fresh = test::value_of(documents.receive());
  ASSERT_TRUE(fresh->write("half"));
  test::write_file(home / "sessions/.incoming/77", "of a crash");
  fresh.reset();
  documents.clean();
  EXPECT_FALSE(test::exists(home / "sessions/.incoming"));
  test::write_file(home / "views.toml.tmp", "half");
  ASSERT_TRUE(documents.replace("views.toml", "whole", Nothing{}));
  EXPECT_EQ(everything(), std::vector<std::string>{"views.toml"});
}

// A home of its own, with something in it to be changed.
struct SweptHome {
  SweptHome() {
    for (const auto* made : {"sessions", "sessions/s", "sessions/s/data", "sessions/s/attachments",
                             "agents", "agents/removed"})
      ::mkdir((folder / made).c_str(), 0700);
    test::write_file(folder / "agents/a", "first");
    test::write_file(folder / "agents/removed/a", "earlier");
    test::write_file(folder / "sessions/s/data/a", "first");
  }
  std::string read(const std::string& name) {
    return test::exists(folder / name) ? test::read_file(folder / name) : "(none)";
  }

  test::TempDir folder;
  test::FaultyFiles files;
  FsDocuments documents{files, folder.path()};
};

struct SweptChange {
  const char* what;
  std::function<Status(FsDocuments&)> run;
  std::vector<std::pair<std::string, std::string>> before, after;  // name, bytes
};

Status status_of(const Result<session::Version>& result) {
  if (result) return Ok{};
  return result.error();
}

std::vector<SweptChange> swept_changes() {
  return {
      {"a new one",
       [](FsDocuments& all) { return status_of(all.replace("agents/n", "new", Nothing{})); },
       {{"agents/n", "(none)"}},
       {{"agents/n", "new"}}},
      {"another version",
       [](FsDocuments& all) {
         return status_of(all.replace("agents/a", "second", session::Version::of("first")));
       },
       {{"agents/a", "first"}},
       {{"agents/a", "second"}}},
      {"in a session",
       [](FsDocuments& all) {
         return status_of(all.replace("sessions/s/data/a", "second", Whatever{}));
       },
       {{"sessions/s/data/a", "first"}},
       {{"sessions/s/data/a", "second"}}},
      {"in pieces",
       [](FsDocuments& all) -> Status {
         REEF_TRY(auto fresh, all.receive());
         REEF_CHECK(fresh->write("pie"));
         REEF_CHECK(fresh->write("ces"));
         REEF_TRY(const auto kept, fresh->keep("sessions/s/attachments/p", Nothing{}));
         return kept.bytes == 6 ? Status(Ok{}) : Error(Errc::internal, "other bytes");
       },
       {{"sessions/s/attachments/p", "(none)"}},
       {{"sessions/s/attachments/p", "pieces"}}},
      {"a rename",
       [](FsDocuments& all) { return all.rename("agents/a", "agents/removed/a", Whatever{}); },
       {{"agents/a", "first"}, {"agents/removed/a", "earlier"}},
       {{"agents/a", "(none)"}, {"agents/removed/a", "first"}}},
  };
}

// After a change that failed, what was there is there; and the same change works again.
TEST(FsDocumentsSweep, EverySystemCallMayFail) {
  enum class How { once, for_ever, short_write };
  for (const auto& change : swept_changes()) {
    int calls = 0;
    {
      SweptHome home;
      ASSERT_TRUE(change.run(home.documents)) << change.what;
      calls = home.files.calls();
    }
    ASSERT_GT(calls, 4) << change.what;
    for (const auto how : {How::once, How::for_ever, How::short_write}) {
      for (int nth = 1; nth <= calls; ++nth) {
        SweptHome home;
        if (how == How::short_write) {
          home.files.cut_write_at(nth);
        } else {
          home.files.fail_at(nth, ENOSPC, how == How::for_ever);
        }
        const auto done = change.run(home.documents);
        if (how != How::short_write) {
          EXPECT_TRUE(home.files.hit()) << change.what << nth;
        }
        home.files.heal();
        const auto what = fmt::format("{}, call {} fails ({}): {}", change.what, nth,
                                      static_cast<int>(how), done ? "done" : done.error().what);
        // A disk that refuses everything from then on, the way back too; and says so.
        const bool either = how == How::for_ever && !done &&
                            done.error().what.find("could not be put back") != std::string::npos;
        if (!either)
          for (const auto& [name, bytes] : done ? change.after : change.before)
            EXPECT_EQ(home.read(name), bytes) << what << ": " << name;
        if (!done && !either) {
          const auto again = change.run(home.documents);
          EXPECT_TRUE(again) << what;
          for (const auto& [name, bytes] : change.after) EXPECT_EQ(home.read(name), bytes) << what;
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace reef::store
