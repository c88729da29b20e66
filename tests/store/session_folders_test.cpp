// What a home that is a folder tells of other programs: when the kernel forgets, when the folder
// is another one, and in the middle of everything else.
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "store/fs/fs_transcripts.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

class SessionFoldersTest : public testing::Test {
 protected:
  SessionFoldersTest() { ::mkdir((home / "sessions").c_str(), 0700); }
  ~SessionFoldersTest() override {
    watch.reset();
    test::run_ready(io);
  }

  static session::SessionId named(int i) {
    return *session::SessionId::parse(fmt::format("261115-s{}", i));
  }
  std::string file(const session::SessionId& id) const {
    return home / ("sessions/" + id.text() + "/session.jsonl");
  }
  void append_from_outside(const session::SessionId& id, const std::string& bytes) {
    const int fd = ::open(file(id).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(fd);
  }
  void begin(FsTranscripts& store) {
    watch = test::value_of(store.watch(io.get_executor(), [this](const session::Heard& heard) {
      if (heard.id) {
        known[heard.id->text()] = heard.bytes;
      } else {
        ++all;
      }
    }));
  }
  bool comes(const std::function<bool()>& so) {
    const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
    while (!so()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io.restart();
      io.run_one_for(std::chrono::milliseconds(50));
    }
    return true;
  }

  test::TempDir home;
  boost::asio::io_context io{1};
  PosixFiles files;
  Pool pool{2};
  std::map<std::string, std::uint64_t> known;
  int all = 0;
  std::unique_ptr<session::Transcripts::Watch> watch;
};

TEST_F(SessionFoldersTest, WhatTheKernelForgotToTellIsFound) {
  unsigned long queued_max = 0;
  std::FILE* file_of_limit = std::fopen("/proc/sys/fs/inotify/max_queued_events", "re");
  ASSERT_TRUE(file_of_limit && std::fscanf(file_of_limit, "%lu", &queued_max) == 1);
  std::fclose(file_of_limit);
  if (queued_max > 100'000) GTEST_SKIP() << "the kernel's queue has room for more than we try";
  FsTranscripts store(files, pool, home.path());
  const auto id = named(1);
  ASSERT_TRUE(test::run(io, store.create(id, "x\n")));
  begin(store);
  ASSERT_TRUE(comes([&] { return known[id.text()] == 2; }));
  // Nobody reads meanwhile, and two events that follow each other and are not alike are two.
  for (unsigned long i = 0; i <= queued_max / 2 + 1; ++i) {
    const auto path = home / "sessions/.noise";
    ::close(::open(path.c_str(), O_CREAT | O_CLOEXEC, 0600));
    ::unlink(path.c_str());
  }
  append_from_outside(id, "yy\n");
  test::write_file(file(named(2)), "new\n");
  EXPECT_TRUE(comes([&] { return known[id.text()] == 5 && known[named(2).text()] == 4; }));
  // And from then on as before.
  append_from_outside(id, "z\n");
  EXPECT_TRUE(comes([&] { return known[id.text()] == 7; }));
}

TEST_F(SessionFoldersTest, AnotherFolderInThePlaceOfAllSessionsIsLookedAtAsAWhole) {
  FsTranscripts store(files, pool, home.path());
  ASSERT_TRUE(test::run(io, store.create(named(1), "x\n")));
  begin(store);
  ASSERT_TRUE(comes([&] { return known[named(1).text()] == 2; }));
  ASSERT_TRUE(files.rename(home / "sessions", home / "sessions.bak"));
  EXPECT_TRUE(comes([&] { return all > 0; })) << "that it went";
  const int before = all;
  test::write_file(file(named(1)), "longer\n");
  EXPECT_TRUE(comes([&] { return all > before; })) << "that there is another";
  EXPECT_TRUE(comes([&] { return known[named(1).text()] == 7; }));
  append_from_outside(named(1), "z\n");
  EXPECT_TRUE(comes([&] { return known[named(1).text()] == 9; })) << "it is watched";
}

TEST_F(SessionFoldersTest, ASessionFolderInThePlaceOfAnotherIsWatched) {
  FsTranscripts store(files, pool, home.path());
  const auto id = named(1);
  ASSERT_TRUE(test::run(io, store.create(id, "x\n")));
  begin(store);
  ASSERT_TRUE(comes([&] { return known[id.text()] == 2; }));
  test::write_file(home / "other/session.jsonl", "four\n");
  ASSERT_TRUE(files.rename(home / "sessions/261115-s1", home / "away"));
  ASSERT_TRUE(files.rename(home / "other", home / "sessions/261115-s1"));
  EXPECT_TRUE(comes([&] { return known[id.text()] == 5; }));
  append_from_outside(id, "z\n");
  EXPECT_TRUE(comes([&] { return known[id.text()] == 7; }));
}

// Whatever is done here and elsewhere at the same time, all of it is known at the end.
TEST_F(SessionFoldersTest, NothingIsMissedInAStorm) {
  const char* given = std::getenv("REEF_SEED");
  const auto seed = given ? std::strtoull(given, nullptr, 10) : 23;
  for (const std::size_t watches_max : {SIZE_MAX, std::size_t{3}, std::size_t{0}}) {
    SCOPED_TRACE(fmt::format("REEF_SEED={}, {} watches", seed, watches_max));
    SeededRandom random(seed);
    FsTranscripts store(files, pool, home.path(), watches_max);
    known.clear();
    begin(store);
    constexpr int kSessions = 12;
    constexpr int kChanges = 250;
    std::map<std::string, std::uint64_t> there;
    for (int change = 0; change < kChanges; ++change) {
      const auto id = named(static_cast<int>(random.below(kSessions)));
      const std::string bytes(1 + random.below(9), 'x');
      const auto found = there.find(id.text());
      if (found == there.end()) {
        if (random.below(2) == 0) {
          test::write_file(file(id), bytes);
        } else {
          ASSERT_TRUE(test::run(io, store.create(id, bytes)));
          known[id.text()] = bytes.size();
        }
        there[id.text()] = bytes.size();
        continue;
      }
      switch (random.below(8)) {
        case 0:
          ASSERT_TRUE(test::run(io, store.trash(id, TimePoint{})));
          ASSERT_TRUE(test::run(io, store.purge(id)));
          known[id.text()] = 0;
          there.erase(found);
          break;
        case 1:
          ASSERT_TRUE(files.remove(file(id)));
          ASSERT_TRUE(files.remove(store.folder(id)));
          there.erase(found);
          break;
        case 2:
        case 3:
        case 4:
          append_from_outside(id, bytes);
          found->second += bytes.size();
          break;
        default:
          // What was appended elsewhere meanwhile is not known here, and is to be told.
          ASSERT_TRUE(test::run(io, store.append(id, found->second, bytes)));
          found->second += bytes.size();
          known[id.text()] = found->second;
      }
      if (random.below(4) == 0) test::run_ready(io);
    }
    const auto all_known = [&] {
      for (int i = 0; i < kSessions; ++i) {
        const auto found = there.find(named(i).text());
        if (known[named(i).text()] != (found == there.end() ? 0 : found->second)) return false;
      }
      return true;
    };
    EXPECT_TRUE(comes(all_known));
    watch.reset();
    for (const auto& [id, bytes] : there) {
      static_cast<void>(bytes);
      ASSERT_TRUE(test::run(io, store.trash(*session::SessionId::parse(id), TimePoint{})));
      ASSERT_TRUE(test::run(io, store.purge(*session::SessionId::parse(id))));
    }
  }
}

}  // namespace
}  // namespace reef::store
