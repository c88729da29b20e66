// The index against a slow reference, through adds, deletes, flushes, merges and reopening.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "search/open_index.h"
#include "search/reference.h"

namespace reef::search::test {
namespace {

std::uint64_t seed() {
  const char* given = std::getenv("REEF_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

class Randomised {
 public:
  // In segments of at least `rough_documents` documents, common words are scored roughly first.
  Randomised(std::uint64_t from, std::uint32_t memory_documents, std::uint32_t rough_documents)
      : corpus_(from), reference_(kWeights) {
    options_.rough_documents_min = rough_documents;
    options_.weights = kWeights;
    options_.memory_documents_max = memory_documents;
    options_.merge_segments = 3;
    index_ = open_index(files_, dir_.path(), options_);
  }

  void add(std::size_t words_max) {
    const auto name = fmt::format("group {}", corpus_.random().below(12));
    const auto group = index_->group(name);
    say(group, words_max, [&](const auto& row, const auto& fields) { index_->add(row, fields); });
    index_->set_covered(group, last_key_);
    if (index_->wants_flush()) run_job(*index_, index_->begin_flush());
  }

  // Takes in a bulk, with searches and additions while it is written down.
  void take_in_bulk() {
    Bulk bulk;
    std::vector<Index::BulkGroup> groups;
    for (int g = 0; g < 3; ++g) {
      const auto group = index_->group(fmt::format("group {}", 100 + ++bulk_groups_));
      for (int i = 0; i < 15; ++i)
        say(group, 20, [&](const auto& row, const auto& fields) { bulk.add(row, fields); });
      groups.push_back({group, last_key_});
    }
    bulk.freeze();
    auto job = index_->begin_bulk(bulk, groups);
    compare(2);
    for (int i = 0; i < 10; ++i) add(20);
    if (corpus_.random().below(2) == 0) run_job(*index_, index_->begin_flush());
    remove_some();
    compare(2);
    run_job(*index_, std::move(job));
  }

  template <class Add>
  void say(std::uint32_t group, std::size_t words_max, const Add& to) {
    auto& random = corpus_.random();
    StoredText text;
    text.row = {.group = group,
                .key = ++last_key_,
                .time_ms = static_cast<std::int64_t>(random.below(1000)) - 100,
                .facets = static_cast<std::uint32_t>(random.below(4))};
    const auto count = random.below(10) == 0 ? 1 + random.below(3) : 1;
    std::uint8_t field = static_cast<std::uint8_t>(random.below(3));
    std::vector<FieldText> fields;
    for (std::uint64_t i = 0; i < count; ++i)
      text.fields.emplace_back(field++, corpus_.text(words_max));
    for (const auto& [number, words] : text.fields) fields.push_back({number, words});
    to(text.row, fields);
    reference_.add(std::move(text));
  }

  void flush() { ASSERT_TRUE(index_->flush().ok()); }
  void merge() { run_job(*index_, index_->begin_merge(corpus_.random().below(2) == 0)); }
  void reopen() {
    flush();
    index_.reset();
    index_ = open_index(files_, dir_.path(), options_);
  }
  void remove_some() {
    auto& random = corpus_.random();
    for (int i = 0; i < 5 && last_key_ > 0; ++i) {
      const auto key = 1 + random.below(last_key_);
      for (const auto group : index_->groups()) index_->remove(group, key);
    }
    if (random.below(4) == 0 && !index_->groups().empty())
      index_->remove_group(index_->groups()[random.below(index_->groups().size())]);
  }

  void compare(int queries) {
    reference_.set_stored(*index_);
    for (int i = 0; i < queries; ++i) compare_one(corpus_.query());
  }

  void compare_one(const std::string& text) {
    SCOPED_TRACE(fmt::format("query '{}', {} documents in {} files", text, index_->documents(),
                             index_->file_count()));
    auto& random = corpus_.random();
    const auto query = parse_query(text);
    Filter filter;
    GroupSet groups;
    if (random.below(3) == 0) {
      for (const auto group : index_->groups())
        if (random.below(3) == 0) groups.add(group);
      filter.groups = &groups;
    }
    if (random.below(4) == 0) filter.time_from_ms = static_cast<std::int64_t>(random.below(900));
    if (random.below(4) == 0)
      filter.accept = [](const DocumentRow& row) { return row.facets != 2; };
    const std::size_t limit = 1 + random.below(30);
    const auto expected = reference_.search(query, filter);
    auto searcher = index_->prepare(query);
    auto hits = searcher.best(filter, limit);
    ASSERT_EQ(hits.size(), std::min(limit, expected.size()));
    std::map<std::uint64_t, double> scores;
    for (const auto& one : expected) scores[one.row.key] = one.score;
    for (std::size_t i = 0; i < hits.size(); ++i) {
      const auto near = 1e-5 * std::max(1.0, expected[i].score);
      ASSERT_NEAR(static_cast<double>(hits[i].score), expected[i].score, near) << i;
      ASSERT_TRUE(scores.contains(hits[i].row.key));
      ASSERT_NEAR(static_cast<double>(hits[i].score), scores[hits[i].row.key], near) << i;
      if (i > 0) ASSERT_TRUE(better(hits[i - 1], hits[i]));
    }
    auto in_place = searcher.best_in_place(filter, limit);
    for (std::size_t i = 1; i < in_place.size(); ++i)
      ASSERT_LT(std::pair(in_place[i - 1].unit, in_place[i - 1].document),
                std::pair(in_place[i].unit, in_place[i].document));
    std::sort(in_place.begin(), in_place.end(), better);
    ASSERT_EQ(keys(in_place), keys(hits));
    // Scoring the documents one by one must give the same.
    auto again = hits;
    searcher.score(again);
    for (std::size_t i = 0; i < hits.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(again[i].score), static_cast<double>(hits[i].score), 1e-5);
      ASSERT_EQ(again[i].matched, hits[i].matched);
    }
    // A grouped search must give the best hit of each group.
    std::vector<double> best;
    std::set<std::uint32_t> seen;
    for (const auto& one : expected)
      if (seen.insert(one.row.group).second) best.push_back(one.score);
    const auto grouped = searcher.best(filter, limit, true);
    ASSERT_EQ(grouped.size(), std::min(limit, best.size()));
    for (std::size_t i = 0; i < grouped.size(); ++i)
      ASSERT_NEAR(static_cast<double>(grouped[i].score), best[i], 1e-5 * std::max(1.0, best[i]));
  }

  Corpus& corpus() { return corpus_; }
  Index& index() { return *index_; }

 private:
  TempDir dir_;
  PosixFiles files_;
  Corpus corpus_;
  Reference reference_;
  IndexOptions options_;
  std::unique_ptr<Index> index_;
  std::uint64_t last_key_ = 0;
  int bulk_groups_ = 0;
};

TEST(Index, AgreesWithTheReferenceThroughEveryKindOfChange) {
  for (std::uint64_t round = 0; round < 6; ++round) {
    SCOPED_TRACE(fmt::format("REEF_SEED={} round {}", seed(), round));
    Randomised run(seed() * 1000 + round, 80, round % 2 == 0 ? 1 : UINT32_MAX);
    for (int step = 0; step < 25; ++step) {
      for (auto n = run.corpus().random().below(40); n > 0; --n) run.add(25);
      switch (run.corpus().random().below(6)) {
        case 0:
          run.remove_some();
          break;
        case 1:
          run.flush();
          break;
        case 2:
          run.merge();
          break;
        case 3:
          run.reopen();
          break;
        case 4:
          run.take_in_bulk();
          break;
        default:
          break;
      }
      run.compare(4);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Index, AgreesWithTheReferenceOnLongLists) {
  for (const std::uint32_t rough_documents : {1U, UINT32_MAX}) {
    Randomised run(seed() * 7919, 2500, rough_documents);
    for (int i = 0; i < 6000; ++i) run.add(10);
    run.remove_some();
    run.compare(12);
    run.merge();
    run.compare(12);
    // Average lengths change with every document; bounds stored for common words must stay valid.
    for (int i = 0; i < 40; ++i) run.add(40);
    run.compare(12);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Index, DeletesMadeWhileAJobRunsAreKept) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path(), {.weights = kWeights, .merge_segments = 2});
  const auto a = index->group("a");
  const auto b = index->group("b");
  const auto add = [&](std::uint32_t group, std::uint64_t key) {
    const FieldText field{0, "common"};
    index->add({.group = group, .key = key}, {&field, 1});
  };
  add(a, 1);
  add(b, 2);
  auto flush = index->begin_flush();
  add(b, 3);
  index->remove(b, 2);
  EXPECT_EQ(find(*index, "common").size(), 2U);
  run_job(*index, std::move(flush));
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{1, 3}));
  ASSERT_TRUE(index->flush().ok());
  auto merge = index->begin_merge();
  ASSERT_TRUE(merge);
  index->remove_group(a);
  run_job(*index, std::move(merge));
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{3}));
  ASSERT_TRUE(index->flush().ok());
  index = open_index(files, dir.path());
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{3}));
  EXPECT_FALSE(index->find_group("a"));
}

TEST(Index, RemembersHowFarGroupsAreCovered) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  index->set_covered(index->group("empty"), 7);
  ASSERT_TRUE(index->flush().ok());
  index->set_covered(index->group("empty"), 9);
  index->set_covered(index->group("late"), 1);
  index = open_index(files, dir.path());
  ASSERT_TRUE(index->find_group("empty"));
  EXPECT_EQ(index->covered(*index->find_group("empty")), 7U);
  EXPECT_FALSE(index->find_group("late"));
}

TEST(Index, FindsNeighboursAcrossSegmentsInOrder) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  const auto group = index->group("g");
  const auto other = index->group("h");
  for (std::uint64_t key = 1; key <= 9; ++key) {
    const FieldText field{0, key == 5 ? "needle" : "hay"};
    index->add({.group = group, .key = key}, {&field, 1});
    index->add({.group = other, .key = key}, {&field, 1});
    if (key % 2 == 0) ASSERT_TRUE(index->flush().ok());
  }
  index->remove(group, 4);
  auto searcher = index->prepare(parse_query("needle"));
  GroupSet only;
  only.add(group);
  const auto hits = searcher.best({.groups = &only}, 5);
  ASSERT_EQ(hits.size(), 1U);
  EXPECT_EQ(keys(index->neighbours(hits[0], 2, 2)), (std::vector<std::uint64_t>{2, 3, 6, 7}));
  EXPECT_EQ(keys(index->neighbours(hits[0], 0, 9)), (std::vector<std::uint64_t>{6, 7, 8, 9}));
  EXPECT_EQ(keys(index->documents_of(group)), (std::vector<std::uint64_t>{1, 2, 3, 5, 6, 7, 8, 9}));
}

TEST(Index, NeighboursOfHitsAreFoundOnceInAnySegment) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  for (const char* name : {"a", "b", "c"}) {
    const auto group = index->group(name);
    for (std::uint64_t key = 1; key <= 30; ++key) {
      const FieldText field{0, key % 7 < 2 ? "needle" : "hay"};
      index->add({.group = group, .key = key}, {&field, 1});
      // The last group lies in several segments.
      if (name[0] == 'c' && key % 11 == 0) ASSERT_TRUE(index->flush().ok());
    }
    if (name[0] == 'a') ASSERT_TRUE(index->flush().ok());
  }
  index->remove(*index->find_group("a"), 9);
  index->remove(*index->find_group("c"), 9);
  const auto hits = find(*index, "needle", 100);
  ASSERT_GT(hits.size(), 20U);
  for (const std::size_t reach : {1U, 2U, 5U}) {
    std::set<std::pair<std::uint32_t, std::uint64_t>> expected;
    for (const auto& hit : hits)
      for (const auto& one : index->neighbours(hit, reach, reach))
        expected.emplace(one.row.group, one.row.key);
    for (const auto& hit : hits) expected.erase({hit.row.group, hit.row.key});
    std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
    for (const auto& one : index->around(hits, reach))
      found.emplace_back(one.row.group, one.row.key);
    EXPECT_EQ(found, std::vector(expected.begin(), expected.end())) << reach;
  }
}

// When more hits have one score than there is room for, the newest are kept.
TEST(Index, EqualScoresAreDecidedByTime) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  const auto group = index->group("g");
  for (std::uint64_t key = 0; key < 3000; ++key) {
    const FieldText field{0, "same words"};
    index->add(
        {.group = group, .key = key, .time_ms = static_cast<std::int64_t>(key * 7919 % 3001)},
        {&field, 1});
    if (key == 1700) ASSERT_TRUE(index->flush().ok());
  }
  const auto hits = find(*index, "same", 50);
  ASSERT_EQ(hits.size(), 50U);
  std::vector<std::int64_t> times;
  for (std::uint64_t key = 0; key < 3000; ++key)
    times.push_back(static_cast<std::int64_t>(key * 7919 % 3001));
  std::sort(times.rbegin(), times.rend());
  for (std::size_t i = 0; i < hits.size(); ++i) EXPECT_EQ(hits[i].row.time_ms, times[i]) << i;
}

TEST(Index, QuestionsPhrasesAndIdentifiersFindWhatTheyShould) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  const auto group = index->group("g");
  const char* texts[] = {"",
                         "Melanie painted a sunrise last year",
                         "the build failed with E0425 in src/io/bar.cpp",
                         "call fooBar_baz before version 1.2.3",
                         "a quick brown fox",
                         "a brown quick fox",
                         "東京都に住んでいます"};
  for (std::uint64_t key = 1; key < std::size(texts); ++key) {
    const FieldText field{4, texts[key]};
    index->add({.group = group, .key = key}, {&field, 1});
  }
  for (const bool flushed : {false, true}) {
    if (flushed) ASSERT_TRUE(index->flush().ok());
    const auto first = [&](std::string_view text) {
      const auto hits = find(*index, text);
      return hits.empty() ? 0 : hits[0].row.key;
    };
    EXPECT_EQ(first("When did Melanie paint sunrises or unicorns?"), 1U);
    EXPECT_EQ(first("bar.cpp"), 2U);
    EXPECT_EQ(first("e0425"), 2U);
    EXPECT_EQ(first("src/io/bar.cpp"), 2U);
    EXPECT_EQ(first("baz"), 3U);
    EXPECT_EQ(first("FOOBAR_BAZ"), 3U);
    EXPECT_EQ(first("1.2.3"), 3U);
    EXPECT_EQ(first("東京"), 6U);
    EXPECT_EQ(first("住"), 6U);
    EXPECT_EQ(keys(find(*index, "\"quick brown\"")), (std::vector<std::uint64_t>{4}));
    EXPECT_EQ(keys(find(*index, "fox -\"quick brown\"")), (std::vector<std::uint64_t>{5}));
    EXPECT_EQ(keys(find(*index, "+sunrise fox")), (std::vector<std::uint64_t>{1}));
    EXPECT_EQ(keys(find(*index, "sunr*")), (std::vector<std::uint64_t>{1}));
    EXPECT_TRUE(find(*index, "+unicorn fox").empty());
    EXPECT_TRUE(find(*index, "").empty());
  }
}

TEST(Index, PhrasesAndDemandsWorkWithoutSpaces) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  const char* texts[] = {"",
                         "我们在北京大学讨论数据库索引的问题",
                         "北京很大",
                         "검색 엔진을 만들자",
                         "我喜欢看B站的视频",
                         "plan b is better"};
  for (std::uint64_t key = 1; key < std::size(texts); ++key) {
    const FieldText field{4, texts[key]};
    index->add({.group = index->group("g"), .key = key, .time_ms = -std::int64_t(key)},
               {&field, 1});
  }
  for (const bool flushed : {false, true}) {
    if (flushed) ASSERT_TRUE(index->flush().ok());
    const auto all = [&](std::string_view text) {
      auto found = keys(find(*index, text));
      std::sort(found.begin(), found.end());
      return found;
    };
    using Keys = std::vector<std::uint64_t>;
    EXPECT_EQ(all("\"北京\""), (Keys{1, 2}));
    EXPECT_EQ(all("+北京大学"), (Keys{1}));
    EXPECT_EQ(all("\"数据库索引\""), (Keys{1}));
    EXPECT_EQ(all("\"北京数据\""), Keys());
    EXPECT_EQ(all("北京 -数据库"), (Keys{2}));
    EXPECT_EQ(all("+学"), (Keys{1}));
    EXPECT_EQ(all("\"검색 엔진\""), (Keys{3}));
    EXPECT_EQ(all("+B站"), (Keys{4}));
    EXPECT_EQ(all("better -B站"), (Keys{5}));
  }
}

TEST(Index, APrefixThatIsDemandedOrForbiddenMeansAllItsWords) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  const auto group = index->group("g");
  constexpr std::uint64_t kMany = 9000;
  for (std::uint64_t key = 1; key <= kMany; ++key) {
    const auto text = fmt::format("sloth zq{:05}", key);
    const FieldText field{4, text};
    index->add({.group = group, .key = key}, {&field, 1});
  }
  const FieldText plain{4, "sloth alone"}, last{4, "zqzzz last one"};
  index->add({.group = group, .key = kMany + 1}, {&plain, 1});
  index->add({.group = group, .key = kMany + 2}, {&last, 1});
  for (const bool flushed : {false, true}) {
    if (flushed) ASSERT_TRUE(index->flush().ok());
    EXPECT_EQ(find(*index, "+zq*", 2 * kMany).size(), kMany + 1);
    EXPECT_EQ(keys(find(*index, "+zq* +last")), (std::vector<std::uint64_t>{kMany + 2}));
    EXPECT_EQ(keys(find(*index, "+sloth -zq*")), (std::vector<std::uint64_t>{kMany + 1}));
    EXPECT_GT(find(*index, "zq*", 2 * kMany).size(), 8000U);
  }
}

TEST(Index, APrefixOfACompoundIsOfItsLastWord) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  const char* texts[] = {"",
                         "see src/parser/x.cpp",
                         "alpha src of par value",
                         "edit config.yaml",
                         "mail anna.smithson@example.org",
                         "version 3.0.13"};
  for (std::uint64_t key = 1; key < std::size(texts); ++key) {
    const FieldText field{4, texts[key]};
    index->add({.group = index->group("g"), .key = key}, {&field, 1});
  }
  for (const bool flushed : {false, true}) {
    if (flushed) ASSERT_TRUE(index->flush().ok());
    using Keys = std::vector<std::uint64_t>;
    EXPECT_EQ(keys(find(*index, "+src/par*")), (Keys{1}));
    EXPECT_EQ(keys(find(*index, "src -src/par*")), (Keys{2}));
    EXPECT_EQ(keys(find(*index, "+config.ya*")), (Keys{3}));
    EXPECT_EQ(keys(find(*index, "config.ya*")), (Keys{3}));
    EXPECT_EQ(keys(find(*index, "+anna.smithson@exam*")), (Keys{4}));
    EXPECT_EQ(keys(find(*index, "+3.0.1*")), (Keys{5}));
  }
}

TEST(Index, ALongQueryKeepsItsRarestKnownWordsAndAllDemands) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  const auto group = index->group("g");
  const char* texts[] = {"", "the platypus swims", "the wombat digs", "platypus and wombat"};
  for (std::uint64_t key = 1; key < std::size(texts); ++key) {
    const FieldText field{4, texts[key]};
    index->add({.group = group, .key = key, .time_ms = -std::int64_t(key)}, {&field, 1});
  }
  std::string page;
  for (int i = 0; i < 100; ++i) page += fmt::format("unknown{}x ", i);
  EXPECT_EQ(find(*index, page).size(), 0U);
  EXPECT_EQ(find(*index, page + "platypus").size(), 2U);
  EXPECT_EQ(keys(find(*index, page + "platypus -wombat")), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(keys(find(*index, page + "platypus +wombat")), (std::vector<std::uint64_t>{3, 2}));
  // A long list of excluded words must not push out the wanted ones.
  std::string without;
  for (int i = 0; i < 100; ++i) without += fmt::format("-other{}x ", i);
  EXPECT_EQ(find(*index, "platypus " + without).size(), 2U);
  EXPECT_EQ(keys(find(*index, without + " -wombat platypus")), (std::vector<std::uint64_t>{1}));
}

TEST(Index, EverythingFindsAllButExclusionsNewestFirst) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  for (std::uint64_t key = 1; key <= 500; ++key) {
    const FieldText field{4, key % 2 == 0 ? "even" : "odd"};
    index->add({.group = index->group("g" + std::to_string(key % 3)),
                .key = key,
                .time_ms = static_cast<std::int64_t>(key)},
               {&field, 1});
    if (key == 250) ASSERT_TRUE(index->flush().ok());
  }
  Query query;
  query.everything = true;
  EXPECT_EQ(keys(index->prepare(query).best({}, 3)), (std::vector<std::uint64_t>{500, 499, 498}));
  EXPECT_EQ(index->prepare(query).best({}, 1000).size(), 500U);
  query.clauses.push_back({.occur = Clause::Occur::excluded, .forms = false, .terms = {"even"}});
  EXPECT_EQ(keys(index->prepare(query).best({}, 3)), (std::vector<std::uint64_t>{499, 497, 495}));
  EXPECT_EQ(index->prepare(query).best({}, 10, true).size(), 3U);
}

TEST(Index, EveryWordOfAVeryLongTextIsFound) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  const auto group = index->group("g");
  const auto filler = [](std::uint32_t words) {
    std::string out;
    for (std::uint32_t i = 0; i < words; ++i) out += i % 3 == 0 ? "lorem " : "ipsum ";
    return out;
  };
  const auto text = filler(100) + "early bird " + filler(kWordsMax) + "wombat " +
                    filler(2 * kWordsMax) + "src/far/quokka.cpp late worm";
  const FieldText fields[] = {{0, text}, {4, text}};
  index->add({.group = group, .key = 1}, {fields, 1});
  index->add({.group = group, .key = 2}, {fields, 2});
  const FieldText other{0, "lorem only"};
  index->add({.group = group, .key = 3}, {&other, 1});
  for (const bool on_disk : {false, true}) {
    if (on_disk) {
      ASSERT_TRUE(index->flush().ok());
      index = open_index(files, dir.path());
    }
    for (const char* word : {"bird", "wombat", "quokka", "src/far/quokka.cpp", "worm",
                             "+wombat +worm", "\"early bird\""}) {
      auto found = keys(find(*index, word));
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, (std::vector<std::uint64_t>{1, 2})) << word << on_disk;
    }
    EXPECT_EQ(find(*index, "lorem").size(), 3U);
    // Positions are stored for the beginning of a text only.
    EXPECT_TRUE(find(*index, "\"late worm\"").empty());
  }
}

TEST(Index, AThoroughMergeLeavesFewSegmentsAndThenNothingToDo) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path(), {.weights = kWeights, .merge_segments = 100});
  const auto group = index->group("g");
  std::uint64_t key = 0;
  for (const std::uint64_t size : {90U, 4U, 3U, 3U, 1U}) {
    for (std::uint64_t i = 0; i < size; ++i) {
      const FieldText field{0, "word"};
      index->add({.group = group, .key = ++key}, {&field, 1});
    }
    ASSERT_TRUE(index->flush().ok());
  }
  EXPECT_FALSE(index->begin_merge());
  run_job(*index, index->begin_merge(true));
  EXPECT_EQ(index->file_count(), 2U);
  EXPECT_FALSE(index->begin_merge(true));
  EXPECT_EQ(find(*index, "word", 200).size(), 101U);
}

TEST(Index, FilesThatDoNotBelongAreRemovedAndMergesLeaveNone) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path(), {.weights = kWeights, .merge_segments = 2});
  const auto group = index->group("g");
  for (std::uint64_t key = 1; key <= 4; ++key) {
    const FieldText field{0, "word"};
    index->add({.group = group, .key = key}, {&field, 1});
    ASSERT_TRUE(index->flush().ok());
    run_job(*index, index->begin_merge());
  }
  EXPECT_EQ(index->file_count(), 1U);
  reef::test::write_file(dir / "99.seg", "left by a crash");
  index = open_index(files, dir.path());
  EXPECT_EQ(value_of(files.list(dir.path())).size(), 2U);
  EXPECT_EQ(find(*index, "word").size(), 4U);
}

}  // namespace
}  // namespace reef::search::test
