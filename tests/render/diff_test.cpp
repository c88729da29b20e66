#include <gtest/gtest.h>

#include "render/render.h"
#include "support/random.h"

namespace reef::render {
namespace {

std::string random_text(test::Random& random, std::size_t lines) {
  std::string out;
  for (auto n = random.below(lines); n > 0; --n)
    out += std::string(1, static_cast<char>('a' + random.below(6))) + "\n";
  if (!out.empty() && random.below(4) == 0) out.pop_back();
  return out;
}

// The text as a change leaves it.
std::string applied(const FileChange& file, std::string_view before) {
  const auto lines = lines_of(before);
  std::string out;
  std::size_t at = 0;
  for (const auto& step : file.steps) {
    if (step.change == Change::add) {
      out += step.line;
      continue;
    }
    for (auto n = std::max<std::size_t>(step.unknown, 1); n > 0; --n) {
      EXPECT_LT(at, lines.size());
      if (at >= lines.size()) return out;
      if (step.unknown == 0) EXPECT_EQ(step.line, lines[at]);
      if (step.change == Change::keep) out += lines[at];
      ++at;
    }
  }
  for (; at < lines.size(); ++at) out += lines[at];
  return out;
}

TEST(Compare, TheStepsMakeTheOneOfTheOther) {
  auto random = test::seeded();
  for (int round = 0; round < 5000; ++round) {
    const auto before = random_text(random, 30), after = random_text(random, 30);
    ASSERT_EQ(applied(make_change("f", before, "f", after), before), after)
        << "REEF_SEED=" << random.seed();
  }
}

TEST(Compare, LinesThatStandOnceHoldTheRestInPlace) {
  const std::string before = "void a() {\n  one();\n}\n\nvoid b() {\n  two();\n}\n";
  const std::string after =
      "void a() {\n  one();\n}\n\nvoid c() {\n  three();\n}\n\nvoid b() {\n  two();\n}\n";
  const auto file = make_change("f", before, "f", after);
  EXPECT_EQ(file.added(), 4U);
  EXPECT_EQ(file.removed(), 0U);
}

TEST(Compare, VeryDifferentTextsTakeABoundedTime) {
  std::string before, after;
  for (int i = 0; i < 40'000; ++i) {
    before += std::to_string(i % 977) + "\n";
    after += std::to_string(i % 983) + "\n";
  }
  EXPECT_EQ(applied(make_change("f", before, "f", after), before), after);
}

TEST(FileChange, IsReadBackFromAUnifiedDiff) {
  auto random = test::seeded();
  for (int round = 0; round < 3000; ++round) {
    const auto before = random_text(random, 40), after = random_text(random, 40);
    const auto file = make_change("f", before, "f", after);
    const auto text = unified(file, random.below(4));
    const auto read = read_changes(text);
    if (before == after) {
      EXPECT_TRUE(read.empty());
      continue;
    }
    ASSERT_EQ(read.size(), 1U) << text;
    ASSERT_EQ(applied(read[0], before), after) << "REEF_SEED=" << random.seed() << "\n" << text;
    EXPECT_FALSE(read[0].cut);
  }
}

TEST(FileChange, TwoChangesAreOneThatDoesBoth) {
  auto random = test::seeded();
  for (int round = 0; round < 3000; ++round) {
    const auto a = random_text(random, 40), b = random_text(random, 40),
               c = random_text(random, 40);
    if (a == b || b == c) continue;
    const auto first = read_changes(unified(make_change("f", a, "f", b), random.below(4)));
    const auto then = read_changes(unified(make_change("f", b, "f", c), random.below(4)));
    const auto both = compose(first.at(0), then.at(0));
    ASSERT_EQ(applied(both, a), c) << "REEF_SEED=" << random.seed() << "\n"
                                   << unified(first[0]) << unified(then[0]);
    // What came and went again is in neither, where the lines between are known.
    const auto nothing = compose(make_change("f", a, "f", b), make_change("f", b, "f", a));
    EXPECT_EQ(nothing.added() + nothing.removed(), 0U) << "REEF_SEED=" << random.seed();
  }
}

TEST(FileChange, EditsOfATurnAreAFileOnceAndFindWhatWasRenamed) {
  std::vector<FileChange> edits;
  edits.push_back(make_change("a", "1\n2\n3\n", "a", "1\n2b\n3\n"));
  edits.push_back(make_change("", "", "new", "n\n"));
  edits.push_back(make_change("a", "1\n2b\n3\n", "a", "1\n2b\n3b\n"));
  edits.push_back(make_change("gone", "x\n", "gone", "y\n"));
  edits.push_back(make_change("gone", "y\n", "gone", "x\n"));
  edits.push_back(make_change("old.c", "a\nb\nc\nd\n", "", ""));
  edits.push_back(make_change("", "", "fresh.c", "a\nb\nc\ne\n"));
  const auto all = combine(edits);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].new_name, "a");
  EXPECT_EQ(unified(all[0]), "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-2\n-3\n+2b\n+3b\n");
  EXPECT_EQ(all[1].new_name, "new");
  EXPECT_EQ(all[2].old_name, "old.c");
  EXPECT_EQ(all[2].new_name, "fresh.c");
  EXPECT_EQ(all[2].added(), 1U);
}

TEST(FileChange, AFileThatCameAndWentIsNotThere) {
  const auto all = combine({make_change("", "", "t", "x\n"), make_change("t", "x\n", "", "")});
  EXPECT_TRUE(all.empty());
}

TEST(FileChange, ReadsWhatOthersWriteAndPassesOverWhatIsNone) {
  const auto git = read_changes(
      "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -10,2 +10,3 @@ void f()\n "
      "a\n+b\n c\n"
      "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\nwords\n@@ nonsense "
      "@@\n");
  ASSERT_EQ(git.size(), 2U);
  EXPECT_EQ(git[0].steps.front().unknown, 9U);
  EXPECT_EQ(git[0].added(), 1U);
  EXPECT_TRUE(git[1].binary);
  EXPECT_EQ(git[1].new_name, "p.png");
  EXPECT_TRUE(read_changes("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n[cut: the diff has 9 bytes]\n")
                  .at(0)
                  .cut);
  EXPECT_TRUE(read_changes("@@ -1 +1 @@\n-a\n+b\n").empty());
  EXPECT_TRUE(read_changes("").empty());
}

TEST(Diff, MarksTheWordsThatDiffer) {
  const auto diff = diff_of(make_change("a.cpp", "int one = 1;\n", "a.cpp", "int two = 1;\n"));
  ASSERT_EQ(diff.hunks.size(), 1U);
  const auto changed = [](const Line& line) {
    std::string out;
    for (const auto& span : line)
      if (span.style.changed) out += span.text;
    return out;
  };
  EXPECT_EQ(changed(diff.hunks[0].lines[0].words), "one");
  EXPECT_EQ(changed(diff.hunks[0].lines[1].words), "two");
  const auto other = diff_of(make_change("a", "alpha beta\n", "a", "something else here\n"));
  EXPECT_EQ(changed(other.hunks[0].lines[0].words), "") << "everything would be marked";
}

TEST(Diff, IsShownWithNumbersAndWhatIsLeftOut) {
  std::string before, after;
  for (int i = 1; i <= 30; ++i) before += "line " + std::to_string(i) + "\n";
  after = before;
  after.replace(after.find("line 20"), 7, "LINE 20");
  const auto diff = diff_of(make_change("f.txt", before, "f.txt", after));
  EXPECT_EQ(plain(title_of(diff)), "f.txt  +1  -1");
  EXPECT_EQ(
      plain(lay_out(diff, 40)),
      "⋯ 16 unchanged lines\n17   line 17\n18   line 18\n19   line 19\n20 - line 20\n20 + LINE 20\n"
      "21   line 21\n22   line 22\n23   line 23\n");
}

TEST(Diff, SaysWhatItCannotShow) {
  EXPECT_EQ(plain(title_of(diff_of(make_change("a", std::string("\0x", 2), "a", "y")))),
            "a  binary");
  EXPECT_EQ(plain(title_of(diff_of(make_change("a", std::string(5U << 20, 'x'), "a", "y")))),
            "a  too large to compare");
  EXPECT_EQ(plain(title_of(diff_of(make_change("", "", "a", "y\n")))), "new file a  +1");
  EXPECT_EQ(plain(title_of(diff_of(make_change("a", "y\n", "", "")))), "removed a  -1");
  std::string many;
  for (int i = 0; i < 9000; ++i) many += std::to_string(i) + "\n";
  const auto diff = diff_of(make_change("", "", "a", many));
  EXPECT_TRUE(diff.cut);
  EXPECT_EQ(diff.added, 9000U);
  EXPECT_EQ(diff.hunks[0].lines.size(), 5000U);
}

TEST(Diff, HostileLinesAndNamesAreVisible) {
  const auto diff = diff_of(make_change("a\x1b[2J", "x\n", "a\x1b[2J", "\x1b]0;t\x07y\n"));
  for (auto lines = lay_out(diff, 60); const auto& line : lines)
    EXPECT_EQ(plain(line).find('\x1b'), std::string::npos);
  EXPECT_EQ(plain(title_of(diff)).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace reef::render
