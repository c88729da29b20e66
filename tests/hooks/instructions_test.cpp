#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "hooks/instructions/instructions_hook.h"
#include "store/fs/fs_documents.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::hooks {
namespace {

class InstructionsTest : public testing::Test {
 protected:
  InstructionsTest() {
    for (const auto* name : {"home", "p", "p/q", "p/q/r"})
      EXPECT_TRUE(files.make_directory(folder / name));
  }
  void write(const std::string& path, const std::string& text) {
    std::ofstream(folder / path, std::ios::binary) << text;
  }
  // Collects from the temporary folder down; instructions in the folders above it do not count.
  std::string collect(const std::string& cwd) { return instructions.collect(rule, folder / cwd); }
  std::string file(const std::string& path, const std::string& text) {
    return "<file path=\"" + (folder / path) + "\">\n" + text + "\n</file>\n";
  }

  test::TempDir folder;
  test::FaultyFiles files;
  InstructionsRule rule;
  store::FsDocuments documents{files, folder / "home"};
  Instructions instructions{files, documents, folder / "home"};
};

TEST_F(InstructionsTest, ComeFromTheHomeAndFromTheRootDownToTheWork) {
  EXPECT_EQ(collect("p/q/r"), "");
  write("home/Reef.md", "of home\n");
  write("p/AGENTS.md", "of p\n");
  write("p/q/Reef.md", "of q");
  write("p/q/AGENTS.md", "of q too");
  write("p/q/r/CLAUDE.md", "not asked for");
  EXPECT_EQ(collect("p/q/r"), "<instructions>\n" + file("home/Reef.md", "of home") +
                                  file("p/AGENTS.md", "of p") + file("p/q/Reef.md", "of q") +
                                  file("p/q/AGENTS.md", "of q too") + "</instructions>");
  EXPECT_EQ(collect("p/q/"), collect("p/q/r"));
  EXPECT_EQ(collect("p"), "<instructions>\n" + file("home/Reef.md", "of home") +
                              file("p/AGENTS.md", "of p") + "</instructions>");
  rule.files = {"CLAUDE.md"};
  EXPECT_EQ(collect("p/q/r"),
            "<instructions>\n" + file("p/q/r/CLAUDE.md", "not asked for") + "</instructions>");
}

TEST_F(InstructionsTest, AnAbsentOrOddPlaceHasThoseOfTheHomeOnly) {
  write("home/Reef.md", "of home");
  const auto home = "<instructions>\n" + file("home/Reef.md", "of home") + "</instructions>";
  for (const std::string& cwd : {std::string(), std::string("relative/path"), folder / "gone",
                                 std::string("/a\0b", 4), folder / "home"})
    EXPECT_EQ(instructions.collect(rule, cwd), home) << cwd;
}

TEST_F(InstructionsTest, AreReadAgainOnlyWhenTheyChanged) {
  write("p/AGENTS.md", "old");
  const auto first = collect("p");
  const auto before = files.calls();
  EXPECT_EQ(collect("p"), first);
  const auto again = files.calls() - before;
  write("p/AGENTS.md", "newer");
  const auto changed = files.calls();
  EXPECT_NE(collect("p").find("newer"), std::string::npos);
  EXPECT_GT(files.calls() - changed, again) << "a cached file is not read";
  ASSERT_TRUE(files.remove(folder / "p/AGENTS.md"));
  EXPECT_EQ(collect("p"), "");
}

TEST_F(InstructionsTest, AreLimitedInSizeEachAndTogether) {
  rule.bytes_max = 100;
  write("p/AGENTS.md", std::string(99, 'x') + "ä and more");
  const auto cut = collect("p");
  EXPECT_NE(cut.find(std::string(99, 'x') + "\n[cut here; the file has 110 bytes]"),
            std::string::npos)
      << cut;
  for (const auto* name : {"home/Reef.md", "p/Reef.md", "p/q/Reef.md", "p/q/AGENTS.md",
                           "p/q/r/Reef.md", "p/q/r/AGENTS.md"})
    write(name, std::string(10'000, 'y'));
  const auto all = collect("p/q/r");
  EXPECT_LT(all.size(), 3000U);
  EXPECT_NE(all.find("p/q/r/AGENTS.md"), std::string::npos) << "what is nearest stays";
  EXPECT_EQ(all.find("home/Reef.md"), std::string::npos);
}

TEST_F(InstructionsTest, FoldersPipesAndFilesOfOtherUsersAreLeftOut) {
  ASSERT_EQ(::mkfifo((folder / "p/AGENTS.md").c_str(), 0600), 0) << "would wait for ever";
  ASSERT_TRUE(files.make_directory(folder / "p/Reef.md"));
  write("p/q/AGENTS.md", "good \xff bytes");
  ASSERT_EQ(::symlink("AGENTS.md", (folder / "p/q/Reef.md").c_str()), 0);
  ASSERT_EQ(::symlink("loop", (folder / "p/q/r/AGENTS.md").c_str()), 0);
  const auto found = collect("p/q/r");
  EXPECT_EQ(found,
            "<instructions>\n" + file("p/q/Reef.md", "good \xef\xbf\xbd bytes") + "</instructions>")
      << "once, though it has two names";
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((folder / "p/q/AGENTS.md").c_str(), 12345, 12345), 0);
    EXPECT_EQ(collect("p/q/r"), "") << "another user's words";
  }
}

TEST_F(InstructionsTest, TheHomesAreHeldToTheSameRules) {
  ASSERT_EQ(::mkfifo((folder / "home/AGENTS.md").c_str(), 0600), 0);
  write("home/own.md", "the home's words");
  ASSERT_EQ(::symlink("own.md", (folder / "home/Reef.md").c_str()), 0);
  ASSERT_EQ(::symlink("own.md", (folder / "home/.hidden.md").c_str()), 0);
  rule.files = {"AGENTS.md", "Reef.md", ".hidden.md"};
  const auto home =
      "<instructions>\n" + file("home/Reef.md", "the home's words") + "</instructions>";
  EXPECT_EQ(collect("p"), home) << "once, though it has several names";
  rule.files = {".hidden.md"};
  EXPECT_NE(collect("p").find("home/.hidden.md"), std::string::npos);
  // A project that says the same says it itself.
  write("p/.hidden.md", "the home's words");
  EXPECT_EQ(collect("p"),
            "<instructions>\n" + file("p/.hidden.md", "the home's words") + "</instructions>");
  ASSERT_TRUE(files.remove(folder / "p/.hidden.md"));
  rule.bytes_max = 8;
  EXPECT_NE(collect("p").find("the home\n[cut here; the file has 16 bytes]"), std::string::npos);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((folder / "home/own.md").c_str(), 12345, 12345), 0);
    EXPECT_EQ(collect("p"), "") << "another user's words";
  }
}

TEST_F(InstructionsTest, ADiskThatFailsCostsTheFileAndNothingElse) {
  write("home/Reef.md", "of home");
  write("p/AGENTS.md", "of p");
  for (int nth = 1; nth < 12; ++nth) {
    Instructions fresh(files, documents, folder / "home");
    files.fail_at(nth, EIO);
    static_cast<void>(fresh.collect(rule, folder / "p"));
    files.heal();
    EXPECT_NE(fresh.collect(rule, folder / "p").find("of p"), std::string::npos) << nth;
  }
}

TEST(InstructionsName, IsANameAlone) {
  EXPECT_TRUE(is_instructions_name("Crab.md"));
  for (const std::string& bad : {std::string(), std::string("a/b"), std::string(".."),
                                 std::string("a\0b", 3), std::string(300, 'x')})
    EXPECT_FALSE(is_instructions_name(bad)) << bad;
}

TEST(InstructionsHook, AsksThePoolAndCanBeTurnedOff) {
  test::TempDir folder;
  PosixFiles files;
  boost::asio::io_context io{1};
  Pool pool(1);  // declared after the loop, so that its thread ends first
  std::ofstream(folder / "Reef.md") << "be brief";
  store::FsDocuments documents(files, folder.path());
  InstructionsHook hook(files, documents, pool, folder.path());
  const std::string cwd;
  EXPECT_NE(test::run(io, hook.instructions({}, runtime::Place{cwd})).find("be brief"),
            std::string::npos);
  hook.configure(InstructionsRule{{}, 100});
  EXPECT_EQ(test::run(io, hook.instructions({}, runtime::Place{cwd})), "");
}

}  // namespace
}  // namespace reef::hooks
