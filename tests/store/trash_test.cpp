// The trash of the file store: what is removed for good, what stays, and since when it is there.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "store/fs/fs_transcripts.h"
#include "store/fs/tree.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

class TrashTest : public testing::Test {
 protected:
  TrashTest() {
    ::mkdir((home / "sessions").c_str(), 0700);
    test::value_of(test::run(io, store.create(id, "x\n")));
  }

  test::TempDir home;
  boost::asio::io_context io{1};
  PosixFiles files;
  Pool pool{2};
  FsTranscripts store{files, pool, home.path()};
  session::SessionId id = *session::SessionId::parse("261115-swift-river");
  TimePoint when{std::chrono::milliseconds(1794779830302)};
};

TEST_F(TrashTest, PurgeTakesLinksAwayAndLeavesWhatTheyPointTo) {
  const test::TempDir outside;
  test::write_file(outside / "precious", "keep me");
  ASSERT_EQ(::symlink(outside.path().c_str(), (store.folder(id) + "/link").c_str()), 0);
  ASSERT_EQ(::symlink((outside / "precious").c_str(), (store.folder(id) + "/file").c_str()), 0);
  ASSERT_EQ(::mkfifo((store.folder(id) + "/pipe").c_str(), 0600), 0);
  ::mkdir((store.folder(id) + "/data").c_str(), 0700);
  test::write_file(store.folder(id) + "/data/x", "12345");
  // Nobody may write here any more, not even the owner.
  ASSERT_EQ(::chmod((store.folder(id) + "/data").c_str(), 0555), 0);

  ASSERT_TRUE(test::run(io, store.trash(id, when)));
  const auto bytes = test::run(io, store.measure({id}, session::Transcripts::Place::trash)).at(0);
  EXPECT_EQ(bytes, 2U + 5U + std::string("2026-11-15T21:17:10.302Z\n").size());
  ASSERT_TRUE(test::run(io, store.purge(id)));
  EXPECT_TRUE(test::value_of(files.list(home / "trash")).empty());
  EXPECT_EQ(test::read_file(outside / "precious"), "keep me");
}

TEST_F(TrashTest, ASessionFolderThatIsALinkIsOnlyUnlinked) {
  const test::TempDir outside;
  test::write_file(outside / "precious", "keep me");
  ::mkdir((home / "trash").c_str(), 0700);
  ASSERT_EQ(::symlink(outside.path().c_str(), (home / "trash/linked").c_str()), 0);
  ASSERT_TRUE(test::run(io, store.purge(*session::SessionId::parse("linked"))));
  EXPECT_EQ(test::read_file(outside / "precious"), "keep me");
  EXPECT_TRUE(test::value_of(files.list(home / "trash")).empty());
}

TEST_F(TrashTest, AnInterruptedRemovalIsInvisibleAndIsFinishedLater) {
  ASSERT_TRUE(test::run(io, store.trash(id, when)));
  ASSERT_TRUE(files.rename(home / "trash/261115-swift-river", home / "trash/.going-1"));
  EXPECT_TRUE(test::value_of(test::run(io, store.trashed())).empty());
  EXPECT_FALSE(test::exists(home / "trash/.going-1"));
}

TEST_F(TrashTest, TheTimeIsGoneAfterARestore) {
  ASSERT_TRUE(test::run(io, store.trash(id, when)));
  EXPECT_TRUE(test::exists(home / "trash/261115-swift-river/trashed-at"));
  ASSERT_TRUE(test::run(io, store.restore(id)));
  EXPECT_FALSE(test::exists(store.folder(id) + "/trashed-at"));
}

TEST_F(TrashTest, WithoutATimeTheMoveItselfCounts) {
  const auto before = SystemClock().now() - std::chrono::seconds(2);
  ASSERT_TRUE(test::run(io, store.trash(id, when)));
  for (const auto* text : {"", "yesterday\n", "2026"}) {
    test::write_file(home / "trash/261115-swift-river/trashed-at", text);
    const auto trashed = test::value_of(test::run(io, store.trashed()));
    EXPECT_GE(trashed.at(0).since, before) << text;
  }
}

}  // namespace
}  // namespace reef::store
