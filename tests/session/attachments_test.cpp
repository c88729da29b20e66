// Files on their way in, and those that stop half-way.
#include "session/attachments.h"

#include <gtest/gtest.h>

#include "session/document_folders.h"
#include "store/store.h"
#include "support/manual_clock.h"

namespace reef::session {
namespace {

using namespace std::chrono_literals;

class AttachmentsTest : public testing::Test {
 protected:
  ~AttachmentsTest() override { test::run(io, sessions.stop()); }

  SessionId make_session() {
    const auto key = *Key::of_pair("reef", "user");
    Sessions::New request{key, "reef", "user", "/x", {}};
    return test::value_of(test::run(io, sessions.create(std::move(request))))->id();
  }
  std::shared_ptr<Attachments::Upload> begin() {
    return test::value_of(test::run(io, attachments.begin(id, "notes.txt", 10)));
  }

  boost::asio::io_context io{1};
  test::ManualClock clock{io};
  SeededRandom random{1};
  Pool pool{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  store::MemDocuments documents;
  DocumentFolders folders{documents, pool};
  Sessions sessions{io.get_executor(), store, catalog, clock, random};
  Attachments attachments{io.get_executor(), sessions, store, folders};
  const SessionId id = make_session();
};

TEST_F(AttachmentsTest, AnUploadThatStopsEndsAfterFiveMinutesOfSilence) {
  const auto upload = begin();
  std::optional<Result<Attached>> ended;
  TaskGroup tasks(io.get_executor(), "test");
  tasks.spawn(test::store_result(upload->finished(), ended));
  clock.advance(4min);
  ASSERT_TRUE(test::run(io, upload->write(0, "half ", false)));
  clock.advance(4min + 59s);
  EXPECT_FALSE(ended) << "its silence began with the last bytes";
  clock.advance(1s);
  ASSERT_TRUE(ended && !*ended);
  EXPECT_EQ(ended->error().code, Errc::timeout);
  EXPECT_EQ(test::run(io, upload->write(5, "more", true)).error().code, Errc::gone);
}

TEST_F(AttachmentsTest, OneThatIsSlowButNeverSilentIsKept) {
  const auto upload = begin();
  std::optional<Result<Attached>> ended;
  TaskGroup tasks(io.get_executor(), "test");
  tasks.spawn(test::store_result(upload->finished(), ended));
  for (std::uint64_t at = 0; at < 10; ++at) {
    clock.advance(4min);
    ASSERT_TRUE(test::run(io, upload->write(at, "x", at == 9)));
  }
  ASSERT_TRUE(test::run_until(io, [&] { return ended.has_value(); }));
  EXPECT_EQ(test::value_of(*ended).kept.file.bytes, 10U);
}

}  // namespace
}  // namespace reef::session
