#include "memory/ranking.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

namespace reef::memory {
namespace {

Contents numbered(std::vector<Entry> entries) {
  Contents contents;
  for (auto& entry : entries) {
    entry.id = contents.next_id++;
    contents.entries.push_back(std::make_shared<const Entry>(std::move(entry)));
  }
  return contents;
}

std::vector<std::string> names(const std::vector<Hit>& hits) {
  std::vector<std::string> out;
  for (const auto& hit : hits) out.push_back(hit.entry->name);
  return out;
}
using Names = std::vector<std::string>;

TEST(Recall, FindsByContentNameAndAliasAndRanksKindsTogether) {
  const Index index(numbered({{0, 1, Kind::note, "deploy", "the key is in the blue vault", {}},
                              {0, 2, Kind::archive, "week-1", "talked about the vault door", {}},
                              {0, 3, Kind::note, "coffee", "black", {"espresso"}}}),
                    nullptr);
  EXPECT_EQ(names(index.search("Deploy", 5)), Names{"deploy"});
  EXPECT_EQ(names(index.search("ESPRESSO?", 5)), Names{"coffee"});
  EXPECT_EQ(names(index.search("where is the blue vault", 5)), (Names{"deploy", "week-1"}));
  EXPECT_EQ(names(index.search("where is the blue vault", 1)), Names{"deploy"});
  EXPECT_TRUE(index.search("unheard", 5).empty());
  EXPECT_TRUE(index.search("", 5).empty());
  EXPECT_TRUE(index.search("vault", 0).empty());
}

TEST(Recall, EqualScoresAreInAFixedOrderYoungestFirst) {
  const Index index(numbered({{0, 5, Kind::note, "a", "same", {}},
                              {0, 9, Kind::note, "b", "same", {}},
                              {0, 5, Kind::note, "c", "same", {}}}),
                    nullptr);
  EXPECT_EQ(names(index.search("same", 5)), (Names{"b", "c", "a"}));
}

TEST(Recall, WordsAreThoseOfSessionSearch) {
  const Index index(
      numbered({{0, 1, Kind::note, "café", "they were painting src/io/parse_config.cpp", {}},
                {0, 2, Kind::note, "city", "東京都に住む", {}}}),
      nullptr);
  for (const auto* query :
       {"CAFE", "painted", "config", "parse_config.cpp", "src/io/parse_config.cpp"})
    EXPECT_EQ(names(index.search(query, 5)), Names{"café"}) << query;
  EXPECT_EQ(names(index.search("京都", 5)), Names{"city"});
  // Stop words find nothing when other words stand beside them, but they do when they are alone.
  EXPECT_TRUE(index.search("what were the unheard", 5).empty());
  EXPECT_EQ(names(index.search("they were", 5)), Names{"café"});
}

TEST(Recall, ALongTextIsFoundToItsEnd) {
  Entry entry{0, 1, Kind::archive, "long", "", {}};
  for (int i = 0; i < 200'000; ++i) entry.content += "a ";
  entry.content += "needle";
  const Index index(numbered({entry}), nullptr);
  EXPECT_EQ(names(index.search("needle", 5)), Names{"long"});
}

TEST(Recall, AnEmptyMemoryHasNoHits) {
  EXPECT_TRUE(Index(Contents{}, nullptr).search("anything", 5).empty());
}

// The scores are compared with the plain formula.
TEST(Recall, ScoresAreThoseOfBm25) {
  SeededRandom random(3);
  const Names words{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf"};
  std::vector<Entry> entries;
  std::vector<Names> bags;
  for (int i = 0; i < 60; ++i) {
    Names bag;
    for (std::uint64_t n = random.next() % 20; n > 0; --n)
      bag.push_back(words[random.next() % words.size()]);
    Entry entry{0, 1, Kind::note, "xq", "", {}};
    entry.name += {char('a' + i / 26), char('a' + i % 26)};
    for (const auto& word : bag) entry.content += word + " ";
    bag.push_back(entry.name);
    entries.push_back(std::move(entry));
    bags.push_back(std::move(bag));
  }
  const Index index(numbered(entries), nullptr);
  double average = 0;
  for (const auto& bag : bags) average += double(bag.size()) / double(bags.size());
  for (const Names& query :
       {Names{"alpha"}, Names{"bravo", "golf"}, Names{"echo", "xqah", "delta"}}) {
    std::string text;
    std::map<std::string, double> expected;
    for (const auto& word : query) {
      text += word + " " + word + " ";
      double having = 0;
      for (const auto& bag : bags) having += std::count(bag.begin(), bag.end(), word) > 0 ? 1 : 0;
      const double idf = std::log(1 + (60 - having + 0.5) / (having + 0.5));
      for (const auto& bag : bags) {
        const auto tf = double(std::count(bag.begin(), bag.end(), word));
        const double score =
            idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * double(bag.size()) / average));
        if (tf > 0) expected[bag.back()] += score;
      }
    }
    const auto hits = index.search(text, 100);
    ASSERT_EQ(hits.size(), expected.size());
    for (std::size_t i = 0; i < hits.size(); ++i) {
      EXPECT_NEAR(hits[i].score, expected.at(hits[i].entry->name), 1e-9);
      if (i > 0) EXPECT_GE(hits[i - 1].score, hits[i].score);
    }
  }
}

TEST(Recall, AnIndexMadeFromAnotherIsTheSame) {
  auto contents =
      numbered({{0, 1, Kind::note, "a", "one two", {}}, {0, 2, Kind::note, "b", "two three", {}}});
  const Index before(contents, nullptr);
  contents.entries.erase(contents.entries.begin());
  contents.entries.push_back(
      std::make_shared<const Entry>(Entry{3, 3, Kind::note, "c", "two two", {}}));
  const auto fast = Index(contents, &before).search("two three", 5);
  const auto slow = Index(contents, nullptr).search("two three", 5);
  ASSERT_EQ(names(fast), names(slow));
  for (std::size_t i = 0; i < fast.size(); ++i) EXPECT_EQ(fast[i].score, slow[i].score);
}

}  // namespace
}  // namespace reef::memory
