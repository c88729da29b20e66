// The index on disks that fail and on damaged files.
#include <cerrno>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "search/search.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::search {
namespace {

using reef::test::FaultyFiles;
using reef::test::read_file;
using reef::test::TempDir;
using reef::test::value_of;
using reef::test::write_file;

IndexOptions options() {
  return {.weights = {1, 2}, .merge_segments = 2};
}

std::string word_of(std::uint64_t key) {
  return fmt::format("unique{}word", key);
}

void add(Index& index, std::uint64_t key) {
  const auto group = index.group(fmt::format("g{}", key % 3));
  const auto text = word_of(key) + " shared words painted";
  const FieldText fields[] = {{0, text}, {1, "title"}};
  index.add({.group = group, .key = key, .time_ms = 5},
            std::span(fields).first(key % 2 == 0 ? 2 : 1));
  index.set_covered(group, key);
}

std::vector<Hit> find(Index& index, std::string_view text) {
  return index.prepare(parse_query(text)).best({}, 100);
}

// Runs a job to its end, also when a step fails.
Status run(Index& index, std::optional<Job> job) {
  if (!job) return Ok{};
  for (;;) {
    auto done = job->step();
    if (!done) {
      static_cast<void>(index.finish(*std::move(job)).ok());
      return std::move(done).error();
    }
    if (*done) return index.finish(*std::move(job));
  }
}

constexpr std::uint64_t kDocuments = 9;

// Adds, flushes and merges; stops at the first failure.
Status workload(Index& index) {
  for (std::uint64_t key = 1; key <= kDocuments; ++key) {
    add(index, key);
    if (key % 4 == 0) REEF_CHECK(run(index, index.begin_flush()));
    if (key % 8 == 0) REEF_CHECK(run(index, index.begin_merge()));
  }
  return index.flush();
}

// Every document up to the covered key must be there once, and none after it.
void expect_consistent(Index& index) {
  for (std::uint64_t key = 1; key <= kDocuments; ++key) {
    const auto group = index.find_group(fmt::format("g{}", key % 3));
    const auto hits = find(index, word_of(key));
    ASSERT_EQ(hits.size(), group && key <= index.covered(*group) ? 1U : 0U) << key;
  }
}

TEST(IndexFaults, ACrashAtAnyCallLeavesAValidIndex) {
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(fmt::format("call {}", nth));
    TempDir dir;
    FaultyFiles files;
    files.fail_at(nth, EIO, true);
    {
      auto opened = Index::open(files, dir.path(), options());
      if (opened) static_cast<void>(workload(*opened->index).ok());
    }
    const bool hit = files.hit();
    files.heal();
    auto opened = value_of(Index::open(files, dir.path(), options()));
    EXPECT_TRUE(opened.problems.empty());
    expect_consistent(*opened.index);
    if (testing::Test::HasFatalFailure()) return;
    // The missing documents can be added.
    for (std::uint64_t key = 1; key <= kDocuments; ++key) {
      const auto group = opened.index->find_group(fmt::format("g{}", key % 3));
      if (!group || key > opened.index->covered(*group)) add(*opened.index, key);
    }
    ASSERT_TRUE(opened.index->flush().ok());
    opened = value_of(Index::open(files, dir.path(), options()));
    ASSERT_EQ(find(*opened.index, "shared").size(), kDocuments);
    if (!hit) break;
    ASSERT_LT(nth, 1000);
  }
}

TEST(IndexFaults, AFailedFlushKeepsEverythingSearchableAndTheNextOneWorks) {
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(fmt::format("call {}", nth));
    TempDir dir;
    FaultyFiles files;
    auto index = value_of(Index::open(files, dir.path(), options())).index;
    files.fail_at(nth, ENOSPC);
    Status last = Ok{};
    for (std::uint64_t key = 1; key <= kDocuments; ++key) {
      add(*index, key);
      if (key % 4 == 0) last = run(*index, index->begin_flush());
      if (key % 8 == 0) last = run(*index, index->begin_merge());
      ASSERT_EQ(find(*index, "shared").size(), key);
    }
    const bool hit = files.hit();
    files.heal();
    ASSERT_TRUE(index->flush().ok());
    index = value_of(Index::open(files, dir.path(), options())).index;
    ASSERT_EQ(find(*index, "shared").size(), kDocuments);
    expect_consistent(*index);
    if (!hit) break;
    ASSERT_LT(nth, 1000);
  }
}

TEST(IndexFaults, ShortWritesAreCompleted) {
  for (int nth = 1; nth < 30; ++nth) {
    TempDir dir;
    FaultyFiles files;
    auto index = value_of(Index::open(files, dir.path(), options())).index;
    files.cut_write_at(nth);
    ASSERT_TRUE(workload(*index).ok());
    files.heal();
    index = value_of(Index::open(files, dir.path(), options())).index;
    expect_consistent(*index);
  }
}

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    auto index = value_of(Index::open(files_, dir_.path(), options())).index;
    for (std::uint64_t key = 1; key <= kDocuments; ++key) {
      add(*index, key);
      if (key % 5 == 0) ASSERT_TRUE(index->flush().ok());
    }
    ASSERT_TRUE(index->flush().ok());
    for (const auto& name : value_of(files_.list(dir_.path())))
      names_.emplace_back(name, read_file(dir_ / name));
  }

  // Opens and searches: every hit must be right, and every loss must be reported.
  void expect_honest() {
    auto opened = Index::open(files_, dir_.path(), options());
    ASSERT_TRUE(opened.ok()) << opened.error().what;
    auto& index = *opened->index;
    std::size_t found = 0;
    for (const auto* query : {"shared", "paint", "uni*", "\"shared words\"", "title -unique3word"})
      for (const auto& hit : find(index, query)) {
        ASSERT_GE(hit.row.key, 1U);
        ASSERT_LE(hit.row.key, kDocuments);
        ASSERT_EQ(index.group_name(hit.row.group), fmt::format("g{}", hit.row.key % 3));
      }
    const bool was_damaged = index.damaged();
    const auto lost = index.drop_damaged();
    ASSERT_EQ(was_damaged, !lost.empty());
    for (const auto& name : lost) ASSERT_FALSE(index.find_group(name));
    for (std::uint64_t key = 1; key <= kDocuments; ++key) found += find(index, word_of(key)).size();
    if (found < kDocuments && !index.damaged())
      ASSERT_TRUE(!lost.empty() || !opened->problems.empty() || index.groups().empty());
    // A merge over a damaged file must not spread it.
    static_cast<void>(run(index, index.begin_merge()).ok());
    ASSERT_TRUE(index.flush().ok());
  }

  void restore() {
    for (const auto& name : value_of(files_.list(dir_.path())))
      ASSERT_TRUE(files_.remove(dir_ / name).ok());
    for (const auto& [name, bytes] : names_) write_file(dir_ / name, bytes);
  }

  TempDir dir_;
  PosixFiles files_;
  std::vector<std::pair<std::string, std::string>> names_;
};

TEST_F(Damage, AChangedByteIsNoticedOrHarmless) {
  for (const auto& [name, bytes] : names_) {
    for (std::size_t at = 0; at < bytes.size(); at += name == "manifest" ? 1 : 5) {
      SCOPED_TRACE(fmt::format("{} at {}", name, at));
      restore();
      auto changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 0x55);
      write_file(dir_ / name, changed);
      expect_honest();
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Damage, ACutOrMissingFileIsNoticed) {
  for (const auto& [name, bytes] : names_) {
    for (std::size_t size = 0; size < bytes.size(); size += 97) {
      SCOPED_TRACE(fmt::format("{} cut to {}", name, size));
      restore();
      write_file(dir_ / name, bytes.substr(0, size));
      expect_honest();
      if (HasFatalFailure()) return;
    }
    restore();
    ASSERT_TRUE(files_.remove(dir_ / name).ok());
    expect_honest();
  }
}

TEST_F(Damage, AFileInThePlaceOfTheDirectoryIsPutAside) {
  const auto path = dir_ / "nested";
  write_file(path, "not an index");
  auto opened = value_of(Index::open(files_, path, options()));
  EXPECT_EQ(opened.problems.size(), 1U);
  EXPECT_EQ(read_file(path + ".damaged"), "not an index");
  add(*opened.index, 1);
  EXPECT_TRUE(opened.index->flush().ok());
}

TEST_F(Damage, AnIndexOfAnotherVersionIsReplaced) {
  auto bytes = names_[0].first == "manifest" ? names_[0].second : read_file(dir_ / "manifest");
  bytes[7] = '9';
  write_file(dir_ / "manifest", bytes);
  auto opened = value_of(Index::open(files_, dir_.path(), options()));
  EXPECT_EQ(opened.problems.size(), 1U);
  EXPECT_TRUE(opened.index->groups().empty());
  EXPECT_TRUE(value_of(files_.list(dir_.path())).empty());
}

}  // namespace
}  // namespace reef::search
