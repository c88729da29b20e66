#include <gtest/gtest.h>

#include "process/children.h"
#include "process/pretence.h"
#include "process/process.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::process {
namespace {

class Sandboxed : public testing::Test {
 protected:
  static constexpr Sandbox kAll{.read_only = true, .no_network = true};

  void SetUp() override {
    if (const auto missing = what_is_missing(kAll); !missing.empty())
      GTEST_SKIP() << "THE SANDBOX WAS NOT CHECKED: " << missing;
    test::write_file(dir / "file", "kept");
  }
  test::Ran ran(const std::string& script, Sandbox sandbox = kAll) {
    auto command = test::shell_command(script);
    command.cwd = dir.path();
    command.sandbox = std::move(sandbox);
    return test::run_command(io, std::move(command));
  }

  boost::asio::io_context io{1};
  test::TempDir dir;
};

TEST_F(Sandboxed, LookingWorks) {
  const auto seen =
      ran("cat file; ls; grep -c k file > /dev/null && echo found; echo a | tr a b; "
          "timeout 5 head -c 1 /dev/zero | wc -c");
  EXPECT_EQ(seen.output, "keptfile\nfound\nb\n1\n") << seen.errors;
  EXPECT_EQ(seen.errors, "");
}

TEST_F(Sandboxed, FilesCannotBeTouched) {
  for (const char* script :
       {"echo x > file", "echo x >> file", ": > file", "echo x > new", "rm file", "mv file other",
        "ln file other", "ln -s file other", "mkdir other", "mkfifo other", "truncate -s 0 file",
        "chmod 777 file", "chown 1 file", "touch file", "touch new", "cp file other",
        "dd if=/dev/zero of=file count=1", "setfattr -n user.a -v b file", "chattr +i file"}) {
    const auto tried = ran(script);
    EXPECT_NE(tried.exit.code, 0) << script;
    EXPECT_EQ(test::read_file(dir / "file"), "kept") << script;
    EXPECT_FALSE(test::exists(dir / "new")) << script;
    EXPECT_FALSE(test::exists(dir / "other")) << script;
  }
}

TEST_F(Sandboxed, WhatIsWritableIsWritableAndNothingBesideIt) {
  test::write_file(dir / "also", "");
  ASSERT_EQ(ran("mkdir in").exit.code, 1);
  const test::TempDir other;
  Sandbox sandbox = kAll;
  sandbox.writable = {other.path(), dir / "also"};
  const auto tried =
      ran("echo a > also; mkdir " + (other / "d") + " && echo b > " + (other / "d/f") +
              "; echo c > file; rm also; cat also " + (other / "d/f"),
          sandbox);
  EXPECT_EQ(tried.output, "a\nb\n") << tried.errors;
  EXPECT_EQ(test::read_file(dir / "file"), "kept");
}

TEST_F(Sandboxed, ProcessesOutsideCannotBeSignalledAndItsOwnCan) {
  const auto mine = std::to_string(::getpid());
  EXPECT_NE(ran("kill -0 " + mine).exit.code, 0);
  EXPECT_NE(ran("kill -0 $PPID").exit.code, 0);
  EXPECT_EQ(ran("sleep 1000 & kill $! && wait $!").exit.code, 143);
  EXPECT_NE(ran("renice 5 " + mine).exit.code, 0);
  EXPECT_NE(ran("cat /proc/" + mine + "/environ").exit.code, 0);
}

TEST_F(Sandboxed, OnlyTheNetworkCanBeTakenAway) {
  const auto tried = ran("echo x > new && exec 3<>/dev/tcp/127.0.0.1/9",
                         Sandbox{.read_only = false, .no_network = true});
  EXPECT_NE(tried.errors.find("Operation not permitted"), std::string::npos) << tried.errors;
  EXPECT_TRUE(test::exists(dir / "new"));
}

TEST_F(Sandboxed, AnOlderKernelIsSaidPlainly) {
  struct Newer {
    ~Newer() { pretend_landlock(1000); }
  } newer;
  pretend_landlock(0);
  EXPECT_EQ(what_is_missing(kAll).substr(0, 41), "files can be written: this kernel has no ");
  const auto wrote = ran("echo x > new && kill -0 $PPID");
  EXPECT_TRUE(test::exists(dir / "new"));
  EXPECT_NE(wrote.exit.code, 0);  // what there is, is used
  pretend_landlock(5);
  EXPECT_EQ(what_is_missing(kAll),
            "a command cannot signal even its own processes (kill, timeout): this kernel's "
            "Landlock is older than "
            "Linux 6.12");
  pretend_landlock(6);
  EXPECT_EQ(what_is_missing(kAll), "");
}

TEST_F(Sandboxed, OnlyWritingCanBeTakenAway) {
  const auto tried =
      ran("exec 3<>/dev/tcp/127.0.0.1/9", Sandbox{.read_only = true, .no_network = false});
  EXPECT_NE(tried.errors.find("Connection refused"), std::string::npos) << tried.errors;
}

}  // namespace
}  // namespace reef::process
