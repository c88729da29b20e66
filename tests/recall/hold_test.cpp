// While the index is held, nothing is read unless a search needs it.
#include <algorithm>

#include <gtest/gtest.h>

#include "recall/recall.h"
#include "store/store.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::recall {
namespace {

class HoldTest : public testing::Test {
 protected:
  HoldTest() { EXPECT_TRUE(test::run(io, recall.load())); }
  ~HoldTest() override {
    test::run(io, recall.stop());
    test::run(io, sessions.stop());
  }

  // Makes a new session with this message.
  void say(const std::string& text) {
    const auto key = *session::Key::of_pair("reef", "user-" + std::to_string(++senders));
    const auto made = test::value_of(test::run(
        io, sessions.create(session::Sessions::New{key, "reef", key.pair()->second, "/x", {}})));
    session::UserMessage message;
    message.content.push_back(session::TextBlock{text});
    ASSERT_TRUE(test::run(io, made->append(session::draft_message(message))));
  }
  std::size_t found(const std::string& query) {
    Ask ask;
    ask.query = query;
    return test::value_of(test::run(io, recall.search(std::move(ask)))).hits.size();
  }
  // Waits until the index has caught up by itself.
  Task<void> until_documents(std::uint64_t count) {
    while (recall.documents() < count) co_await yield_to_loop();
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  test::TempDir folder;
  PosixFiles files;
  Pool pool{2};
  session::Sessions sessions{
      io.get_executor(),
      store,
      catalog,
      clock,
      random,
      session::Sessions::Needs{.on_change = [this](const session::SessionId& id, bool rewritten) {
        recall.changed(id, rewritten);
      }}};
  std::vector<std::string> told;  // of the work on the index
  Recall recall{io.get_executor(),
                sessions,
                store,
                pool,
                files,
                folder / "index",
                [this](std::string what) -> std::shared_ptr<void> {
                  told.push_back(std::move(what));
                  return std::make_shared<int>(0);
                }};
  int senders = 0;
};

TEST_F(HoldTest, MessagesDuringAHoldAreReadAfterIt) {
  auto first = recall.hold();
  auto second = recall.hold();
  say("the zebrafish tank leaks");
  test::run_ready(io);
  EXPECT_EQ(recall.documents(), 0U);
  first.reset();
  test::run_ready(io);
  EXPECT_EQ(recall.documents(), 0U);
  second.reset();
  test::run(io, until_documents(1));
  EXPECT_EQ(found("zebrafish"), 1U);
}

TEST_F(HoldTest, ReadingManySessionsIsToldAsOnePieceOfWork) {
  auto token = recall.hold();
  for (int i = 0; i < 60; ++i) say("zebrafish");
  token.reset();
  test::run(io, until_documents(60));
  test::run_ready(io);
  ASSERT_GE(told.size(), 1U);
  EXPECT_EQ(told[0], "reads 60 sessions into the index");
  EXPECT_EQ(std::count(told.begin(), told.end(), told[0]), 1);
}

TEST_F(HoldTest, ASearchFindsEverythingAllTheSame) {
  const auto token = recall.hold();
  say("the zebrafish tank leaks");
  say("another zebrafish");
  EXPECT_EQ(found("zebrafish"), 2U);
  // The search does not end the hold.
  say("a third zebrafish");
  test::run_ready(io);
  EXPECT_EQ(recall.documents(), 2U);
  EXPECT_EQ(found("zebrafish"), 3U);
}

}  // namespace
}  // namespace reef::recall
