#include "skills/shelf.h"

#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::skills {
namespace {

class ShelfTest : public testing::Test {
 protected:
  std::string put(const std::string& path, const std::string& text) {
    const auto file = dir / path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    test::write_file(file, text);
    return file;
  }
  std::string skill(const std::string& path, const std::string& name, const std::string& body) {
    return put(path + "/SKILL.md",
               "---\nname: " + name + "\ndescription: About " + name + ".\n---\n" + body);
  }
  std::string names(const Catalogue& catalogue) {
    std::string out;
    for (const auto& found : catalogue.skills) out += found.skill.name + " ";
    return out;
  }

  test::TempDir dir;
  PosixFiles files;
  Shelf shelf{files};
  std::vector<std::string> roots{dir / "one", dir / "two"};
};

TEST_F(ShelfTest, NestedFoldersAreFoundAndHiddenOnesSkipped) {
  skill("one/a", "a", "");
  skill("one/category/deeper/b", "b", "");
  skill("one/.git/c", "c", "");
  skill("one/a/assets/d", "d", "");
  put("two/x.txt", "");
  const auto found = shelf.look(roots);
  EXPECT_EQ(names(found), "a b ") << "what lies in a skill's folder is the skill's";
  EXPECT_TRUE(found.problems.empty());
}

TEST_F(ShelfTest, TheFirstOfTwoWithOneNameCountsAndTheOtherIsNamed) {
  skill("two/x", "x", "second");
  const auto first = skill("one/x", "x", "first");
  const auto found = shelf.look(roots);
  ASSERT_EQ(found.skills.size(), 1U);
  EXPECT_EQ(found.skills[0].skill.body, "first");
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_NE(found.problems[0].find("there is a skill 'x' already"), std::string::npos);
  EXPECT_NE(found.problems[0].find(first), std::string::npos);
}

TEST_F(ShelfTest, ABadOneIsNamedAndHarmsNoOther) {
  put("one/bad/SKILL.md", "nothing");
  skill("one/good", "good", "");
  std::filesystem::create_directories(dir / "two/odd/SKILL.md");
  const auto found = shelf.look(roots);
  EXPECT_EQ(names(found), "good ");
  EXPECT_EQ(found.problems.size(), 2U);
}

TEST_F(ShelfTest, AFolderThatIsNotThereIsAProblemUnlessItIsReefsOwn) {
  const auto found = shelf.look(roots);
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_NE(found.problems[0].find("two: there is no such folder"), std::string::npos);
}

TEST_F(ShelfTest, LoadReadsTheFileAgainEachTime) {
  const auto file = skill("one/x", "x", "old");
  EXPECT_EQ(test::value_of(shelf.load(roots, "x")).skill.body, "old");
  const auto time = std::filesystem::last_write_time(file);
  skill("one/x", "x", "new");  // as long as before
  std::filesystem::last_write_time(file, time);
  EXPECT_EQ(test::value_of(shelf.load(roots, "x")).skill.body, "new");
  skill("two/late", "late", "came later");
  EXPECT_EQ(test::value_of(shelf.load(roots, "late")).skill.body, "came later");
  std::filesystem::remove_all(dir / "two/late");
  EXPECT_EQ(shelf.load(roots, "late").error().code, Errc::not_found);
}

TEST_F(ShelfTest, NamesThatArePathsFindNothing) {
  skill("one/x", "x", "");
  skill("outside", "outside", "secret");
  for (const auto* bad : {"../outside", "..", "", "x/../x", "/etc", "./x", "one/x"})
    EXPECT_EQ(shelf.load(roots, bad).error().code, Errc::not_found) << bad;
}

TEST_F(ShelfTest, LinksThatLeadOutAreRefused) {
  skill("outside", "outside", "secret");
  skill("one/real", "real", "");
  std::filesystem::create_directory_symlink(dir / "outside", dir / "one/linked");
  std::filesystem::create_directory_symlink(dir / "one/real", dir / "one/twice");
  std::filesystem::create_directories(dir / "one/file");
  std::filesystem::create_symlink(dir / "outside/SKILL.md", dir / "one/file/SKILL.md");
  std::filesystem::create_directory_symlink(dir / "one", dir / "one/loop");
  const auto found = shelf.look({dir / "one"});
  EXPECT_EQ(names(found), "real ");
  ASSERT_EQ(found.problems.size(), 2U);
  EXPECT_NE(found.problems[0].find("leads out of its folder"), std::string::npos);
  EXPECT_NE(found.problems[1].find("is a link that leads out"), std::string::npos);
}

TEST_F(ShelfTest, BundledFilesAreListedAndReadButNothingElseIs) {
  skill("one/x", "x", "");
  put("one/x/scripts/run.py", "print(1)");
  put("one/x/reference.md", "more");
  put("one/x/.secret", "no");
  put("one/x/data.bin", std::string("a\0b", 3));
  put("one/x/large.txt", std::string(Shelf::kBundledBytesMax + 1, 'x'));
  put("secret", "outside");
  std::filesystem::create_symlink(dir / "secret", dir / "one/x/link");
  std::filesystem::create_symlink("reference.md", dir / "one/x/inside");
  const auto found = test::value_of(shelf.load(roots, "x"));
  EXPECT_EQ(shelf.bundled(found), (std::vector<std::string>{"data.bin", "inside", "large.txt",
                                                            "reference.md", "scripts/run.py"}));
  EXPECT_EQ(test::value_of(shelf.read_bundled(found, "scripts/run.py")), "print(1)");
  EXPECT_EQ(test::value_of(shelf.read_bundled(found, "inside")), "more");
  for (const auto* out : {"link", "../../secret", "/etc/passwd", "scripts/../../../secret"})
    EXPECT_EQ(shelf.read_bundled(found, out).error().code, Errc::denied) << out;
  EXPECT_EQ(shelf.read_bundled(found, "scripts").error().code, Errc::denied);
  EXPECT_EQ(shelf.read_bundled(found, "none").error().code, Errc::not_found);
  EXPECT_EQ(shelf.read_bundled(found, "").error().code, Errc::invalid);
  EXPECT_EQ(shelf.read_bundled(found, "data.bin").error().code, Errc::unsupported);
  EXPECT_EQ(shelf.read_bundled(found, "large.txt").error().code, Errc::too_large);
}

TEST_F(ShelfTest, DepthIsLimitedAndSaidSo) {
  skill("one/1/2/3/4/5/six", "six", "");
  skill("one/1/2/3/4/5/6/seven", "seven", "");
  const auto found = shelf.look({dir / "one"});
  EXPECT_EQ(names(found), "six ");
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_NE(found.problems[0].find("folders deep"), std::string::npos);
}

TEST_F(ShelfTest, WordsFindNamesAndDescriptions) {
  skill("one/a", "check-feeds", "");
  skill("one/b", "summarise", "");
  const auto all = shelf.look({dir / "one"});
  EXPECT_EQ(look_for(all, "").size(), 2U);
  ASSERT_EQ(look_for(all, "FEED about").size(), 1U);
  EXPECT_EQ(look_for(all, "feed")[0]->skill.name, "check-feeds");
  EXPECT_TRUE(look_for(all, "feed nothing").empty());
}

TEST_F(ShelfTest, FilesOfOtherUsersAreNotRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make one";
  const auto file = skill("one/x", "x", "");
  ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
  const auto found = shelf.look({dir / "one"});
  EXPECT_TRUE(found.skills.empty());
  EXPECT_NE(found.problems.at(0).find("is another user's"), std::string::npos);
}

}  // namespace
}  // namespace reef::skills
