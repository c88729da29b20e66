// Everything that is done with transcripts, on a disk whose n-th call fails: a session is in one
// place, with the old bytes or the new ones, and what failed works afterwards.
#include <cerrno>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/fs/fs_transcripts.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

struct Disk {
  Disk() {
    ::mkdir((home / "sessions").c_str(), 0700);
    test::write_file(home / "staging/1/session.jsonl", "staged\n");
    ::mkdir((home / "staging/1/data").c_str(), 0700);
    test::value_of(test::run(io, store.create(id, "old\n")));
  }
  ~Disk() { test::run_ready(io); }

  bool in_sessions() const { return test::exists(home / "sessions/261115-swift-river"); }
  bool in_trash() const { return test::exists(home / "trash/261115-swift-river"); }
  std::string bytes() const {
    return test::read_file(home / (std::string(in_trash() ? "trash" : "sessions") +
                                   "/261115-swift-river/session.jsonl"));
  }

  test::TempDir home;
  boost::asio::io_context io{1};
  test::FaultyFiles files;
  Pool pool{1};
  FsTranscripts store{files, pool, home.path()};
  session::SessionId id = *session::SessionId::parse("261115-swift-river");
};

// Does `change` with each of its calls failing, once and for good; `look` says what is wrong then.
void sweep(const std::function<void(Disk&)>& prepare, const std::function<Status(Disk&)>& change,
           const std::function<std::string(Disk&, bool done)>& look) {
  for (const bool forever : {false, true})
    for (int nth = 1;; ++nth) {
      Disk disk;
      prepare(disk);
      disk.files.fail_at(nth, EIO, forever);
      const auto done = change(disk);
      const bool hit = disk.files.hit();
      disk.files.heal();
      EXPECT_EQ(look(disk, done.ok()), "") << "call " << nth << ", forever " << forever << ": "
                                           << (done ? "done" : done.error().what);
      if (!hit) {
        EXPECT_TRUE(done) << done.error().what;
        break;
      }
    }
}

void as_it_is(Disk&) {}
void trashed(Disk& disk) {
  ASSERT_TRUE(test::run(disk.io, disk.store.trash(disk.id, TimePoint{})));
}

TEST(TranscriptsFaults, AnAppend) {
  const auto append = [](Disk& disk) {
    return test::run(disk.io, disk.store.append(disk.id, 4, "new\n"));
  };
  sweep(as_it_is, append, [&](Disk& disk, bool done) -> std::string {
    if (done) return disk.bytes() == "old\nnew\n" ? "" : "not appended";
    // A disk that refuses even the undo leaves what open() looks at again.
    if (disk.bytes() != "old\n" && disk.bytes() != "old\nnew\n") return "neither old nor new";
    if (disk.bytes() == "old\n" && !append(disk)) return "no append afterwards";
    return "";
  });
}

TEST(TranscriptsFaults, ARewrite) {
  const auto rewrite = [](Disk& disk) {
    return test::run(disk.io, disk.store.rewrite(disk.id, 4, "longer\n", "kept"));
  };
  sweep(as_it_is, rewrite, [&](Disk& disk, bool done) -> std::string {
    if (disk.bytes() == "longer\n") {
      // The old bytes are kept before the new ones are there.
      return test::read_file(disk.store.file(disk.id) + ".kept") == "old\n" ? "" : "not kept";
    }
    if (done || disk.bytes() != "old\n") return "neither old nor new: " + disk.bytes();
    return rewrite(disk) ? "" : "no rewrite afterwards";
  });
}

TEST(TranscriptsFaults, MovingIntoTheTrash) {
  const auto trash = [](Disk& disk) {
    return test::run(disk.io, disk.store.trash(disk.id, TimePoint{}));
  };
  sweep(as_it_is, trash, [&](Disk& disk, bool done) -> std::string {
    if (disk.in_sessions() == disk.in_trash()) return "in both places, or in none";
    if (disk.bytes() != "old\n") return "other bytes";
    if (done && !disk.in_trash()) return "not moved";
    if (!disk.in_trash() && !trash(disk)) return "cannot be moved afterwards";
    return "";
  });
}

TEST(TranscriptsFaults, ComingBackFromTheTrash) {
  const auto restore = [](Disk& disk) { return test::run(disk.io, disk.store.restore(disk.id)); };
  sweep(trashed, restore, [&](Disk& disk, bool done) -> std::string {
    if (disk.in_sessions() == disk.in_trash()) return "in both places, or in none";
    if (disk.bytes() != "old\n") return "other bytes";
    if (done && !disk.in_sessions()) return "not back";
    if (!disk.in_sessions() && !restore(disk)) return "cannot come back afterwards";
    return "";
  });
}

TEST(TranscriptsFaults, BeingRemovedForGood) {
  const auto purge = [](Disk& disk) { return test::run(disk.io, disk.store.purge(disk.id)); };
  sweep(trashed, purge, [&](Disk& disk, bool done) -> std::string {
    if (disk.in_sessions()) return "back among the sessions";
    if (done && disk.in_trash()) return "still there";
    if (disk.in_trash() && disk.bytes() != "old\n") return "half removed";
    if (disk.in_trash() && !purge(disk)) return "cannot be removed afterwards";
    // What was left half way goes at the next look.
    if (!test::run(disk.io, disk.store.trashed())) return "the trash cannot be listed";
    return test::value_of(PosixFiles().list(disk.home / "trash")).empty() ? ""
                                                                          : "something is left";
  });
}

TEST(TranscriptsFaults, BeingTakenIn) {
  const auto staged = *session::SessionId::parse("261116-staged");
  const auto take_in = [&](Disk& disk) {
    std::vector<session::Incoming> incoming;
    incoming.push_back({staged, disk.home / "staging/1"});
    return test::run(disk.io, disk.store.take_in(std::move(incoming))).at(0);
  };
  sweep(as_it_is, take_in, [&](Disk& disk, bool done) -> std::string {
    const bool there = test::exists(disk.store.file(staged));
    const bool waits = test::exists(disk.home / "staging/1/session.jsonl");
    if (there == waits) return "in both places, or in none";
    if (done && !there) return "not taken in";
    if (there && test::read_file(disk.store.file(staged)) != "staged\n") return "other bytes";
    if (waits && !take_in(disk)) return "cannot be taken in afterwards";
    return "";
  });
}

}  // namespace
}  // namespace reef::store
