// The promises of session::Transcripts, tested on both implementations.
#include <functional>
#include <map>
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

template <std::size_t watches_max>
struct FsTranscriptsHarness {
  HomeFolder folder;
  PosixFiles files;
  Pool pool{4};
  FsTranscripts store{files, pool, folder.path(), watches_max};

  void put(const SessionId& id, const std::string& bytes) {
    test::write_file(store.file(id), bytes);
  }
  void take_away(const SessionId& id) {
    static_cast<void>(files.remove(store.file(id)).ok());
    static_cast<void>(files.remove(store.folder(id)).ok());
  }
};
using Watched = FsTranscriptsHarness<SIZE_MAX>;
using LookedAtInTurn = FsTranscriptsHarness<0>;
using FewWatches = FsTranscriptsHarness<2>;

struct MemTranscriptsHarness {
  MemTranscripts store;

  void put(const SessionId& id, const std::string& bytes) { store.change_from_outside(id, bytes); }
  void take_away(const SessionId& id) { store.change_from_outside(id, std::nullopt); }
};

template <class Harness>
class TranscriptsContract : public testing::Test {
 public:
  ~TranscriptsContract() override { test::run_ready(io); }

  boost::asio::io_context io{1};
  Harness harness;
  session::Transcripts& store = harness.store;
  SessionId id = *SessionId::parse("261115-swift-river");
};

using TranscriptsHarnesses =
    testing::Types<Watched, LookedAtInTurn, FewWatches, MemTranscriptsHarness>;
class TranscriptsHarnessNames {
 public:
  template <class Harness>
  static std::string GetName(int) {
    if (std::is_same_v<Harness, Watched>) return "Fs";
    if (std::is_same_v<Harness, LookedAtInTurn>) return "FsLookedAtInTurn";
    return std::is_same_v<Harness, FewWatches> ? "FsFewWatches" : "Mem";
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

TYPED_TEST(TranscriptsContract, ATrashedTranscriptCanBeRead) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "0123456789\n")));
  EXPECT_EQ(test::run(this->io, this->store.read_trashed(this->id, 0, 1)).error().code,
            Errc::not_found);
  ASSERT_TRUE(test::run(this->io, this->store.trash(this->id, kWhen)));
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read_trashed(this->id, 2, 3))), "234");
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read_trashed(this->id, 99, 3))), "");
}

TYPED_TEST(TranscriptsContract, ARefreshLeavesALineThatIsBeingWrittenAlone) {
  const std::string header =
      R"({"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":""})"
      "\n";
  const auto refresh = [&] {
    std::vector<session::Refresh> requests;
    requests.push_back({this->id, std::nullopt, session::Refresh::End::leave});
    return test::run(this->io, this->store.refresh(std::move(requests))).at(0);
  };
  for (const std::size_t begun : {0U, 20U}) {
    this->harness.put(this->id, header.substr(0, begun));
    EXPECT_EQ(refresh().error().code, Errc::busy);
  }
  this->harness.put(this->id, header + kLine + "{\"type\":\"mess");
  EXPECT_EQ(test::value_of(refresh()).bytes, header.size() + kLine.size());
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))),
            header + kLine + "{\"type\":\"mess");
}

// What a watch has told: the latest length of each session.
class Told {
 public:
  session::Transcripts::Hear hear() {
    return [this](const session::Heard& heard) {
      if (heard.id) {
        ++times[heard.id->text()];
        lengths[heard.id->text()] = heard.bytes;
      } else {
        ++all;
      }
    };
  }
  bool is(const SessionId& id, std::uint64_t bytes) const {
    const auto found = lengths.find(id.text());
    return found != lengths.end() && found->second == bytes;
  }

  std::map<std::string, std::uint64_t> lengths;
  std::map<std::string, int> times;
  int all = 0;
};

// Runs the loop until it is so; false when patience ran out.
template <class Fixture>
bool comes(Fixture& fixture, const std::function<bool()>& so) {
  const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
  while (!so()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    fixture.io.restart();
    fixture.io.run_one_for(std::chrono::milliseconds(50));
  }
  return true;
}

SessionId named(const std::string& text) {
  return *SessionId::parse(text);
}

TYPED_TEST(TranscriptsContract, AWatchTellsWhatOthersBringAppendAndTakeAway) {
  const auto old = named("261114-old");
  const auto fresh = named("261116-fresh");
  ASSERT_TRUE(test::run(this->io, this->store.create(old, kLine)));
  Told told;
  const auto watch = test::value_of(this->store.watch(this->io.get_executor(), told.hear()));
  EXPECT_TRUE(comes(*this, [&] { return told.is(old, kLine.size()); })) << "what is there";

  this->harness.put(old, kLine + kLine);
  EXPECT_TRUE(comes(*this, [&] { return told.is(old, 2 * kLine.size()); })) << "an append";
  // Again: no change is the last that is noticed.
  this->harness.put(old, kLine + kLine + kLine);
  EXPECT_TRUE(comes(*this, [&] { return told.is(old, 3 * kLine.size()); })) << "another";

  this->harness.put(fresh, kLine);
  EXPECT_TRUE(comes(*this, [&] { return told.is(fresh, kLine.size()); })) << "a new session";
  this->harness.put(fresh, kLine + kLine);
  EXPECT_TRUE(comes(*this, [&] { return told.is(fresh, 2 * kLine.size()); })) << "an append to it";

  this->harness.take_away(fresh);
  EXPECT_TRUE(comes(*this, [&] { return told.is(fresh, 0); })) << "one that went";
  this->harness.put(fresh, kLine);
  EXPECT_TRUE(comes(*this, [&] { return told.is(fresh, kLine.size()); })) << "and came again";
}

TYPED_TEST(TranscriptsContract, AWatchKnowsManySessions) {
  constexpr int kMany = 40;
  std::vector<SessionId> ids;
  for (int i = 0; i < kMany; ++i) {
    ids.push_back(named("261115-s" + std::to_string(i)));
    this->harness.put(ids.back(), kLine);
  }
  Told told;
  const auto watch = test::value_of(this->store.watch(this->io.get_executor(), told.hear()));
  EXPECT_TRUE(comes(*this, [&] { return told.lengths.size() == kMany; }));
  for (int round = 2; round <= 3; ++round) {
    std::string bytes;
    for (int i = 0; i < round; ++i) bytes += kLine;
    for (const auto& id : ids) this->harness.put(id, bytes);
    for (const auto& id : ids)
      EXPECT_TRUE(comes(*this, [&] { return told.is(id, bytes.size()); })) << id.text();
  }
}

TYPED_TEST(TranscriptsContract, AWatchTellsNothingOfAppendsMadeHere) {
  const auto other = named("261116-other");
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  ASSERT_TRUE(test::run(this->io, this->store.create(other, "x\n")));
  Told told;
  const auto watch = test::value_of(this->store.watch(this->io.get_executor(), told.hear()));
  EXPECT_TRUE(comes(*this, [&] { return told.is(this->id, 2) && told.is(other, 2); }));
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(test::run(this->io, this->store.append(this->id, 2U + 2U * unsigned(i), "y\n")));
  // What another program does afterwards is told; by then the own appends were looked at.
  for (int round = 0; round < 2; ++round) {
    const std::string bytes(4 + 2 * static_cast<std::size_t>(round), 'z');
    this->harness.put(other, bytes);
    EXPECT_TRUE(comes(*this, [&] { return told.is(other, bytes.size()); }));
  }
  EXPECT_EQ(told.times.at(this->id.text()), 1) << "when the watch began";
  // An append of others behind them is.
  this->harness.put(this->id, std::string(60, 'w'));
  EXPECT_TRUE(comes(*this, [&] { return told.is(this->id, 60); }));
}

TYPED_TEST(TranscriptsContract, AWatchThatEndedTellsNothing) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  Told first, second;
  auto watch = test::value_of(this->store.watch(this->io.get_executor(), first.hear()));
  EXPECT_TRUE(comes(*this, [&] { return first.is(this->id, 2); }));
  watch.reset();
  watch = test::value_of(this->store.watch(this->io.get_executor(), second.hear()));
  this->harness.put(this->id, "yyy\n");
  EXPECT_TRUE(comes(*this, [&] { return second.is(this->id, 4); }));
  EXPECT_TRUE(first.is(this->id, 2));
  // It may also end while it looks, and in the middle of telling.
  this->harness.put(named("261116-more"), "x\n");
  watch = test::value_of(
      this->store.watch(this->io.get_executor(), [&](const auto&) { watch.reset(); }));
  EXPECT_TRUE(comes(*this, [&] { return !watch; }));
}

}  // namespace
}  // namespace reef::store
