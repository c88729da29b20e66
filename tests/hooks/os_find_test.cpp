// The tools ls, glob and grep.
#include <filesystem>

#include "base/utf8.h"
#include "hooks/os/ignore.h"
#include "hooks/os/pattern.h"
#include "hooks/os_call_needs.h"

namespace reef::hooks::os {
namespace {

namespace fs = std::filesystem;
using test::write_file;

class OsFind : public DeskTest {
 protected:
  void have(std::initializer_list<const char*> names, const std::string& text = "x\n") {
    for (const auto* name : names) write_file(work(name), text);
  }
};

TEST_F(OsFind, LsIsSortedAndSaysWhatThingsAre) {
  have({"b.txt", "sub/c", "a"});
  fs::create_symlink("a", work("link"));
  EXPECT_EQ(told(ls, {}), "a  2 bytes\nb.txt  2 bytes\nlink -> a\nsub/\n");
  EXPECT_EQ(told(ls, {{"limit", 2}}), "a  2 bytes\nb.txt  2 bytes\n(2 of 4 entries)");
  EXPECT_EQ(told(ls, {{"path", "a"}}), "ERROR: a is not a folder");
  EXPECT_TRUE(told(ls, {{"path", "nope"}}).starts_with("ERROR: "));
  fs::create_directory(work("none"));
  EXPECT_EQ(told(ls, {{"path", "none"}}), "(the folder is empty)");
  write_file(work("none/od\xff\nd"), "");
  EXPECT_TRUE(utf8::valid(told(ls, {{"path", "none"}})));
}

TEST_F(OsFind, PatternsMeanWhatPeopleMean) {
  const auto fits = [](const char* glob, const char* path) {
    const auto pattern = Pattern::compile(glob);
    return pattern && pattern->matches(path);
  };
  EXPECT_TRUE(fits("*.h", "a.h"));
  EXPECT_FALSE(fits("*.h", "x/a.h"));
  EXPECT_TRUE(fits("**/*.h", "a.h"));
  EXPECT_TRUE(fits("**/*.h", "x/y/a.h"));
  EXPECT_TRUE(fits("src/**", "src/a/b"));
  EXPECT_FALSE(fits("src/**", "srcs/a"));
  EXPECT_TRUE(fits("src/**/b", "src/b"));
  EXPECT_TRUE(fits("{a,b}?.[ch]", "a1.c"));
  EXPECT_FALSE(fits("{a,b}?.[!ch]", "a1.c"));
  EXPECT_FALSE(fits("a[!x]b", "a/b"));
  EXPECT_TRUE(fits("a+(b)$", "a+(b)$")) << "only what is special is special";
  EXPECT_TRUE(fits("\\*", "*"));
  EXPECT_FALSE(fits("\\*", "a"));
  for (const auto* wrong : {"", "[", "[a", "{a", "a{b,{c}"})
    EXPECT_FALSE(Pattern::compile(wrong)) << wrong;
}

TEST_F(OsFind, IgnoreFilesAreReadAsGitReadsThem) {
  const auto rules =
      Ignore::parse("# comment\n*.o\n!keep.o\n/build/\ndocs/*.html\nlogs/\n\\#odd\n  \n{a}\n");
  const auto ignored = [&](const char* path, bool folder = false) {
    return rules.judge(path, folder) == Ignore::Verdict::ignored;
  };
  EXPECT_TRUE(ignored("a.o"));
  EXPECT_TRUE(ignored("x/y/a.o"));
  EXPECT_FALSE(ignored("x/keep.o"));
  EXPECT_TRUE(ignored("build", true));
  EXPECT_FALSE(ignored("build"));
  EXPECT_FALSE(ignored("x/build", true));
  EXPECT_TRUE(ignored("x/logs", true));
  EXPECT_TRUE(ignored("docs/a.html"));
  EXPECT_FALSE(ignored("docs/x/a.html"));
  EXPECT_TRUE(ignored("#odd"));
  EXPECT_TRUE(ignored("{a}"));
}

TEST_F(OsFind, GlobFindsInOrderAndLeavesOutWhatGitDoes) {
  have({"b.cpp", "a/x.cpp", "a/x.h", "a/deep/y.cpp", ".git/z.cpp", "out/o.cpp", "a/gen.cpp"});
  write_file(work(".gitignore"), "/out\n");
  write_file(work("a/.gitignore"), "gen.*\n");
  EXPECT_EQ(told(glob, {{"pattern", "*.cpp"}}), "a/deep/y.cpp\na/x.cpp\nb.cpp\n");
  EXPECT_EQ(told(glob, {{"pattern", "a/*.{h,cpp}"}}), "a/x.cpp\na/x.h\n");
  EXPECT_EQ(told(glob, {{"pattern", "*.cpp"}, {"hidden", true}, {"path", "out"}}), "out/o.cpp\n");
  EXPECT_EQ(told(glob, {{"pattern", work("a") + "/**/*.h"}}), "a/x.h\n");
  EXPECT_EQ(told(glob, {{"pattern", "*.rs"}}), "no files found");
  EXPECT_EQ(told(glob, {{"pattern", "*.cpp"}, {"limit", 1}}),
            "a/deep/y.cpp\n(stopped at 1; narrow the search or raise limit)");
  EXPECT_EQ(told(glob, {{"pattern", "["}}), "ERROR: pattern '[': a '[' has no ']'");
  EXPECT_TRUE(told(glob, {{"pattern", "*"}, {"path", "nope"}}).starts_with("ERROR: "));
}

TEST_F(OsFind, LinksAreNotFollowedAndDeepTreesEnd) {
  have({"a/x"});
  fs::create_directory_symlink(work(""), work("a/loop"));
  EXPECT_EQ(told(glob, {{"pattern", "x"}}), "a/x\n");
  std::string deep = "d";
  for (int i = 0; i < 100; ++i) deep += "/d";
  write_file(work(deep + "/bottom"), "");
  EXPECT_NE(told(glob, {{"pattern", "bottom"}}).find("very deep folder"), std::string::npos);
}

TEST_F(OsFind, GrepShowsLinesAndWhatStandsAround) {
  write_file(work("a.txt"), "zero\none\ntwo\nthree\nfour\n");
  write_file(work("b.txt"), "nothing\r\nTwo\r\n");
  EXPECT_EQ(told(grep, {{"pattern", "two"}}), "a.txt:3: two\n");
  EXPECT_EQ(told(grep, {{"pattern", "^two$"}, {"ignore_case", true}, {"path", "a.txt"}}),
            "a.txt:3: two\n");
  EXPECT_EQ(told(grep, {{"pattern", "two"}, {"ignore_case", true}}),
            "a.txt:3: two\nb.txt:2: Two\n");
  EXPECT_EQ(told(grep, {{"pattern", "two"}, {"context", 1}}),
            "a.txt-2- one\na.txt:3: two\na.txt-4- three\n");
  EXPECT_EQ(told(grep, {{"pattern", "zero|two"}, {"context", 1}}),
            "a.txt:1: zero\na.txt-2- one\na.txt:3: two\na.txt-4- three\n");
  EXPECT_EQ(told(grep, {{"pattern", "zero|four"}, {"context", 1}}),
            "a.txt:1: zero\na.txt-2- one\n--\na.txt-4- three\na.txt:5: four\n");
  EXPECT_EQ(told(grep, {{"pattern", "o"}, {"files_only", true}}), "a.txt\nb.txt\n");
  EXPECT_EQ(told(grep, {{"pattern", "o"}, {"glob", "b.*"}}), "b.txt:1: nothing\nb.txt:2: Two\n");
  EXPECT_EQ(told(grep, {{"pattern", "o"}, {"limit", 1}}),
            "a.txt:1: zero\n(stopped at 1; narrow the search or raise limit)");
  EXPECT_EQ(told(grep, {{"pattern", "e\\s+o"}}), "no matches") << "a match is within a line";
  EXPECT_EQ(told(grep, {{"pattern", "x*"}, {"path", "b.txt"}}), "b.txt:1: nothing\nb.txt:2: Two\n");
  EXPECT_TRUE(told(grep, {{"pattern", "("}}).starts_with("ERROR: pattern '('"));
}

TEST_F(OsFind, GrepPassesOverWhatIsNotText) {
  write_file(work("junk"), std::string("two\0two", 7));
  write_file(work("latin"), "caf\xe9 two\n");
  write_file(work("long"), std::string(100'000, 'x') + "two");
  write_file(work("big"), std::string(11U << 20, 'y') + "two");
  ::mkfifo(work("pipe").c_str(), 0600);
  const auto text = told(grep, {{"pattern", "two"}});
  EXPECT_TRUE(utf8::valid(text));
  EXPECT_NE(text.find("latin:1: caf\xef\xbf\xbd two\n"), std::string::npos);
  EXPECT_NE(text.find(" [cut]"), std::string::npos);
  EXPECT_NE(text.find("(1 file(s) over 10 MiB left out)"), std::string::npos);
  EXPECT_EQ(text.find("junk"), std::string::npos);
  EXPECT_LT(text.size(), 1000U);
}

TEST_F(OsFind, AnswersHaveABound) {
  std::string lines;
  for (int i = 0; i < 500; ++i) lines += std::string(300, 'z') + "\n";
  for (int i = 0; i < 4; ++i) write_file(work("f" + std::to_string(i)), lines);
  const auto text = told(grep, {{"pattern", "z"}, {"limit", 1000}});
  EXPECT_LT(text.size(), needs.shown_bytes + 200);
  EXPECT_NE(text.find("no room for more"), std::string::npos);
}

}  // namespace
}  // namespace reef::hooks::os
