// Readers are told of changes, whenever they come back.
#include "base/change_log.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/task_group.h"
#include "support/run.h"

namespace reef {
namespace {

class ChangeLogTest : public testing::Test {
 protected:
  static std::string keys(const std::vector<ChangeLog::Change>& changes) {
    std::string out;
    for (const auto& change : changes) out += change.key + " ";
    return out;
  }
  boost::asio::io_context io{1};
};

TEST_F(ChangeLogTest, AKeyIsToldOnceHoweverOftenItChanged) {
  ChangeLog log(io.get_executor());
  for (const auto* key : {"a", "b", "a", "c", "a", "b"}) log.touch(key);
  EXPECT_EQ(keys(log.after(0, 10)), "c a b ") << "in the order of their last change";
  EXPECT_EQ(keys(log.after(0, 2)), "c a ");
  EXPECT_EQ(keys(log.after(log.after(0, 2).back().version, 10)), "b ");
  EXPECT_EQ(keys(log.after(log.version(), 10)), "");
  EXPECT_EQ(log.version_of("b"), log.version());
  EXPECT_EQ(log.version_of("nobody"), 0U);
}

TEST_F(ChangeLogTest, WhoIsTooFarBehindIsNotToldHalfOfIt) {
  ChangeLog log(io.get_executor(), 3);
  log.touch("a");
  const auto early = log.version();
  log.touch("b");
  log.touch("c");
  EXPECT_TRUE(log.remembers(early));
  EXPECT_TRUE(log.remembers(0));
  log.touch("d");
  EXPECT_FALSE(log.remembers(0)) << "a is forgotten";
  EXPECT_TRUE(log.remembers(early)) << "who knew of a misses nothing";
  EXPECT_EQ(keys(log.after(early, 10)), "b c d ");
  for (int i = 0; i < 100; ++i) log.touch("d");
  EXPECT_TRUE(log.remembers(early)) << "the same key again costs nothing";
  EXPECT_FALSE(log.remembers(log.version() + 1)) << "what never was";
}

TEST_F(ChangeLogTest, WhatIsGivenUpMakesReadersStartOver) {
  ChangeLog log(io.get_executor());
  log.touch("a");
  log.touch("b");
  const auto now = log.version();
  log.give_up("a");
  EXPECT_FALSE(log.remembers(0));
  EXPECT_TRUE(log.remembers(now - 1));
  log.give_up("nobody");
  EXPECT_TRUE(log.remembers(now));
  log.give_up_all();
  EXPECT_FALSE(log.remembers(now)) << "also those who were up to date";
  EXPECT_TRUE(log.remembers(log.version()));
  log.touch("b");
  EXPECT_EQ(keys(log.after(log.version() - 1, 10)), "b ");
}

TEST_F(ChangeLogTest, EpochsTellLogsApart) {
  EXPECT_NE(ChangeLog(io.get_executor()).epoch(), ChangeLog(io.get_executor()).epoch());
  EXPECT_EQ(ChangeLog(io.get_executor(), 1, 42).epoch(), 42U);
}

// Readers that come at random see, put together, what is; or are told that they cannot.
TEST_F(ChangeLogTest, ReadersPutTogetherWhatIs) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SeededRandom random(seed);
    ChangeLog log(io.get_executor(), 8);
    std::map<std::string, int> truth;
    struct Reader {
      std::uint64_t version = 0;
      std::map<std::string, int> seen;
    };
    std::vector<Reader> readers(4);
    int restarts = 0;
    for (int step = 0; step < 500; ++step) {
      const auto key = std::string(1, static_cast<char>('a' + random.below(16)));
      if (random.below(4) == 0) {
        truth.erase(key);
      } else {
        truth[key] = step;
      }
      log.touch(key);
      auto& reader = readers[random.below(readers.size())];
      if (!log.remembers(reader.version)) {
        ++restarts;
        reader = Reader{log.version(), truth};
      }
      for (const auto& change : log.after(reader.version, 1 + random.below(5))) {
        reader.version = change.version;
        if (truth.contains(change.key)) {
          reader.seen[change.key] = truth[change.key];
        } else {
          reader.seen.erase(change.key);
        }
      }
      if (reader.version == log.version()) ASSERT_EQ(reader.seen, truth) << "seed " << seed;
    }
    EXPECT_GT(restarts, 0) << "seed " << seed;
  }
}

Task<void> hear(std::shared_ptr<Notify> bell, int& heard) {
  for (;;) {
    co_await bell->wait();
    ++heard;
  }
}

TEST_F(ChangeLogTest, ABellRingsForItsKeyAlone) {
  ChangeLog log(io.get_executor());
  int heard = 0;
  TaskGroup tasks(io.get_executor(), "test");
  tasks.spawn(hear(log.bell("a"), heard));
  test::run_ready(io);
  log.touch("b");
  log.ring("b");
  test::run_ready(io);
  EXPECT_EQ(heard, 0);
  log.touch("a");
  test::run_ready(io);
  EXPECT_EQ(heard, 1);
  log.ring("a");
  test::run_ready(io);
  EXPECT_EQ(heard, 2);
  EXPECT_EQ(log.bell("a"), log.bell("a")) << "while somebody holds it";
  tasks.cancel();
  test::run(io, tasks.join());
  for (int i = 0; i < 1000; ++i) log.bell(std::to_string(i));
  log.ring("a");
}

}  // namespace
}  // namespace reef
