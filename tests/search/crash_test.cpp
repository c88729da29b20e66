// kill -9 in the middle of writing and merging: the next open finds a valid index that holds
// everything a finished flush promised, and no part of anything else.
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/random.h"
#include "search/index.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::search {
namespace {

constexpr int kKills = 80;
constexpr std::uint64_t kDocumentsMax = 20'000;

std::unique_ptr<Index> open_index(Files& files, const std::string& directory) {
  IndexOptions options;
  options.weights = {1.0F};
  options.merge_segments = 3;
  auto opened = test::value_of(Index::open(files, directory, std::move(options)));
  EXPECT_TRUE(opened.problems.empty()) << opened.problems[0];
  return std::move(opened.index);
}

std::string text_of(std::uint64_t number) {
  return "all word" + std::to_string(number) + " third" + std::to_string(number % 3);
}

// Adds documents from the covered key on until it is killed, and reports its place after each
// flush.
[[noreturn]] void work(const std::string& directory, int out) {
  PosixFiles files;
  const auto index = open_index(files, directory);
  const auto group = index->group("g");
  for (auto next = index->covered(group);;) {
    for (int i = 0; i < 40; ++i) {
      const auto text = text_of(next);
      const FieldText field{0, text};
      index->add({.group = group, .key = next}, {&field, 1});
      ++next;
    }
    index->set_covered(group, next);
    if (!index->flush().ok()) ::_exit(1);
    if (::write(out, &next, sizeof next) != sizeof next) ::_exit(1);
    while (auto job = index->begin_merge()) {
      for (auto over = job->step(); over && !*over; over = job->step()) {
      }
      if (!index->finish(*std::move(job)).ok()) ::_exit(1);
    }
    if (next > kDocumentsMax) ::_exit(0);
  }
}

TEST(Crash, KillsWhileWritingAndMergingLeaveAValidIndex) {
  test::TempDir dir;
  PosixFiles files;
  SeededRandom random(11);
  std::uint64_t promised = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) work(dir.path(), ends[1]);
    ::close(ends[1]);
    // The kill comes some time after the first promise, so that each round makes progress.
    std::uint64_t number = 0;
    ASSERT_EQ(::read(ends[0], &number, sizeof number), ssize_t{sizeof number});
    promised = number;
    std::this_thread::sleep_for(std::chrono::microseconds(random.next() % 4000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    while (::read(ends[0], &number, sizeof number) == ssize_t{sizeof number}) promised = number;
    ::close(ends[0]);

    const auto index = open_index(files, dir.path());
    const auto group = index->find_group("g");
    ASSERT_TRUE(group);
    const auto covered = index->covered(*group);
    ASSERT_GE(covered, promised) << "kill " << kill;
    ASSERT_EQ(index->documents(), covered) << "all that is covered, once, and nothing else";
    ASSERT_EQ(index->prepare(parse_query("all")).best({}, covered + 1).size(), covered);
    for (const auto probe : {std::uint64_t{0}, covered / 2, covered - 1}) {
      const auto hits = index->prepare(parse_query("word" + std::to_string(probe))).best({}, 5);
      ASSERT_FALSE(hits.empty()) << probe;
      ASSERT_EQ(hits[0].row.key, probe);
    }
    if (covered > kDocumentsMax) break;
  }
  EXPECT_GT(promised, 1000U);
}

}  // namespace
}  // namespace reef::search
