#include "daemon/home.h"

#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace reef::daemon {
namespace {

TEST(Home, TheFlagWinsOverTheEnvironment) {
  ::setenv("REEF_HOME", "/from/env", 1);
  EXPECT_EQ(find_home("/from/flag/")->root, "/from/flag");
  EXPECT_EQ(find_home("")->root, "/from/env");
  ::unsetenv("REEF_HOME");
  ::setenv("HOME", "/home/x", 1);
  EXPECT_EQ(find_home("")->root, "/home/x/.reef");
  EXPECT_TRUE(find_home("relative")->root.starts_with('/'));
  EXPECT_FALSE(find_home("a\nb"));
}

TEST(Home, DirectoriesAreMadeForTheOwnerAlone) {
  const test::TempDir folder;
  const Home home{folder / "deep/home"};
  PosixFiles files;
  ASSERT_TRUE(prepare_home(files, home));
  ASSERT_TRUE(prepare_home(files, home));
  for (const auto& path : {home.root, home.run(), home.sessions(), home.logs()}) {
    struct stat info = {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 0777U, 0700U) << path;
  }
}

TEST(Home, TheLockNamesItsHolder) {
  const test::TempDir folder;
  const Home home{folder.path()};
  PosixFiles files;
  ASSERT_TRUE(prepare_home(files, home));
  EXPECT_FALSE(lock_holder(home));
  auto lock = lock_home(home);
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock_holder(home), ::getpid());
  const auto second = lock_home(home);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::conflict);
  EXPECT_NE(second.error().what.find(std::to_string(::getpid())), std::string::npos);
  lock->reset();
  EXPECT_FALSE(lock_holder(home));
  EXPECT_TRUE(lock_home(home));
}

}  // namespace
}  // namespace reef::daemon
