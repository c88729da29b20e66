#include "base/files.h"

#include <cerrno>
#include <sys/stat.h>

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

TEST(Files, CachedBytesAreReadWithoutWaiting) {
  const test::TempDir folder;
  PosixFiles files;
  test::write_file(folder / "f", "hello world");
  const auto directory = files.open(folder.path(), Files::Open::read);
  ASSERT_TRUE(directory);
  std::string bytes(20, '\0');
  const auto read = [&](const std::string& name, std::uint64_t offset) {
    return files.read_cached(directory->get(), name, offset, bytes.data(), bytes.size());
  };
  // Not every kernel and file system can tell what is cached.
  if (const auto got = read("f", 6)) {
    EXPECT_EQ(bytes.substr(0, *got), "world");
    EXPECT_EQ(read("f", 11), 0U);
    EXPECT_EQ(read("f", 1000), 0U);
  }
  EXPECT_FALSE(read("missing", 0));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read("pipe", 0));
}

// PosixFiles and the default implementation must give the same answer.
TEST(Files, StatsTheSameFileInEveryFolder) {
  const test::TempDir folder;
  PosixFiles real;
  test::FaultyFiles longer;
  ASSERT_TRUE(real.make_directory(folder / "has"));
  ASSERT_TRUE(replace_atomically(real, folder / "has/it", "four"));
  ASSERT_TRUE(real.make_directory(folder / "has not"));
  ASSERT_TRUE(replace_atomically(real, folder / "a file", "x"));
  for (Files* files : {static_cast<Files*>(&real), static_cast<Files*>(&longer)}) {
    const auto found = files->stat_inner(folder.path(), "it");
    ASSERT_TRUE(found);
    std::map<std::string, Result<Files::Stat>> by_name;
    for (const auto& [name, stat] : *found) by_name.emplace(name, stat);
    ASSERT_EQ(by_name.size(), 3U);
    ASSERT_TRUE(by_name.at("has"));
    EXPECT_EQ(by_name.at("has")->size, 4U);
    EXPECT_EQ(by_name.at("has not").error().code, Errc::not_found);
    EXPECT_NE(by_name.at("has not").error().what.find(folder / "has not/it"), std::string::npos);
    EXPECT_FALSE(by_name.at("a file"));
    EXPECT_EQ(files->stat_inner(folder / "none", "it").error().code, Errc::not_found);
  }
}

TEST(Files, StatsManyFoldersEachOnce) {
  const test::TempDir folder;
  PosixFiles files;
  constexpr std::size_t kCount = 3000;
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto name = folder / std::to_string(i);
    ASSERT_TRUE(files.make_directory(name));
    if (i % 2 == 0) test::write_file(name + "/it", std::string(i % 7, 'x'));
  }
  const auto found = files.stat_inner(folder.path(), "it");
  ASSERT_TRUE(found);
  std::map<std::string, Result<Files::Stat>> by_name;
  for (const auto& [name, stat] : *found) by_name.emplace(name, stat);
  ASSERT_EQ(found->size(), kCount);
  ASSERT_EQ(by_name.size(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto& stat = by_name.at(std::to_string(i));
    ASSERT_EQ(stat.ok(), i % 2 == 0) << i;
    if (stat) EXPECT_EQ(stat->size, i % 7) << i;
  }
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
