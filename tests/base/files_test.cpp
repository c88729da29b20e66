#include "base/files.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "support/faulty_files.h"
#include "support/temp_dir.h"

namespace reef {
namespace {

TEST(Files, ShortAndInterruptedWritesAreRetried) {
  const test::TempDir folder;
  test::FaultyFiles files;
  auto fd = files.open(folder / "a", Files::Open::create);
  ASSERT_TRUE(fd);
  files.cut_write_at(1);
  ASSERT_TRUE(write_all(files, fd->get(), "hello world"));
  EXPECT_TRUE(files.hit());
  files.fail_at(1, EINTR);
  ASSERT_TRUE(write_all(files, fd->get(), "!"));
  EXPECT_TRUE(files.hit());
  EXPECT_EQ(test::read_file(folder / "a"), "hello world!");
}

TEST(Files, ReplaceLeavesTheOldContentWhicheverCallFails) {
  const test::TempDir folder;
  const auto path = folder / "config";
  test::FaultyFiles files;
  ASSERT_TRUE(replace_atomically(files, path, "old"));
  const int before = files.calls();
  ASSERT_TRUE(replace_atomically(files, path, "old"));
  const int calls = files.calls() - before;
  ASSERT_GE(calls, 5);
  for (int nth = 1; nth <= calls; ++nth) {
    files.fail_at(nth, ENOSPC);
    const auto done = replace_atomically(files, path, "new");
    ASSERT_TRUE(files.hit());
    files.heal();
    const auto now = test::read_file(path);
    // The first call clears away a temporary file; the last one may fail after the rename.
    if (done) {
      EXPECT_EQ(now, "new") << "call " << nth;
    } else {
      EXPECT_TRUE(now == "old" || nth == calls) << "call " << nth << ": " << now;
      EXPECT_NE(done.error().what.find(path), std::string::npos);
    }
    ASSERT_TRUE(replace_atomically(files, path, "old"));
  }
  EXPECT_FALSE(test::exists(path + ".tmp"));
}

TEST(Files, MakeDirectoriesMakesParentsAndRefusesAFileInTheWay) {
  const test::TempDir folder;
  PosixFiles files;
  ASSERT_TRUE(make_directories(files, folder / "a/b/c"));
  ASSERT_TRUE(make_directories(files, folder / "a/b/c"));
  test::write_file(folder / "f", "");
  const auto refused = make_directories(files, folder / "f");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("a file is in its place"), std::string::npos);
}

TEST(Files, ErrorsNameThePathAndTheReason) {
  PosixFiles files;
  const auto missing = read_all(files, "/nonexistent/x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_EQ(missing.error().what, "open /nonexistent/x: No such file or directory");
}

}  // namespace
}  // namespace reef
