// The folders of sessions on a disk with traps in them, and on one that fails.
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "session/document_folders.h"
#include "store/fs/fs_documents.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

class FoldersTest : public testing::Test {
 protected:
  FoldersTest() {
    ::mkdir((home / "sessions").c_str(), 0700);
    ::mkdir(at("").c_str(), 0700);
  }
  std::string at(const std::string& path) { return home / ("sessions/s/" + path); }
  Result<session::NewFile::Kept> add(const std::string& name, const std::string& bytes) {
    auto file = test::run(io, folders.receive());
    if (!file) return std::move(file).error();
    if (auto done = test::run(io, (*file)->write(bytes)); !done) return std::move(done).error();
    return test::run(io, (*file)->keep(id, name));
  }
  std::vector<std::string> paths(std::size_t limit = 100, const std::string& cursor = "") {
    std::vector<std::string> out;
    for (const auto& file :
         test::value_of(test::run(io, folders.list(id, "", limit, cursor))).files)
      out.push_back(file.path);
    return out;
  }
  Result<std::string> read(const std::string& path) {
    auto file = test::run(io, folders.open(id, path));
    if (!file) return std::move(file).error();
    return test::run(io, (*file)->read(0, 100));
  }
  std::vector<std::string> incoming() {
    PosixFiles real;
    return test::value_of(real.list(home / "sessions/.incoming"));
  }

  test::TempDir home;
  boost::asio::io_context io{1};
  test::FaultyFiles files;
  Pool pool{2};
  FsDocuments documents{files, home.path()};
  session::DocumentFolders folders{documents, pool};
  session::SessionId id = *session::SessionId::parse("s");
};

TEST_F(FoldersTest, AKeptFileIsListedReadAndHashed) {
  const auto kept = test::value_of(add("a.txt", "hello"));
  EXPECT_EQ(kept.file.path, "attachments/a.txt");
  EXPECT_EQ(kept.file.type, "text/plain");
  EXPECT_EQ(kept.file.bytes, 5U);
  EXPECT_EQ(kept.sha, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  EXPECT_TRUE(kept.fresh);
  EXPECT_EQ(paths(), std::vector<std::string>{"attachments/a.txt"});
  EXPECT_EQ(test::value_of(read("attachments/a.txt")), "hello");
  EXPECT_TRUE(incoming().empty());
}

TEST_F(FoldersTest, TheSameBytesAreKeptOnceAndOtherBytesGetANumber) {
  ASSERT_TRUE(add("a.txt", "hello"));
  const auto twin = test::value_of(add("b.txt", "hello"));
  EXPECT_EQ(twin.file.path, "attachments/a.txt");
  EXPECT_FALSE(twin.fresh);
  EXPECT_EQ(test::value_of(add("a.txt", "world")).file.path, "attachments/a-2.txt");
  EXPECT_EQ(test::value_of(add("x/../a.txt", "third")).file.path, "attachments/a-3.txt");
  EXPECT_EQ(test::value_of(read("attachments/a.txt")), "hello");
  EXPECT_TRUE(incoming().empty());
}

TEST_F(FoldersTest, AFileThatIsNotKeptLeavesNoTrace) {
  {
    const auto file = test::value_of(test::run(io, folders.receive()));
    ASSERT_TRUE(test::run(io, file->write("half")));
    EXPECT_EQ(incoming().size(), 1U);
  }
  EXPECT_TRUE(incoming().empty());
  EXPECT_TRUE(paths().empty());
  test::write_file(home / "sessions/.incoming/1", "of a crash");
  documents.clean();
  EXPECT_FALSE(test::exists(home / "sessions/.incoming"));
}

TEST_F(FoldersTest, LinksPipesAndFoldersAreNoFiles) {
  const test::TempDir outside;
  test::write_file(outside / "secret", "secret");
  ::mkdir(at("data").c_str(), 0700);
  test::write_file(at("data/good"), "good");
  ASSERT_EQ(::symlink((outside / "secret").c_str(), at("data/link").c_str()), 0);
  ASSERT_EQ(::symlink("good", at("data/inner").c_str()), 0);
  ASSERT_EQ(::symlink(outside.path().c_str(), at("data/dir").c_str()), 0);
  ASSERT_EQ(::symlink(outside.path().c_str(), at("plans").c_str()), 0);
  ASSERT_EQ(::mkfifo(at("data/pipe").c_str(), 0600), 0);
  EXPECT_EQ(paths(), std::vector<std::string>{"data/good"});
  for (const auto* path : {"data/link", "data/inner", "data/dir/secret", "plans/secret",
                           "data/pipe", "data", "data/../data/good", "data/missing"})
    EXPECT_FALSE(read(path)) << path;
  EXPECT_EQ(test::value_of(read("data/good")), "good");
}

TEST_F(FoldersTest, AnAttachmentsFolderThatIsALinkIsNotWrittenThrough) {
  const test::TempDir outside;
  ASSERT_EQ(::symlink(outside.path().c_str(), at("attachments").c_str()), 0);
  EXPECT_FALSE(add("a.txt", "hello"));
  PosixFiles real;
  EXPECT_TRUE(test::value_of(real.list(outside.path())).empty());
  EXPECT_TRUE(incoming().empty());
}

TEST_F(FoldersTest, PagesStayInOrderWhileFilesAreAdded) {
  ::mkdir(at("data").c_str(), 0700);
  for (int i = 0; i < 25; ++i) test::write_file(at(fmt::format("data/{:02}", i)), "x");
  std::vector<std::string> seen;
  std::string cursor;
  do {
    const auto page = test::value_of(test::run(io, folders.list(id, "data", 10, cursor)));
    for (const auto& file : page.files) seen.push_back(file.path);
    cursor = page.cursor;
    // One new file sorts before the cursor, the other behind it.
    test::write_file(at("data/00-late"), "x");
    test::write_file(at("data/zz"), "x");
  } while (!cursor.empty());
  ASSERT_EQ(seen.size(), 26U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), "data/zz");
  EXPECT_FALSE(test::run(io, folders.list(id, "nowhere", 10, "")));
}

TEST_F(FoldersTest, CopiesAreTheirOwnFiles) {
  ::mkdir((home / "sessions/t").c_str(), 0700);
  ASSERT_TRUE(add("a.txt", "hello"));
  const auto other = *session::SessionId::parse("t");
  ASSERT_TRUE(test::run(io, folders.copy(id, other, {"attachments/a.txt", "attachments/gone"})));
  test::write_file(at("attachments/a.txt"), "changed");
  EXPECT_EQ(test::read_file(home / "sessions/t/attachments/a.txt"), "hello");
}

TEST_F(FoldersTest, AFailingDiskLeavesNothing) {
  const int before = files.calls();
  ASSERT_TRUE(add("warm", "up"));
  const int calls = files.calls() - before;
  for (int nth = 1; nth <= calls; ++nth) {
    files.fail_at(nth, ENOSPC);
    const auto kept = add("a.txt", fmt::format("bytes {}", nth));
    const bool hit = files.hit();
    files.heal();
    if (kept) continue;  // the fault hit only the comparison with other files
    EXPECT_TRUE(hit);
    EXPECT_EQ(paths(), std::vector<std::string>{"attachments/warm"}) << nth;
    EXPECT_TRUE(incoming().empty()) << nth;
  }
}

}  // namespace
}  // namespace reef::store
