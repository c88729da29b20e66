// The file store on a disk that fails at every system call in turn.
#include "store/fs/fs_transcripts.h"

#include <cerrno>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

constexpr int kFaults[] = {ENOSPC, EIO, EDQUOT, EROFS};

TEST(FsTranscripts, AppendIsUndoneWhicheverCallFails) {
  const test::TempDir folder;
  test::FaultyFiles files;
  const auto file = folder / "session.jsonl";
  test::write_file(file, "one\n");
  const int before = files.calls();
  ASSERT_TRUE(append_transcript(files, file, 4, "two\n"));
  const int calls = files.calls() - before;
  ASSERT_GE(calls, 4) << "open, stat, write, sync";

  std::string expected = "one\ntwo\n";
  for (const int fault : kFaults) {
    for (int nth = 1; nth <= calls; ++nth) {
      files.fail_at(nth, fault);
      const auto done = append_transcript(files, file, expected.size(), "lost\n");
      ASSERT_TRUE(files.hit());
      files.heal();
      ASSERT_FALSE(done) << "call " << nth << " failed and was not noticed";
      EXPECT_NE(done.error().code, Errc::conflict);
      EXPECT_EQ(test::read_file(file), expected) << "call " << nth;
      ASSERT_TRUE(append_transcript(files, file, expected.size(), "next\n"));
      expected += "next\n";
      EXPECT_EQ(test::read_file(file), expected);
    }
  }
}

TEST(FsTranscripts, ShortAndInterruptedWritesAreNoFailures) {
  const test::TempDir folder;
  test::FaultyFiles files;
  const auto file = folder / "session.jsonl";
  test::write_file(file, "");
  files.cut_write_at(3);
  ASSERT_TRUE(append_transcript(files, file, 0, "whole line\n"));
  EXPECT_TRUE(files.hit());
  files.fail_at(3, EINTR);
  ASSERT_TRUE(append_transcript(files, file, 11, "whole line\n"));
  EXPECT_TRUE(files.hit());
  EXPECT_EQ(test::read_file(file), "whole line\nwhole line\n");
}

// The write tears and the disk refuses the undo; the next open repairs the file.
TEST(FsTranscripts, ATearThatCannotBeUndoneIsRepairedByTheNextOpen) {
  const test::TempDir folder;
  test::FaultyFiles files;
  const auto file = folder / "session.jsonl";
  const std::string whole = R"({"type":"custom","id":"a","parentId":null})"
                            "\n";
  test::write_file(file, whole);
  files.cut_write_at(3);
  // The second half of the write and everything after it fail.
  struct Files2 final : Files {
    test::FaultyFiles& real;
    bool broken = false;
    explicit Files2(test::FaultyFiles& r) : real(r) {}
    Result<Fd> open(const std::string& p, Open h) override { return real.open(p, h); }
    Result<std::size_t> write(int fd, std::string_view b) override {
      if (broken) return sys_error(EIO, "write");
      broken = true;
      return real.write(fd, b);
    }
    Result<std::size_t> read(int fd, std::uint64_t o, char* i, std::size_t s) override {
      return real.read(fd, o, i, s);
    }
    Result<Stat> stat(int fd) override { return real.stat(fd); }
    Result<Stat> stat_path(const std::string& p) override { return real.stat_path(p); }
    Status truncate(int, std::uint64_t) override { return sys_error(EIO, "truncate"); }
    Status sync(int) override { return sys_error(EIO, "sync"); }
    Status sync_filesystem(int) override { return sys_error(EIO, "sync"); }
    Status sync_directory(const std::string& p) override { return real.sync_directory(p); }
    Status make_directory(const std::string& p) override { return real.make_directory(p); }
    Status rename(const std::string& a, const std::string& b) override { return real.rename(a, b); }
    Status remove(const std::string& p) override { return real.remove(p); }
    Result<std::vector<std::string>> list(const std::string& d) override { return real.list(d); }
  } broken(files);
  const std::string lost = R"({"type":"custom","id":"b","parentId":"a"})"
                           "\n";
  ASSERT_FALSE(append_transcript(broken, file, whole.size(), lost));
  ASSERT_GT(test::read_file(file).size(), whole.size()) << "the tear should be on disk";
  files.heal();
  EXPECT_EQ(test::value_of(open_transcript(files, file)).bytes, whole.size());
  EXPECT_EQ(test::read_file(file), whole);
  EXPECT_EQ(test::read_file(file + ".torn"), lost.substr(0, lost.size() / 2) + "\n");
}

TEST(FsTranscripts, ABatchGivesEveryAppendItsOwnOutcome) {
  const test::TempDir folder;
  test::FaultyFiles files;
  const auto batch_of = [&](std::uint64_t second_at) {
    std::vector<PendingAppend> batch;
    for (int i = 0; i < 3; ++i) {
      const auto file = folder / std::to_string(i);
      test::write_file(file, "one\n");
      batch.push_back(PendingAppend{file, i == 1 ? second_at : 4U, "two\n"});
    }
    return batch;
  };
  auto moved = batch_of(9);
  append_transcripts(files, moved);
  EXPECT_TRUE(moved[0].outcome->ok());
  EXPECT_EQ(moved[1].outcome->error().code, Errc::conflict);
  EXPECT_TRUE(moved[2].outcome->ok());
  EXPECT_EQ(test::read_file(moved[0].file), "one\ntwo\n");
  EXPECT_EQ(test::read_file(moved[1].file), "one\n");

  const int before = files.calls();
  auto good = batch_of(4);
  append_transcripts(files, good);
  const int calls = files.calls() - before;
  for (const int fault : kFaults) {
    for (int nth = 1; nth <= calls; ++nth) {
      auto batch = batch_of(4);
      files.fail_at(nth, fault);
      append_transcripts(files, batch);
      ASSERT_TRUE(files.hit());
      files.heal();
      int failed = 0;
      for (const auto& pending : batch) {
        ASSERT_TRUE(pending.outcome) << "call " << nth;
        failed += pending.outcome->ok() ? 0 : 1;
        EXPECT_EQ(test::read_file(pending.file), pending.outcome->ok() ? "one\ntwo\n" : "one\n")
            << "call " << nth;
      }
      EXPECT_GE(failed, 1) << "call " << nth << " failed and was not noticed";
    }
  }
}

TEST(FsTranscripts, AFailedCreateLeavesNothingBehind) {
  const test::TempDir folder;
  test::FaultyFiles files;
  const int before = files.calls();
  ASSERT_TRUE(create_transcript(files, folder / "probe", "x\n"));
  const int calls = files.calls() - before;
  for (const int fault : kFaults) {
    for (int nth = 1; nth <= calls; ++nth) {
      const auto path = folder / ("s" + std::to_string(nth) + "-" + std::to_string(fault));
      files.fail_at(nth, fault);
      const auto done = create_transcript(files, path, "x\n");
      ASSERT_TRUE(files.hit());
      files.heal();
      ASSERT_FALSE(done) << "call " << nth;
      EXPECT_FALSE(test::exists(path)) << "call " << nth;
      ASSERT_TRUE(create_transcript(files, path, "x\n")) << "call " << nth;
    }
  }
}

TEST(FsTranscripts, ACreateThatACrashCutShortIsNotASession) {
  const test::TempDir folder;
  boost::asio::io_context io(1);
  PosixFiles files;
  Pool pool(1);
  FsTranscripts store(files, pool, folder.path());
  test::write_file(folder / "sessions/261115-half-made/session.jsonl.new", "{\"type\":");
  test::write_file(folder / "sessions/261115-whole/session.jsonl", "x\n");
  test::write_file(folder / "sessions/261115-keeps/attachments/a.txt", "mine");
  const auto ids = test::value_of(test::run(io, store.list()));
  ASSERT_EQ(ids.size(), 1U);
  EXPECT_EQ(ids[0].id.text(), "261115-whole");
  EXPECT_EQ(ids[0].bytes, 2U);
  EXPECT_FALSE(test::exists(folder / "sessions/261115-half-made"));
  EXPECT_TRUE(test::exists(folder / "sessions/261115-keeps/attachments/a.txt"));
}

TEST(FsTranscripts, ASessionThatIsBeingMadeIsNotTakenForALeftover) {
  const test::TempDir folder;
  boost::asio::io_context io(1);
  PosixFiles files;
  Pool pool(1);
  FsTranscripts store(files, pool, folder.path());
  test::write_file(folder / "sessions/261115-whole/session.jsonl", "x\n");
  static_cast<void>(test::value_of(test::run(io, store.list())));
  // A reload may look at the folder in the middle of a create.
  test::write_file(folder / "sessions/261115-half-made/session.jsonl.new", "{\"type\":");
  EXPECT_EQ(test::value_of(test::run(io, store.list())).size(), 1U);
  EXPECT_TRUE(test::exists(folder / "sessions/261115-half-made/session.jsonl.new"));
}

// Session folders may be moved away and put back, for example from a backup.
TEST(FsTranscripts, AListFindsWhatIsInThePlaceOfTheSessionsNow) {
  const test::TempDir folder;
  boost::asio::io_context io(1);
  PosixFiles files;
  Pool pool(1);
  const auto id = test::value_of(session::SessionId::parse("261115-whole"));
  test::write_file(folder / "sessions/261115-whole/session.jsonl", "old\n");
  FsTranscripts store(files, pool, folder.path());
  const auto read = [&] {
    std::string found;
    const auto all = [&]() -> Task<bool> {
      std::vector<session::Range> ranges;
      ranges.push_back(session::Range{id, 0, 100});
      co_await store.read_each(
          std::move(ranges),
          [&](std::size_t, const Result<std::string_view>& bytes) {
            found = bytes ? std::string(*bytes) : "error";
          },
          [] {}, nullptr);
      co_return true;
    };
    EXPECT_TRUE(test::run(io, all()));
    return found;
  };
  EXPECT_EQ(read(), "old\n");
  ASSERT_TRUE(files.rename(folder / "sessions", folder / "sessions.bak"));
  test::write_file(folder / "sessions/261115-whole/session.jsonl", "new\n");
  static_cast<void>(test::value_of(test::run(io, store.list())));
  EXPECT_EQ(read(), "new\n");
}

TEST(FsTranscripts, ASecondTornTailDoesNotReplaceTheFirst) {
  const test::TempDir folder;
  PosixFiles files;
  const auto file = folder / "session.jsonl";
  test::write_file(file, "first fragment");
  ASSERT_TRUE(open_transcript(files, file));
  test::write_file(file, "second fragment");
  ASSERT_TRUE(open_transcript(files, file));
  EXPECT_EQ(test::read_file(file + ".torn"), "first fragment\nsecond fragment\n");
}

TEST(FsTranscripts, FilesAndFoldersAreTheOwnersAlone) {
  const test::TempDir folder;
  PosixFiles files;
  ASSERT_TRUE(create_transcript(files, folder / "s", "x\n"));
  struct stat info = {};
  ASSERT_EQ(::stat((folder / "s").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat((folder / "s/session.jsonl").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

}  // namespace
}  // namespace reef::store
