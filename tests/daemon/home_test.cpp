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

TEST(Home, AHomeThatOthersCanWriteIsNotTrusted) {
  const test::TempDir folder;
  const Home home{folder / "home"};
  PosixFiles files;
  EXPECT_TRUE(trust_home(home)) << "what is not there yet can be made";
  ASSERT_TRUE(prepare_home(files, home));
  ASSERT_TRUE(replace_atomically(files, home.config(), ""));
  EXPECT_TRUE(trust_home(home));
  const auto agent = home.agents() + "/reef.toml";
  ASSERT_TRUE(make_directories(files, home.agents()));
  ASSERT_TRUE(replace_atomically(files, agent, ""));
  for (const auto& path : {home.root, home.config(), home.run(), home.agents(), agent}) {
    for (const mode_t bit : {0020U, 0002U}) {
      struct stat before = {};
      ASSERT_EQ(::stat(path.c_str(), &before), 0);
      ASSERT_EQ(::chmod(path.c_str(), before.st_mode | bit), 0);
      const auto refused = trust_home(home);
      ASSERT_FALSE(refused) << path;
      EXPECT_EQ(refused.error().code, Errc::denied);
      EXPECT_NE(refused.error().what.find("chmod go-w " + path), std::string::npos);
      ASSERT_EQ(::chmod(path.c_str(), before.st_mode), 0);
    }
    EXPECT_TRUE(trust_home(home)) << path;
  }
}

TEST(Home, AnothersHomeIsNotTrusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "ANOTHER USER'S HOME WAS NOT CHECKED: this needs root";
  const test::TempDir folder;
  const Home home{folder / "home"};
  PosixFiles files;
  ASSERT_TRUE(prepare_home(files, home));
  ASSERT_TRUE(replace_atomically(files, home.config(), ""));
  for (const auto& path : {home.root, home.config()}) {
    ASSERT_EQ(::chown(path.c_str(), 65534, 0), 0);
    const auto refused = trust_home(home);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("65534"), std::string::npos) << refused.error().what;
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  }
}

TEST(Home, OneProcessOwnsItAndTheErrorSaysWhich) {
  const test::TempDir folder;
  const Home home{folder.path()};
  PosixFiles files;
  ASSERT_TRUE(prepare_home(files, home));
  EXPECT_FALSE(holder_of(home));
  auto hold = own_home(home);
  ASSERT_TRUE(hold);
  EXPECT_EQ(holder_of(home)->pid, ::getpid());
  const auto second = own_home(home);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::conflict);
  EXPECT_NE(second.error().what.find(std::to_string(::getpid())), std::string::npos);
  hold->reset();
  EXPECT_FALSE(holder_of(home));
  EXPECT_TRUE(own_home(home));
}

}  // namespace
}  // namespace reef::daemon
