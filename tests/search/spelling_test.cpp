#include "search/spelling.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "search/index.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::search {
namespace {

TEST(Spelling, MistakesAreCounted) {
  EXPECT_EQ(mistakes_between("harbour", "harbour", 2), 0U);
  EXPECT_EQ(mistakes_between("harbour", "harbor", 2), 1U);
  EXPECT_EQ(mistakes_between("harbour", "habrour", 2), 1U) << "swapped";
  EXPECT_EQ(mistakes_between("educaton", "education", 2), 1U);
  EXPECT_EQ(mistakes_between("fesetival", "festival", 2), 1U);
  EXPECT_EQ(mistakes_between("harbour", "labour", 2), 2U);
  EXPECT_EQ(mistakes_between("harbour", "labour", 1), std::nullopt);
  EXPECT_EQ(mistakes_between("abc", "abcdef", 2), std::nullopt);
  EXPECT_EQ(mistakes_between("", "ab", 2), 2U);
  EXPECT_EQ(mistakes_between(std::string(200, 'a'), "a", 2), std::nullopt);
}

TEST(Spelling, WordsOneAfterTheOtherAreComparedLikeEachAlone) {
  std::vector<std::string> words;
  for (const char* start : {"st", "sta", "harb", "hab", "star", ""})
    for (const char* middle : {"", "a", "bo", "our", "boar"})
      for (const char* end : {"", "d", "s", "rds", "ard", "board"})
        words.push_back(std::string(start) + middle + end);
  std::sort(words.begin(), words.end());
  for (const std::string_view word : {"starboard", "harbour", "starbaords", "stars"})
    for (const std::size_t most : {1U, 2U}) {
      Nearness nearness(word, most);
      for (const auto& candidate : words) {
        const auto together = nearness.of(candidate);
        const auto hopeless = nearness.hopeless();
        EXPECT_EQ(together, Nearness(word, most).of(candidate)) << word << " " << candidate;
        if (hopeless == 0) continue;
        for (const auto& other : words)
          if (other.starts_with(std::string_view(candidate).substr(0, hopeless)))
            EXPECT_FALSE(Nearness(word, most).of(other)) << word << " " << other;
      }
    }
}

TEST(Spelling, ShortWordsMustBeRight) {
  EXPECT_EQ(mistakes_allowed("ports"), 0U);
  EXPECT_EQ(mistakes_allowed("planet"), 1U);
  EXPECT_EQ(mistakes_allowed("starboard"), 2U);
}

class MendTest : public testing::Test {
 protected:
  MendTest() : index(test::value_of(Index::open(files, dir.path(), options())).index) {
    const auto group = index->group("g");
    std::uint64_t key = 0;
    for (const auto* text : {"the festival in spring", "festivals", "a fastival once", "harbour"}) {
      const FieldText field{0, text};
      index->add({.group = group, .key = ++key}, {&field, 1});
    }
  }
  static IndexOptions options() {
    IndexOptions out;
    out.weights = {1.0F};
    return out;
  }
  std::string mended(std::string_view text) {
    auto query = parse_query(text);
    static_cast<void>(index->prepare_mended(query));
    std::string out;
    for (const auto& clause : query.clauses) out += clause.terms[0] + " ";
    return out;
  }

  test::TempDir dir;
  PosixFiles files;
  std::unique_ptr<Index> index;
};

TEST_F(MendTest, AnUnknownWordBecomesTheNearestKnownOne) {
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(mended("fesetival harbor"), "festival harbour ");
    EXPECT_EQ(mended("festval"), "festival ");
    EXPECT_EQ(mended("+fesetival"), "fesetival ") << "required words are meant as they are";
    EXPECT_EQ(mended("\"fesetival\""), "fesetival ");
    EXPECT_EQ(mended("festive"), "festive ") << "too far away";
    EXPECT_EQ(mended("festivals spring"), "festivals spring ");
    EXPECT_EQ(mended("harbours"), "harbours ") << "a form of a known word is known";
    EXPECT_EQ(mended("x1y2z3 ö 東京"), mended("x1y2z3 ö 東京"));
    ASSERT_TRUE(index->flush().ok());  // the second round reads from a file
  }
}

}  // namespace
}  // namespace reef::search
