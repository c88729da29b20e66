// The promises of session::Ownership, tested on both implementations; and the lock of a folder when
// processes end.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "store/store.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

struct FsOwnershipHarness {
  FsOwnershipHarness() { ::mkdir((home / "run").c_str(), 0700); }

  test::TempDir home;
  FsOwnership ownership{home.path()};

  // Another process, which another file says may have the home.
  std::unique_ptr<session::Hold> seize() {
    ::unlink((home / "run/reefd.lock").c_str());
    return test::value_of(FsOwnership(home.path()).take());
  }
};

struct MemOwnershipHarness {
  MemOwnership ownership;
  std::unique_ptr<session::Hold> seize() { return ownership.seize(); }
};

template <class Harness>
class OwnershipContract : public testing::Test {
 public:
  ~OwnershipContract() override { test::run_ready(io); }

  boost::asio::io_context io{1};
  Harness harness;
  session::Ownership& home = harness.ownership;
};

using OwnershipHarnesses = testing::Types<FsOwnershipHarness, MemOwnershipHarness>;
class OwnershipHarnessNames {
 public:
  template <class Harness>
  static std::string GetName(int) {
    return std::is_same_v<Harness, FsOwnershipHarness> ? "Fs" : "Mem";
  }
};
TYPED_TEST_SUITE(OwnershipContract, OwnershipHarnesses, OwnershipHarnessNames);

TYPED_TEST(OwnershipContract, OneHasItAndTheErrorSaysWho) {
  EXPECT_FALSE(test::value_of(this->home.holder()));
  auto hold = test::value_of(this->home.take());
  const auto holder = test::value_of(this->home.holder());
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->pid, ::getpid());
  EXPECT_EQ(holder->epoch, hold->epoch());
  const auto second = this->home.take();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::conflict);
  EXPECT_NE(second.error().what.find(std::to_string(::getpid())), std::string::npos);
  hold.reset();
  EXPECT_FALSE(test::value_of(this->home.holder()));
  EXPECT_TRUE(this->home.take());
}

TYPED_TEST(OwnershipContract, TheEpochGrowsWithEveryTake) {
  std::uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    const auto hold = test::value_of(this->home.take());
    EXPECT_GT(hold->epoch(), last);
    last = hold->epoch();
  }
  const auto seized = this->harness.seize();
  EXPECT_GT(seized->epoch(), last);
}

TYPED_TEST(OwnershipContract, WhoeverLosesItIsToldOnce) {
  auto hold = test::value_of(this->home.take());
  std::vector<std::string> told;
  auto watch = test::value_of(
      hold->watch(this->io.get_executor(), [&](const std::string& why) { told.push_back(why); }));
  test::run_ready(this->io);
  EXPECT_TRUE(told.empty());
  auto other = this->harness.seize();
  EXPECT_GT(other->epoch(), hold->epoch());
  const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
  while (told.empty() && std::chrono::steady_clock::now() < deadline) {
    this->io.restart();
    this->io.run_one_for(std::chrono::milliseconds(50));
  }
  test::run_ready(this->io);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told.front(), "");
  // What was lost is not given up for the other.
  hold.reset();
  const auto holder = test::value_of(this->home.holder());
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->epoch, other->epoch());
  other.reset();
  EXPECT_FALSE(test::value_of(this->home.holder()));
}

TYPED_TEST(OwnershipContract, AWatchThatEndedTellsNothing) {
  const auto hold = test::value_of(this->home.take());
  bool told = false;
  auto watch = test::value_of(
      hold->watch(this->io.get_executor(), [&](const std::string&) { told = true; }));
  watch.reset();
  const auto other = this->harness.seize();
  test::run_ready(this->io);
  EXPECT_FALSE(told);
}

class FsOwnershipTest : public testing::Test {
 protected:
  FsOwnershipTest() { ::mkdir((home / "run").c_str(), 0700); }

  test::TempDir home;
  FsOwnership ownership{home.path()};
  std::string path = home / "run/reefd.lock";
};

TEST_F(FsOwnershipTest, TheFileBeginsWithThePidAndKeepsTheEpoch) {
  // Later than the clock says, as after it was set back.
  constexpr std::uint64_t kLater = 9'000'000'000'000'000;
  test::write_file(path, "123456\n" + std::to_string(kLater) + "\nwhat a longer one left\n");
  const auto hold = test::value_of(ownership.take());
  EXPECT_EQ(hold->epoch(), kLater + 1);
  EXPECT_EQ(test::read_file(path),
            std::to_string(::getpid()) + "\n" + std::to_string(kLater + 1) + "\n");
}

TEST_F(FsOwnershipTest, AnEpochThatCannotBeReadIsFollowedByTheTime) {
  const auto before = static_cast<std::uint64_t>(unix_millis(SystemClock().now())) * 1000;
  constexpr std::uint64_t kDay = 86'400'000'000;
  for (const auto* text :
       {"", "123456\n", "no\nsense\n", "\n\n", "-5\n-5\n", "1\n99999999999999999999999\n"}) {
    test::write_file(path, text);
    const auto epoch = test::value_of(ownership.take())->epoch();
    EXPECT_GE(epoch, before) << text;
    EXPECT_LT(epoch, before + kDay) << text;
  }
}

TEST_F(FsOwnershipTest, TouchingOrReadingTheFileLosesNothing) {
  boost::asio::io_context io(1);
  const auto hold = test::value_of(ownership.take());
  bool told = false;
  const auto watch =
      test::value_of(hold->watch(io.get_executor(), [&](const std::string&) { told = true; }));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  test::read_file(path);
  for (int i = 0; i < 5; ++i) test::run_ready(io);
  EXPECT_FALSE(told);
}

// What posix_spawn does: a child with all descriptors, until it is another program. The process it
// came from is killed just then.
TEST_F(FsOwnershipTest, AChildThatIsOutlivedByTheLockIsWaitedFor) {
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t owner = ::fork();
  ASSERT_GE(owner, 0);
  if (owner == 0) {
    auto hold = FsOwnership(home.path()).take();
    const pid_t child = hold ? ::fork() : -1;
    if (child != 0) ::_exit(child > 0 ? 0 : 1);
    // Until somebody asks for the lock, and then until that was refused.
    const int inotify = ::inotify_init1(IN_CLOEXEC);
    ::inotify_add_watch(inotify, path.c_str(), IN_OPEN);
    static_cast<void>(::write(ready[1], "r", 1) == 1);
    struct pollfd asked = {inotify, POLLIN, 0};
    ::poll(&asked, 1, 30'000);
    ::poll(nullptr, 0, 50);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(owner, &status, 0), owner);
  ASSERT_EQ(status, 0);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto hold = ownership.take();
  EXPECT_TRUE(hold) << hold.error().what;
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FsOwnershipTest, AFileThatWasRemovedWhileItWasLockedIsLockedAgain) {
  auto first = test::value_of(ownership.take());
  ::unlink(path.c_str());
  const auto second = test::value_of(ownership.take());
  first.reset();
  EXPECT_TRUE(test::exists(path));
  EXPECT_EQ(test::value_of(ownership.holder())->epoch, second->epoch());
}

}  // namespace
}  // namespace reef::store
