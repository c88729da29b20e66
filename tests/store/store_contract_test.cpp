// What every session::Store promises; both implementations are held to it.
#include <gtest/gtest.h>

#include "store/store.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

using session::SessionId;

const std::string kLine = R"({"type":"custom","id":"a","parentId":null,"timestamp":"t"})"
                          "\n";

struct FsHarness {
  test::TempDir folder;
  PosixFiles files;
  Pool pool{4};
  FsStore store{files, pool, folder.path()};

  void put(const SessionId& id, const std::string& bytes) {
    test::write_file(store.file(id), bytes);
  }
};

struct MemHarness {
  MemStore store;

  void put(const SessionId& id, const std::string& bytes) { store.raw()[id] = bytes; }
};

template <class Harness>
class StoreContract : public testing::Test {
 protected:
  ~StoreContract() override { test::run_ready(io); }

  boost::asio::io_context io{1};
  Harness harness;
  session::Store& store = harness.store;
  SessionId id = *SessionId::parse("261115-swift-river");
};

using Harnesses = testing::Types<FsHarness, MemHarness>;
class HarnessNames {
 public:
  template <class Harness>
  static std::string GetName(int) {
    return std::is_same_v<Harness, FsHarness> ? "Fs" : "Mem";
  }
};
TYPED_TEST_SUITE(StoreContract, Harnesses, HarnessNames);

TYPED_TEST(StoreContract, WhatWasCreatedIsListedAndRead) {
  EXPECT_TRUE(test::value_of(test::run(this->io, this->store.list())).empty());
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.list())), std::vector{this->id});
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), "x\n");
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.open(this->id))), "x\n");
}

TYPED_TEST(StoreContract, CreateRefusesATakenIdAndChangesNothing) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  const auto again = test::run(this->io, this->store.create(this->id, "y\n"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::conflict);
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), "x\n");
}

TYPED_TEST(StoreContract, AppendsFollowEachOther) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  ASSERT_TRUE(test::run(this->io, this->store.append(this->id, 2, "yy\n")));
  ASSERT_TRUE(test::run(this->io, this->store.append(this->id, 5, "z\n")));
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), "x\nyy\nz\n");
}

TYPED_TEST(StoreContract, AnAppendAtAnotherLengthIsAConflict) {
  ASSERT_TRUE(test::run(this->io, this->store.create(this->id, "x\n")));
  for (const std::uint64_t at : {0U, 1U, 3U}) {
    const auto moved = test::run(this->io, this->store.append(this->id, at, "y\n"));
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().code, Errc::conflict);
  }
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), "x\n");
}

TYPED_TEST(StoreContract, MissingSessionsAreNotFound) {
  EXPECT_EQ(test::run(this->io, this->store.read(this->id)).error().code, Errc::not_found);
  EXPECT_EQ(test::run(this->io, this->store.open(this->id)).error().code, Errc::not_found);
  EXPECT_EQ(test::run(this->io, this->store.append(this->id, 0, "x\n")).error().code,
            Errc::not_found);
}

TYPED_TEST(StoreContract, OpenCutsATornTailAndReadDoesNot) {
  this->harness.put(this->id, kLine + "{\"type\":\"mess");
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))),
            kLine + "{\"type\":\"mess");
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.open(this->id))), kLine);
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), kLine);
  ASSERT_TRUE(test::run(this->io, this->store.append(this->id, kLine.size(), kLine)));
}

TYPED_TEST(StoreContract, OpenGivesAWholeLastEntryItsNewline) {
  this->harness.put(this->id, kLine + kLine.substr(0, kLine.size() - 1));
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.open(this->id))), kLine + kLine);
  EXPECT_EQ(test::value_of(test::run(this->io, this->store.read(this->id))), kLine + kLine);
}

}  // namespace
}  // namespace reef::store
