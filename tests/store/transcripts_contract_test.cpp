// The promises of session::Transcripts, tested on both implementations.
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/helper.h"
#include "store/store.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

using session::SessionId;

const std::string kLine = R"({"type":"custom","id":"a","parentId":null,"timestamp":"t"})"
                          "\n";

constexpr TimePoint kWhen{std::chrono::milliseconds(1794779830302)};

// The folder must exist before the store does.
struct HomeFolder : test::TempDir {
  HomeFolder() { ::mkdir((*this / "sessions").c_str(), 0700); }
};

struct FsTranscriptsHarness {
  HomeFolder folder;
  PosixFiles files;
  Pool pool{4};
  FsTranscripts store{files, pool, folder.path()};

  void put(const SessionId& id, const std::string& bytes) {
    test::write_file(store.file(id), bytes);
  }
};

struct MemTranscriptsHarness {
  MemTranscripts store;

  void put(const SessionId& id, const std::string& bytes) { store.raw()[id] = bytes; }
};

template <class Harness>
class TranscriptsContract : public testing::Test {
 protected:
  ~TranscriptsContract() override { test::run_ready(io); }

  boost::asio::io_context io{1};
  Harness harness;
  session::Transcripts& store = harness.store;
  SessionId id = *SessionId::parse("261115-swift-river");
};

using TranscriptsHarnesses = testing::Types<FsTranscriptsHarness, MemTranscriptsHarness>;
class TranscriptsHarnessNames {
 public:
  template <class Harness>
  static std::string GetName(int) {
    return std::is_same_v<Harness, FsTranscriptsHarness> ? "Fs" : "Mem";
  }
};
TYPED_TEST_SUITE(TranscriptsContract, TranscriptsHarnesses, TranscriptsHarnessNames);

TYPED_TEST(TranscriptsContract, ACreatedSessionIsListedAndRead) {
  EXPECT_TRUE(test::value_of(test::run(this->io, this->store.list())).empty());
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  const auto all = test::value_of(test::run(this->io, this->store.list()));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id, this->id);
  EXPECT_EQ(all[0].bytes, 2U);
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), "x\n");
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id, 1))), "\n");
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id, 0, 1))), "x");
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id, 7))), "");
}

TYPED_TEST(TranscriptsContract, PiecesAreGivenOneByOne) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "0123456789\n")));
  const auto other = test::value_of(session::SessionId::parse("260101-no-such"));
  std::vector<session::Range> ranges;
  for (std::uint64_t i = 0; i < 12; ++i) ranges.push_back(session::Range{this->id, i, 3});
  ranges.push_back(session::Range{this->id, 2, 1U << 30});
  ranges.push_back(session::Range{other, 0, 3});
  std::vector<std::string> found(ranges.size());
  int meanwhile = 0;
  const auto read = [&](Helper* helper) -> Task<bool> {
    co_await this->store.read_each(
        ranges,
        [&](std::size_t i, const Result<std::string_view>& bytes) {
          found[i] = bytes ? std::string(*bytes) : "error";
        },
        [&] { ++meanwhile; }, helper);
    co_return true;
  };
  Helper helper;
  for (auto* with : {&helper, static_cast<Helper*>(nullptr)}) {
    meanwhile = 0;
    found.assign(ranges.size(), "");
    ASSERT_TRUE(test::run(this->io, read(with)));
    EXPECT_EQ(meanwhile, 1);
    EXPECT_EQ(found[0], "012");
    EXPECT_EQ(found[7], "789");
    EXPECT_EQ(found[9], "9\n");
    EXPECT_EQ(found[11], "");
    EXPECT_EQ(found[12], "23456789\n");
    EXPECT_EQ(found[13], "error");
  }
}

TYPED_TEST(TranscriptsContract, CreateRefusesATakenIdAndChangesNothing) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  const auto again = test::run(this->io, this->store.create(this->id, "y\n"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::conflict);
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), "x\n");
}

TYPED_TEST(TranscriptsContract, AppendsFollowEachOther) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  ASSERT_TRUE(test::run(this->io, this->store.append(this->id, 2, "yy\n")));
  ASSERT_TRUE(test::run(this->io, this->store.append(this->id, 5, "z\n")));
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), "x\nyy\nz\n");
}

TYPED_TEST(TranscriptsContract, AnAppendAtAnotherLengthIsAConflict) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  for (const std::uint64_t at : {0U, 1U, 3U}) {
    const auto moved = test::run(this->io, this->store.append(this->id, at, "y\n"));
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().code, Errc::conflict);
  }
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), "x\n");
}

TYPED_TEST(TranscriptsContract, MissingSessionsAreNotFound) {
  EXPECT_EQ(test::run(this->io, this->store.read(this->id)).error().code, Errc::not_found);
  EXPECT_EQ(test::run(this->io, this->store.open(this->id)).error().code, Errc::not_found);
  EXPECT_EQ(test::run(this->io, this->store.append(this->id, 0, "x\n")).error().code,
            Errc::not_found);
}

TYPED_TEST(TranscriptsContract, OpenCutsATornTailAndReadDoesNot) {
  this->harness.put(this->id, kLine + "{\"type\":\"mess");
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))),
            kLine + "{\"type\":\"mess");
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.open(this->id))).bytes, kLine.size());
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), kLine);
  ASSERT_TRUE(test::run(this->io, this->store.append(this->id, kLine.size(), kLine)));
}

TYPED_TEST(TranscriptsContract, OpenGivesAWholeLastEntryItsNewline) {
  this->harness.put(this->id, kLine + kLine.substr(0, kLine.size() - 1));
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.open(this->id))).bytes,
            2 * kLine.size());
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), kLine + kLine);
}

TYPED_TEST(TranscriptsContract, TrashTakesASessionOutOfTheListAndBack) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  ASSERT_TRUE(test::run(this->io, this->store.trash(this->id, kWhen)));
  EXPECT_TRUE(test::value_of(test::run(this->io, this->store.list())).empty());
  const auto trashed = test::value_of(test::run(this->io, this->store.trashed()));
  ASSERT_EQ(trashed.size(), 1U);
  EXPECT_EQ(trashed[0].id, this->id);
  EXPECT_EQ(trashed[0].since, kWhen);
  EXPECT_EQ(test::run(this->io, this->store.append(this->id, 2, "y\n")).error().code,
            Errc::not_found);
  ASSERT_TRUE(test::run(this->io, this->store.restore(this->id)));
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), "x\n");
  EXPECT_EQ(test::run(this->io, this->store.restore(this->id)).error().code, Errc::not_found);
}

TYPED_TEST(TranscriptsContract, PurgeRemovesForGood) {
  using Place = session::Transcripts::Place;
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  EXPECT_EQ(test::run(this->io, this->store.purge(this->id)).error().code, Errc::not_found);
  EXPECT_EQ(test::run(this->io, this->store.measure({this->id}, Place::sessions)),
            std::vector<std::uint64_t>{2});
  EXPECT_EQ(test::run(this->io, this->store.measure({this->id}, Place::trash)),
            std::vector<std::uint64_t>{0});
  ASSERT_TRUE(test::run(this->io, this->store.trash(this->id, kWhen)));
  EXPECT_GE(test::run(this->io, this->store.measure({this->id}, Place::trash)).at(0), 2U);
  ASSERT_TRUE(test::run(this->io, this->store.purge(this->id)));
  EXPECT_TRUE(test::value_of(test::run(this->io, this->store.trashed())).empty());
  EXPECT_EQ(test::run(this->io, this->store.restore(this->id)).error().code, Errc::not_found);
  EXPECT_EQ(test::run(this->io, this->store.purge(this->id)).error().code, Errc::not_found);
}

TYPED_TEST(TranscriptsContract, RewriteReplacesOnlyTheBytesItHasSeen) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  EXPECT_EQ(test::run(this->io, this->store.rewrite(this->id, 5, "y\n", "old")).error().code,
            Errc::conflict);
  ASSERT_TRUE(test::run(this->io, this->store.rewrite(this->id, 2, "yy\n", "old")));
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), "yy\n");
}

TYPED_TEST(TranscriptsContract, RefreshContinuesARowAndMendsTheEnd) {
  const std::string header =
      R"({"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":""})"
      "\n";
  const std::string entry =
      R"({"type":"message","id":"a","parentId":null,"timestamp":)"
      R"("2026-01-02T03:04:06.000Z","message":{"role":"user","content":"hi"}})"
      "\n";
  this->harness.put(this->id, header + entry);
  std::vector<session::Refresh> requests(1, session::Refresh{this->id, std::nullopt});
  auto rows = test::run(this->io, this->store.refresh(requests));
  ASSERT_TRUE(rows.at(0));
  EXPECT_EQ(rows[0]->message_count, 1U);
  EXPECT_EQ(rows[0]->preview, "hi");
  // The file has grown by a whole line and a torn one.
  this->harness.put(this->id, header + entry + entry + "{\"torn");
  requests[0].known = *rows[0];
  rows = test::run(this->io, this->store.refresh(requests));
  ASSERT_TRUE(rows.at(0));
  EXPECT_EQ(rows[0]->message_count, 2U);
  EXPECT_EQ(rows[0]->bytes, header.size() + 2 * entry.size());
}

}  // namespace
}  // namespace reef::store
