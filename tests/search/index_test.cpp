// The index against a slow reference, through adds, deletes, flushes, merges and reopening.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/pool.h"
#include "base/random.h"
#include "search/reference.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::search::test {
namespace {

using reef::test::TempDir;
using reef::test::value_of;

const std::vector<float> kWeights{3.0F, 2.0F, 1.5F, 1.3F, 1.0F};

std::uint64_t seed() {
  const char* given = std::getenv("REEF_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

std::unique_ptr<Index> open_index(Files& files, const std::string& path,
                                  IndexOptions options = {.weights = kWeights}) {
  auto opened = value_of(Index::open(files, path, std::move(options)));
  EXPECT_TRUE(opened.problems.empty()) << opened.problems[0];
  return std::move(opened.index);
}

void run_job(Index& index, std::optional<Job> job) {
  if (!job) return;
  while (!value_of(job->step())) {
  }
  ASSERT_TRUE(index.finish(*std::move(job)).ok());
}

std::vector<Hit> find(Index& index, std::string_view text, std::size_t limit = 20) {
  const auto query = parse_query(text);
  return index.prepare(query).best({}, limit, 0);
}

std::vector<std::uint64_t> keys(const std::vector<Hit>& hits) {
  std::vector<std::uint64_t> out;
  for (const auto& hit : hits) out.push_back(hit.row.key);
  return out;
}

class Corpus {
 public:
  explicit Corpus(std::uint64_t from) : random_(from) {
    for (const char* stem : {"paint", "walk", "test", "file", "index", "merge", "sing", "cach"})
      for (const char* end : {"", "s", "ed", "ing", "er", "e"})
        words_.push_back(std::string(stem) + end);
    for (int i = 0; i < 60; ++i) words_.push_back(fmt::format("w{}x", i));
    for (const char* odd : {"fooBar_baz", "src/io/bar.cpp", "1.2.3", "東京都", "the", "of", "E0425",
                            "café", "don't", "std::vector"})
      words_.emplace_back(odd);
  }

  SeededRandom& random() { return random_; }

  // Low numbers are frequent.
  const std::string& word() {
    const auto n = random_.below(words_.size());
    return words_[random_.below(n + 1)];
  }

  std::string text(std::size_t words_max) {
    std::string out;
    for (auto n = 1 + random_.below(words_max); n > 0; --n) out += word() + " ";
    return out;
  }

  std::string query() {
    std::string out;
    for (auto n = 1 + random_.below(4); n > 0; --n) {
      switch (random_.below(12)) {
        case 0:
          out += "+" + word();
          break;
        case 1:
          out += "-" + word();
          break;
        case 2:
          out += "\"" + word() + " " + word() + "\"";
          break;
        case 3:
          out += word().substr(0, 2 + random_.below(3)) + "*";
          break;
        default:
          out += word();
      }
      out += ' ';
    }
    return out;
  }

 private:
  SeededRandom random_;
  std::vector<std::string> words_;
};

class Randomised {
 public:
  Randomised(std::uint64_t from, std::uint32_t memory_documents)
      : corpus_(from), reference_(kWeights) {
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

  // Searched and added to while it is written down.
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
    auto hits = searcher.best(filter, limit, 0);
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
    // The same documents asked for one by one.
    auto again = hits;
    searcher.score(again);
    for (std::size_t i = 0; i < hits.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(again[i].score), static_cast<double>(hits[i].score), 1e-5);
      ASSERT_EQ(again[i].matched, hits[i].matched);
    }
    // The best of each group.
    std::vector<double> best;
    std::set<std::uint32_t> seen;
    for (const auto& one : expected)
      if (seen.insert(one.row.group).second) best.push_back(one.score);
    const auto grouped = searcher.best(filter, limit, 1);
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
    Randomised run(seed() * 1000 + round, 80);
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
  Randomised run(seed() * 7919, 2500);
  for (int i = 0; i < 6000; ++i) run.add(10);
  run.remove_some();
  run.compare(12);
  run.merge();
  run.compare(12);
}

TEST(Index, AHelperChangesNothing) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  SeededRandom random(5);
  const std::string common[] = {"alpha", "beta", "gamma", "delta", "rare"};
  for (std::uint64_t key = 0; key < 40'000; ++key) {
    std::string text;
    for (std::size_t n = 0; n < 4; ++n)
      for (auto times = 1 + random.below(3); times > 0 && random.below(8) > 0; --times)
        text += common[n] + " ";
    text += random.below(500) == 0 ? "rare" : "other";
    const FieldText field{static_cast<std::uint8_t>(random.below(3)), text};
    const auto group = index->group(fmt::format("g{}", key / 100));
    index->add({.group = group, .key = key, .time_ms = static_cast<std::int64_t>(key % 50)},
               {&field, 1});
  }
  ASSERT_TRUE(index->flush().ok());
  for (std::uint64_t key = 0; key < 40'000; key += 7)
    index->remove(index->group(fmt::format("g{}", key / 100)), key);
  Pool helping(2);
  // The only thread of this one is busy until the end.
  std::atomic<bool> over = false;
  Pool busy(1);
  busy.post([&over] { over.wait(false); });
  struct End {
    std::atomic<bool>& over;
    ~End() {
      over = true;
      over.notify_all();
    }
  } end{over};
  Filter some;
  some.accept = [](const DocumentRow& row) { return row.time_ms % 3 != 0; };
  for (const char* text :
       {"alpha beta gamma", "alpha beta gamma delta rare", "beta delta alpha -rare",
        "alpha beta delta -gamma", "alpha alpha beta gam*"})
    for (const bool filtered : {false, true})
      for (const std::size_t limit : {1U, 20U, 200U}) {
        SCOPED_TRACE(fmt::format("{} {} {}", text, filtered, limit));
        const auto query = parse_query(text);
        const auto alone = index->prepare(query).best(filtered ? some : Filter(), limit, 0);
        ASSERT_EQ(alone.size(), limit);
        for (auto* pool : {&helping, &busy}) {
          auto searcher = index->prepare(query);
          searcher.use(*pool);
          const auto helped = searcher.best(filtered ? some : Filter(), limit, 0);
          ASSERT_EQ(keys(helped), keys(alone));
          for (std::size_t i = 0; i < limit; ++i) {
            EXPECT_EQ(helped[i].score, alone[i].score);
            EXPECT_EQ(helped[i].matched, alone[i].matched);
          }
        }
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

// Group "g" in a bulk of two documents, covered up to 2.
Job begin_bulk(Index& index) {
  Bulk bulk;
  const auto group = index.group("g");
  for (const std::uint64_t key : {1U, 2U}) {
    const FieldText field{0, "common"};
    bulk.add({.group = group, .key = key}, {&field, 1});
  }
  bulk.freeze();
  const Index::BulkGroup covered{group, 2};
  return index.begin_bulk(bulk, {&covered, 1});
}

void add_third(Index& index) {
  const FieldText field{0, "common"};
  index.add({.group = index.group("g"), .key = 3}, {&field, 1});
  index.set_covered(index.group("g"), 3);
}

TEST(Index, ABulkIsFoundBeforeItIsWritten) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  auto job = begin_bulk(*index);
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(index->covered(index->group("g")), 2U);
  EXPECT_EQ(index->flush().error().code, Errc::busy);
  const auto first = find(*index, "common").front();
  EXPECT_EQ(keys(index->neighbours(first, 4, 4)), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(keys(index->around({&first, 1}, 2)), (std::vector<std::uint64_t>{2}));
  run_job(*index, std::move(job));
  EXPECT_EQ(index->file_count(), 1U);
  index = open_index(files, dir.path());
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(index->covered(index->group("g")), 2U);
}

TEST(Index, WhatWasAddedBehindABulkIsNoPartOfACrashBeforeIt) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  {
    const auto job = begin_bulk(*index);
    add_third(*index);
    run_job(*index, index->begin_flush());
    EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{1, 2, 3}));
  }
  index = open_index(files, dir.path());
  EXPECT_FALSE(index->find_group("g"));
  EXPECT_TRUE(find(*index, "common").empty());
  EXPECT_EQ(index->documents(), 0U);
}

TEST(Index, WhatWasAddedBehindABulkIsCoveredOnce) {
  for (const bool flush_ends_first : {true, false}) {
    TempDir dir;
    PosixFiles files;
    auto index = open_index(files, dir.path());
    auto bulk = begin_bulk(*index);
    add_third(*index);
    auto flush = index->begin_flush();
    run_job(*index, flush_ends_first ? std::move(flush) : std::move(bulk));
    run_job(*index, flush_ends_first ? std::move(bulk) : std::move(flush));
    index = open_index(files, dir.path());
    EXPECT_EQ(index->covered(index->group("g")), 3U);
    EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{1, 2, 3}));
  }
}

TEST(Index, AFlushThatBeganBeforeABulkTakesNothingFromIt) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  index->group("g");
  auto flush = index->begin_flush();
  run_job(*index, begin_bulk(*index));
  run_job(*index, std::move(flush));
  index = open_index(files, dir.path());
  EXPECT_EQ(index->covered(index->group("g")), 2U);
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{1, 2}));
}

TEST(Index, GroupsOfABulkThatCannotBeWrittenAreUnknown) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  auto job = begin_bulk(*index);
  add_third(*index);
  run_job(*index, index->begin_flush());
  EXPECT_FALSE(index->finish(std::move(job)).ok()) << "no step of it was done";
  EXPECT_FALSE(index->find_group("g"));
  EXPECT_TRUE(find(*index, "common").empty());
  // And come again.
  run_job(*index, begin_bulk(*index));
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{1, 2}));
  ASSERT_TRUE(index->flush().ok());
  index = open_index(files, dir.path());
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{1, 2}));
}

TEST(Index, AFrozenSegmentKnowsTheSameFormsAndPostings) {
  MemorySegment live;
  MemorySegment frozen;
  Tokenizer tokenizer;
  Corpus corpus(3);
  const std::string words =
      "die dying died lie lying tie tying go went gone going sky skies ski skis happy happier cry "
      "cries agreed age aging be was were run ran running singly single ugly uglier by buy bought "
      "abate abates eat ate eaten news new child children mouse mice";
  for (std::uint32_t n = 0; n < 200; ++n) {
    const auto text = corpus.text(30) + (n % 7 == 0 ? words : "");
    const FieldText fields[]{{0, text}, {1, "common words of a title"}};
    const auto used = std::span(fields).first(n % 3 == 0 ? 2 : 1);
    for (auto* segment : {&live, &frozen}) segment->add({.key = n}, used, tokenizer);
  }
  frozen.freeze();
  Stemmer stemmer;
  Postings read;
  std::vector<std::uint8_t> scratch;
  for (std::uint32_t id = 0; id < live.term_count(); ++id) {
    const auto term = live.text(id);
    SCOPED_TRACE(std::string(term));
    if (Stemmer::applies(term)) {
      const std::string stem(stemmer.stem(term));
      const auto expected = live.with_stem(stem, stemmer);
      const auto got = frozen.with_stem(stem, stemmer);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), got.begin(), got.end()));
    }
    frozen.read(id, read, scratch);
    MemorySegment::Reader reader(frozen, id);
    std::vector<std::uint32_t> positions;
    std::size_t n = 0;
    for (; reader.next(); ++n) {
      ASSERT_LT(n, read.documents.size());
      EXPECT_EQ(reader.document(), read.documents[n]);
      EXPECT_EQ(reader.payload(), read.payloads[n]);
      reader.take_positions(positions);
      EXPECT_EQ(positions.size(), read.position_ends[n]);
    }
    EXPECT_EQ(n, read.documents.size());
    EXPECT_EQ(positions, read.positions);
  }
}

TEST(Index, AGroupRemovedWhileItsBulkIsWrittenStaysAway) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  auto job = begin_bulk(*index);
  index->remove_group(index->group("g"));
  EXPECT_TRUE(find(*index, "common").empty());
  run_job(*index, std::move(job));
  EXPECT_TRUE(find(*index, "common").empty());
  index = open_index(files, dir.path());
  EXPECT_TRUE(find(*index, "common").empty());
}

TEST(Index, WhatAFlushCoversIsKeptThroughAFailure) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  add_third(*index);
  EXPECT_FALSE(index->finish(*index->begin_flush()).ok()) << "no step of it was done";
  const FieldText field{0, "common"};
  index->add({.group = index->group("g"), .key = 4}, {&field, 1});
  index->set_covered(index->group("g"), 4);
  run_job(*index, index->begin_flush());
  index = open_index(files, dir.path());
  EXPECT_EQ(index->covered(index->group("g")), 3U) << "the fourth is read again";
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{3}));
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
  const auto hits = searcher.best({.groups = &only}, 5, 0);
  ASSERT_EQ(hits.size(), 1U);
  EXPECT_EQ(keys(index->neighbours(hits[0], 2, 2)), (std::vector<std::uint64_t>{2, 3, 6, 7}));
  EXPECT_EQ(keys(index->neighbours(hits[0], 0, 9)), (std::vector<std::uint64_t>{6, 7, 8, 9}));
  EXPECT_EQ(keys(index->documents_of(group)), (std::vector<std::uint64_t>{1, 2, 3, 5, 6, 7, 8, 9}));
}

TEST(Index, WhatStandsAroundHitsIsFoundOnceWhereverItLies) {
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

// More of one score than there is room for: the newest are kept.
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
