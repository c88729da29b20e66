// What named requests were answered with: once, bounded, also on a full disk and after a crash.
#include "server/ledger.h"

#include <gtest/gtest.h>

#include "base/task_group.h"
#include "store/fs/fs_journal.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::server {
namespace {

class SetClock final : public Clock {
 public:
  TimePoint now() const override { return time; }
  TimePoint time = *parse_iso("2026-11-15T10:00:00.000Z");
};

class LedgerTest : public testing::Test {
 protected:
  session::ClientMark mark(std::string id, std::string sum = "s") {
    return {std::move(id), "ann", std::move(sum)};
  }
  // A request that counts how often it is done.
  protocol::Answer request(const session::ClientMark& named, bool fails = false) {
    return answer_once(*ledger, named, true, [this, fails] {
      ++done;
      return fails ? protocol::answer_with(Error(Errc::not_found, "no"))
                   : protocol::answer_with(protocol::make_pong());
    });
  }
  std::string told(protocol::Answer answer) {
    const auto message = test::run(io, answer->next());
    if (!message) return "nothing";
    return message->has_pong() ? "pong" : std::to_string(message->error().code());
  }
  void restart() { ledger = std::make_unique<Ledger>(io.get_executor(), answers, clock); }

  boost::asio::io_context io{1};
  SetClock clock;
  test::TempDir folder;
  test::FaultyFiles files;
  Pool pool{1};
  std::string path = folder / "answers.jsonl";
  store::FsJournal answers{files, pool, path, store::FsJournal::Durable::yes};
  std::unique_ptr<Ledger> ledger = std::make_unique<Ledger>(io.get_executor(), answers, clock);
  int done = 0;
};

TEST_F(LedgerTest, ARequestIsDoneOnceAlsoAfterARestart) {
  EXPECT_EQ(told(request(mark("a"))), "pong");
  EXPECT_EQ(told(request(mark("a"))), "pong");
  restart();
  EXPECT_EQ(told(request(mark("a"))), "pong");
  EXPECT_EQ(done, 1);
  EXPECT_EQ(told(request(mark("a", "other"))), "409");
  auto foreign = mark("a", "other");
  foreign.sender = "bob";
  EXPECT_EQ(told(request(foreign)), "pong") << "names are their senders' own";
  EXPECT_EQ(done, 2);
}

TEST_F(LedgerTest, WhatFailedIsTriedAgain) {
  EXPECT_EQ(told(request(mark("a"), true)), "404");
  EXPECT_EQ(told(request(mark("a"))), "pong");
  EXPECT_EQ(done, 2);
}

TEST_F(LedgerTest, OneThatIsUnderWayIsWaitedForAndAnotherRefused) {
  ASSERT_TRUE(test::run(io, ledger->load()));
  ASSERT_TRUE(ledger->begin(mark("a")));
  auto second = request(mark("a"));
  std::optional<std::optional<protocol::ServerMessage>> got;
  TaskGroup group(io.get_executor(), "test");
  group.spawn([](protocol::MessageStream& stream, auto& out) -> Task<void> {
    out = co_await stream.next();
  }(*second, got));
  test::run_ready(io);
  EXPECT_FALSE(got);
  EXPECT_EQ(told(request(mark("a", "other"))), "409");
  std::vector<std::string> answer = {protocol::make_pong().SerializeAsString()};
  test::run(io, ledger->keep(mark("a"), std::move(answer)));
  ledger->end(mark("a"));
  test::run(io, group.join());
  ASSERT_TRUE(got && *got);
  EXPECT_TRUE((*got)->has_pong());
  EXPECT_EQ(done, 0);
}

TEST_F(LedgerTest, AFullDiskIsNoErrorOfWhatIsDone) {
  EXPECT_EQ(told(request(mark("a"))), "pong");
  const auto before = test::read_file(path);
  for (int nth = 1; nth <= 6; ++nth) {
    files.fail_at(nth, ENOSPC, true);
    const auto name = "b" + std::to_string(nth);
    EXPECT_EQ(told(request(mark(name))), "pong");
    EXPECT_EQ(told(request(mark(name))), "pong") << "known until the restart";
    files.heal();
  }
  EXPECT_EQ(done, 7);
  EXPECT_EQ(told(request(mark("c"))), "pong") << "writes all of them again";
  restart();
  for (const auto* name : {"a", "b1", "b6", "c"}) EXPECT_EQ(told(request(mark(name))), "pong");
  EXPECT_EQ(done, 8);
  EXPECT_NE(before, "");
}

TEST_F(LedgerTest, ATornOrForeignLineIsPassedOver) {
  EXPECT_EQ(told(request(mark("a"))), "pong");
  const auto good = test::read_file(path);
  test::write_file(path, "\xff\n[]\n{\"v\":2}\n" + good + good.substr(0, good.size() / 2));
  restart();
  EXPECT_EQ(told(request(mark("a"))), "pong");
  EXPECT_EQ(told(request(mark("b"))), "pong");
  EXPECT_EQ(done, 2);
  restart();
  EXPECT_EQ(told(request(mark("a"))), "pong");
  EXPECT_EQ(told(request(mark("b"))), "pong");
  EXPECT_EQ(done, 2);
}

TEST_F(LedgerTest, AFileThatCannotBeReadRefusesRatherThanDoingItTwice) {
  EXPECT_EQ(told(request(mark("a"))), "pong");
  restart();
  files.fail_at(1, EIO, true);
  EXPECT_EQ(told(request(mark("a"))), "500");
  files.heal();
  EXPECT_EQ(told(request(mark("a"))), "pong");
  EXPECT_EQ(done, 1);
}

TEST_F(LedgerTest, OldAnswersAreForgottenAndTheFileIsBounded) {
  EXPECT_EQ(told(request(mark("old"))), "pong");
  clock.time += Ledger::kAgeMax + std::chrono::hours(1);
  EXPECT_EQ(told(request(mark("new"))), "pong");
  EXPECT_EQ(told(request(mark("old"))), "pong");
  EXPECT_EQ(done, 3) << "thirty days are over";

  const std::string big(Ledger::kAnswerBytesMax, 'x');
  for (int i = 0; i < 1200; ++i) {
    clock.time += std::chrono::milliseconds(1);
    std::vector<std::string> answer = {big};
    test::run(io, ledger->keep(mark("n" + std::to_string(i)), std::move(answer)));
  }
  EXPECT_FALSE(*ledger->find(mark("n0")));
  EXPECT_TRUE(*ledger->find(mark("n1199")));
}

}  // namespace
}  // namespace reef::server
