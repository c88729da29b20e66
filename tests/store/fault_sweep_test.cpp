// The engine on a disk that fails: the same workload, once per system call and kind of failure.
// After each, memory and disk agree, nothing acknowledged is lost, and the next append works.
#include <cerrno>
#include <set>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "session/session.h"
#include "store/fs/fs_journal.h"
#include "store/fs/fs_transcripts.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

using namespace session;

Draft say(const std::string& text) {
  UserMessage message;
  message.content.push_back(TextBlock{text});
  return draft_message(message);
}

std::vector<std::string> words_of(const Context& context) {
  std::vector<std::string> out;
  for (const auto& message : for_model(context)) out.push_back(text_of(*message));
  return out;
}

// One home with one engine, and a record of what was acknowledged.
struct Bench {
  Bench() { ::mkdir((folder / "sessions").c_str(), 0700); }
  ~Bench() {
    files.heal();
    test::run(io, sessions.stop());
  }

  void create(const std::string& words) {
    Sessions::New request{*Key::of_pair("reef", "user"), "reef", "user", "", {}};
    request.drafts.push_back(say(words));
    const auto made = test::run(io, sessions.create(std::move(request)));
    if (made) acknowledged.insert(words);
  }
  std::optional<SessionId> current() { return sessions.current(*Key::of_pair("reef", "user")); }
  void append(const std::string& words) {
    const auto id = current();
    if (!id) return create(words);
    const auto session = test::run(io, sessions.open(*id));
    if (session && test::run(io, (*session)->append(say(words)))) acknowledged.insert(words);
  }
  // Appends two messages at once: one must never be there without the other.
  void append_pair(const std::string& first, const std::string& second) {
    pairs.emplace_back(first, second);
    const auto id = current();
    if (!id) return;
    const auto session = test::run(io, sessions.open(*id));
    if (session && test::run(io, (*session)->append({say(first), say(second)})))
      acknowledged.insert({first, second});
  }
  void flag(bool on) {
    // A failed change may still have taken effect when not even the undo was possible.
    flagged.reset();
    if (const auto id = current())
      if (test::run(io, sessions.patch(*id, {{"isFlagged", on}}))) flagged = on;
  }
  void workload() {
    create("one");
    append("two");
    flag(true);
    append_pair("both", "or none");
    append("three");
    if (const auto id = current()) test::run(io, sessions.fork(*id, std::nullopt)).ok();
    append("four");
    flag(false);
    append("five");
  }

  test::TempDir folder;
  boost::asio::io_context io{1};
  test::FaultyFiles files;
  Pool pool{1};
  FsTranscripts store{files, pool, folder.path()};
  FsJournal catalog{files, pool, catalog_of(folder.path()), FsJournal::Durable::no};
  SystemClock clock;
  SeededRandom random{7};
  Sessions sessions{io.get_executor(), store, catalog, clock, random};
  std::set<std::string> acknowledged;
  std::vector<std::pair<std::string, std::string>> pairs;
  std::optional<bool> flagged;
};

void expect_sound(Bench& bench, const std::string& what) {
  bench.files.heal();
  // The next append works.
  bench.append("after");
  ASSERT_TRUE(bench.acknowledged.contains("after")) << what;
  const auto id = bench.current();
  ASSERT_TRUE(id) << what;

  // Memory and disk agree, byte for byte of what they say.
  const auto session = test::value_of(test::run(bench.io, bench.sessions.open(*id)));
  const auto bytes = test::read_file(bench.store.file(*id));
  const Transcript transcript(read_transcript(bytes));
  EXPECT_TRUE(transcript.damage().empty()) << what << ": " << transcript.damage().at(0).what;
  EXPECT_EQ(words_of(session->context()), words_of(build_context(transcript.branch()))) << what;
  EXPECT_EQ(session->bytes(), bytes.size()) << what;
  // A line that could not be undone enters the catalog row a little later.
  const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
  while (bench.sessions.find(*id)->bytes != bytes.size() &&
         std::chrono::steady_clock::now() < deadline)
    bench.io.run_one_for(std::chrono::milliseconds(10));
  const auto row = make_row(*id, bytes);
  EXPECT_EQ(json::write(to_json(*bench.sessions.find(*id))), json::write(to_json(row))) << what;
  if (bench.flagged) {
    EXPECT_EQ(row.flag("isFlagged"), *bench.flagged) << what;
  }

  // Nothing acknowledged is lost, and a restart finds the same.
  std::set<std::string> on_disk;
  for (const auto& text : words_of(build_context(transcript.branch()))) on_disk.insert(text);
  for (const auto& text : bench.acknowledged)
    EXPECT_TRUE(on_disk.contains(text)) << what << ": lost " << text;
  for (const auto& [first, second] : bench.pairs)
    EXPECT_EQ(on_disk.contains(first), on_disk.contains(second)) << what << ": half a pair";
  Sessions after(bench.io.get_executor(), bench.store, bench.catalog, bench.clock, bench.random);
  ASSERT_TRUE(test::run(bench.io, after.load()));
  EXPECT_EQ(after.current(*Key::of_pair("reef", "user")), *id) << what;
  test::run(bench.io, after.stop());
}

int calls_of_workload() {
  Bench bench;
  bench.workload();
  EXPECT_EQ(bench.acknowledged.size(), 7U);
  return bench.files.calls();
}

TEST(FaultSweep, EverySystemCallMayFailOnce) {
  const int calls = calls_of_workload();
  ASSERT_GT(calls, 40);
  for (const int fault : {ENOSPC, EIO, EINTR}) {
    for (int nth = 1; nth <= calls; ++nth) {
      Bench bench;
      bench.files.fail_at(nth, fault);
      bench.workload();
      EXPECT_TRUE(bench.files.hit()) << nth;
      expect_sound(bench, fmt::format("call {} fails with errno {}", nth, fault));
      if (HasFailure()) return;
    }
  }
}

TEST(FaultSweep, EveryWriteMayBeCutShort) {
  const int calls = calls_of_workload();
  for (int nth = 1; nth <= calls; ++nth) {
    Bench bench;
    bench.files.cut_write_at(nth);
    bench.workload();
    EXPECT_EQ(bench.acknowledged.size(), 7U) << "a short write is no failure";
    expect_sound(bench, fmt::format("call {} writes half", nth));
    if (HasFailure()) return;
  }
}

// The disk fills up and stays full; then there is room again.
TEST(FaultSweep, TheDiskMayStayFull) {
  const int calls = calls_of_workload();
  for (int nth = 1; nth <= calls; ++nth) {
    Bench bench;
    bench.files.fail_at(nth, ENOSPC, true);
    bench.workload();
    expect_sound(bench, fmt::format("everything from call {} on fails", nth));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace reef::store
