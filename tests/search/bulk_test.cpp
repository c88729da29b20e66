// Many documents taken in at once: found before they are written, through crashes and failures.
#include <algorithm>

#include "search/open_index.h"

namespace reef::search::test {
namespace {

// Begins a bulk with two documents in group "g", covered up to 2.
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

TEST(Bulk, ABulkIsFoundBeforeItIsWritten) {
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

TEST(Bulk, DocumentsAddedBehindABulkDoNotSurviveACrashWithoutIt) {
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

TEST(Bulk, DocumentsAddedBehindABulkAreCoveredOnce) {
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

TEST(Bulk, AFlushThatBeganBeforeABulkTakesNothingFromIt) {
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

TEST(Bulk, GroupsOfABulkThatCannotBeWrittenAreUnknown) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  auto job = begin_bulk(*index);
  add_third(*index);
  run_job(*index, index->begin_flush());
  EXPECT_FALSE(index->finish(std::move(job)).ok()) << "no step of it was done";
  EXPECT_FALSE(index->find_group("g"));
  EXPECT_TRUE(find(*index, "common").empty());
  // The same documents can be taken in again.
  run_job(*index, begin_bulk(*index));
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{1, 2}));
  ASSERT_TRUE(index->flush().ok());
  index = open_index(files, dir.path());
  EXPECT_EQ(keys(find(*index, "common")), (std::vector<std::uint64_t>{1, 2}));
}

TEST(Bulk, AFrozenSegmentKnowsTheSameFormsAndPostings) {
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

TEST(Bulk, AGroupRemovedWhileItsBulkIsWrittenStaysAway) {
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

TEST(Bulk, CoverageOfAFlushSurvivesAFailure) {
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

}  // namespace
}  // namespace reef::search::test
