// The promises of session::Journal, tested on both implementations, and on a disk that fails.
#include <cerrno>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/store.h"
#include "support/faulty_files.h"
#include "support/journal.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

template <FsJournal::Durable durable>
struct FsJournalHarness {
  test::TempDir folder;
  PosixFiles files;
  Pool pool{1};
  FsJournal journal{files, pool, folder / "below/journal.jsonl", durable};
};
using DerivedJournal = FsJournalHarness<FsJournal::Durable::no>;
using DurableJournal = FsJournalHarness<FsJournal::Durable::yes>;

struct MemJournalHarness {
  MemJournal journal;
};

template <class Harness>
class JournalContract : public testing::Test {
 protected:
  ~JournalContract() override { test::run_ready(io); }
  std::string bytes() { return test::bytes_of(io, journal); }

  boost::asio::io_context io{1};
  Harness harness;
  session::Journal& journal = harness.journal;
};

using JournalHarnesses = testing::Types<DurableJournal, DerivedJournal, MemJournalHarness>;
class JournalHarnessNames {
 public:
  template <class Harness>
  static std::string GetName(int) {
    if constexpr (std::is_same_v<Harness, DurableJournal>) return "Fs";
    return std::is_same_v<Harness, DerivedJournal> ? "FsDerived" : "Mem";
  }
};
TYPED_TEST_SUITE(JournalContract, JournalHarnesses, JournalHarnessNames);

TYPED_TEST(JournalContract, ItIsEmptyThenAppendedToThenReplaced) {
  EXPECT_EQ(this->bytes(), "");
  ASSERT_TRUE(test::run(this->io, this->journal.append("a")));
  ASSERT_TRUE(test::run(this->io, this->journal.append("b")));
  EXPECT_EQ(this->bytes(), "ab");
  ASSERT_TRUE(test::run(this->io, this->journal.replace("c")));
  EXPECT_EQ(this->bytes(), "c");
  ASSERT_TRUE(test::run(this->io, this->journal.append("d")));
  EXPECT_EQ(this->bytes(), "cd");
}

TYPED_TEST(JournalContract, ItMayBeginWithBeingReplaced) {
  ASSERT_TRUE(test::run(this->io, this->journal.replace("c")));
  EXPECT_EQ(this->bytes(), "c");
}

TYPED_TEST(JournalContract, PartsOfItAreRead) {
  ASSERT_TRUE(test::run(this->io, this->journal.append("0123456789")));
  std::string part;
  ASSERT_TRUE(test::run(this->io, this->journal.read([&](const auto& source) -> Status {
    EXPECT_EQ(source.size, 10U);
    REEF_TRY(part, source.read(3, 4));
    return Ok{};
  })));
  EXPECT_EQ(part, "3456");
}

TYPED_TEST(JournalContract, WhatItsReaderSaysIsReturned) {
  ASSERT_TRUE(test::run(this->io, this->journal.append("a")));
  const auto refused = test::run(this->io, this->journal.read([](const auto&) -> Status {
    return Error(Errc::corrupt, "no good");
  }));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::corrupt);
}

// Every system call of every change fails, once or for good.
TEST(JournalFaults, WhateverFailsTheOldBytesOrTheNewOnesAreThere) {
  for (const auto durable : {FsJournal::Durable::no, FsJournal::Durable::yes})
    for (const bool begun : {false, true})
      for (const bool replace : {false, true})
        for (const bool forever : {false, true})
          for (int nth = 1;; ++nth) {
            const test::TempDir folder;
            boost::asio::io_context io(1);
            test::FaultyFiles files;
            Pool pool(1);
            FsJournal journal(files, pool, folder / "below/journal", durable);
            const std::string old = begun ? "old\n" : "";
            if (begun) ASSERT_TRUE(test::run(io, journal.append(old)));
            const std::string fresh = replace ? "fresh\n" : old + "fresh\n";
            files.fail_at(nth, ENOSPC, forever);
            const auto done =
                test::run(io, replace ? journal.replace("fresh\n") : journal.append("fresh\n"));
            const bool hit = files.hit();
            files.heal();
            const auto what = fmt::format("call {}, replace {}, begun {}, forever {}", nth, replace,
                                          begun, forever);
            const auto there = test::bytes_of(io, journal);
            if (done) {
              EXPECT_EQ(there, fresh) << what;
            } else if (replace || forever) {
              // A change that was made may have failed to become durable.
              EXPECT_TRUE(there == old || there == fresh) << what << ": " << there;
            } else {
              EXPECT_EQ(there, old) << what;
            }
            // Whatever it was, the next change works.
            ASSERT_TRUE(test::run(io, journal.replace("next\n"))) << what;
            EXPECT_EQ(test::bytes_of(io, journal), "next\n") << what;
            if (!hit) break;
          }
}

TEST(JournalFaults, AnAppendThatIsCutShortIsUndone) {
  const test::TempDir folder;
  boost::asio::io_context io(1);
  test::FaultyFiles files;
  Pool pool(1);
  FsJournal journal(files, pool, folder / "journal", FsJournal::Durable::yes);
  ASSERT_TRUE(test::run(io, journal.append("old\n")));
  for (int nth = 1; nth <= 4; ++nth) {
    files.cut_write_at(nth);
    ASSERT_TRUE(test::run(io, journal.append("fresh\n"))) << "the rest is written then";
    files.heal();
  }
  EXPECT_EQ(test::bytes_of(io, journal), "old\nfresh\nfresh\nfresh\nfresh\n");
}

}  // namespace
}  // namespace reef::store
