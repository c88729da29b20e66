#include "skills/front_matter.h"

#include <gtest/gtest.h>

#include "support/run.h"

namespace reef::skills {
namespace {

FrontMatter read(const std::string& fields) {
  return test::value_of(read_front_matter("---\n" + fields + "\n---\nbody\n"));
}
std::string text(const std::string& value) {
  const auto head = read("a: " + value);
  const auto* field = head.find("a");
  return field ? field->text : "(none)";
}
std::string error(const std::string& whole) {
  const auto head = read_front_matter(whole);
  return head ? "(read)" : head.error().what;
}

TEST(FrontMatter, TextsAreReadHoweverTheyAreWritten) {
  EXPECT_EQ(text("plain words"), "plain words");
  EXPECT_EQ(text("plain # and a remark"), "plain");
  EXPECT_EQ(text("C# is#fine"), "C# is#fine");
  EXPECT_EQ(text("'it''s'"), "it's");
  EXPECT_EQ(text(R"("a \"b\" \u00e4\n c" # remark)"), "a \"b\" ä\n c");
  EXPECT_EQ(text("one\n  two\n\n  three"), "one two\nthree");
  EXPECT_EQ(text("\n  below\n  it"), "below it");
  EXPECT_EQ(text("|\n  one\n   two\n\n  three\n"), "one\n two\n\nthree\n");
  EXPECT_EQ(text(">-\n  one\n  two\n\n  three"), "one two\nthree");
  EXPECT_EQ(text("'over\n  lines'"), "over lines");
  EXPECT_EQ(text("~"), "");
  EXPECT_EQ(text(""), "");
}

TEST(FrontMatter, ListsAndPairs) {
  const auto head = read(
      "list:\n  - one # remark\n  - 'two: x'\nleft:\n- a\n- b\nflow: [x, \"y, z\",\n  w]\n"
      "map:\n  k: v\n  'q': \"1\"\ninline: {a: 1, b: 'x'}\nlast: end");
  EXPECT_EQ(head.find("list")->items, (std::vector<std::string>{"one", "two: x"}));
  EXPECT_EQ(head.find("left")->items, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(head.find("flow")->items, (std::vector<std::string>{"x", "y, z", "w"}));
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(head.find("map")->pairs, (Pairs{{"k", "v"}, {"q", "1"}}));
  EXPECT_EQ(head.find("inline")->pairs, (Pairs{{"a", "1"}, {"b", "x"}}));
  EXPECT_EQ(head.find("last")->text, "end");
  EXPECT_TRUE(head.warnings.empty());
  EXPECT_EQ(head.body, "body\n");
}

TEST(FrontMatter, CommonMistakesInYamlAreReadWithAWarning) {
  const auto head = read("a: Use when: the user asks\nb: *bold* words\nc: \"x\" and y\na: again");
  EXPECT_EQ(head.find("a")->text, "Use when: the user asks");
  EXPECT_EQ(head.find("b")->text, "*bold* words");
  EXPECT_EQ(head.find("c")->text, "\"x\" and y");
  ASSERT_EQ(head.warnings.size(), 4U);
  EXPECT_EQ(head.warnings[0], "line 2: 'a' should be in quotes");
  EXPECT_EQ(head.warnings[3], "line 5: 'a' is there twice; the first counts");
}

TEST(FrontMatter, AnUnreadableLineIsNamed) {
  EXPECT_EQ(error(""), "does not begin with a line '---' and its fields");
  EXPECT_EQ(error("# title\n"), "does not begin with a line '---' and its fields");
  EXPECT_EQ(error("---\na: b\n"), "the fields are not closed by a line '---'");
  EXPECT_EQ(error("---\na: b\nwords\n---\n"), "line 3: 'words' is no field");
  EXPECT_EQ(error("---\n\ta: b\n---\n"), "line 2: begins with a tab; YAML indents with spaces");
  EXPECT_EQ(error("---\na: [1, 2\n---\n"), "line 3: 'a' has no ']'");
  EXPECT_EQ(error("---\na: [[1]]\n---\n"), "line 3: 'a' goes deeper than is read");
  EXPECT_EQ(error("---\nm:\n  k: v\n x\n---\n"), "line 4: 'x' is no pair of 'm'");
}

TEST(FrontMatter, WindowsLinesAndAMarkAtTheBeginningAreNothingSpecial) {
  const auto head =
      test::value_of(read_front_matter("\xEF\xBB\xBF---\r\na: b\r\nc: d\r\n---\r\nbody"));
  EXPECT_EQ(head.find("a")->text, "b");
  EXPECT_EQ(head.find("c")->text, "d");
  EXPECT_EQ(head.body, "body");
}

}  // namespace
}  // namespace reef::skills
