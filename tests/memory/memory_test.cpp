// The store: one file per agent, durable operations, a disk that fails, files of other programs.
#include "memory/memory.h"

#include <cerrno>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/task_group.h"
#include "store/fs/fs_documents.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"
#include "support/wrapped_documents.h"

namespace reef::memory {
namespace {

using Names = std::vector<std::string>;

class FixedClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(std::chrono::seconds(1'776'162'225)); }
};

Task<void> collect(Memory& memory, Operation operation, std::optional<Result<EntryPtr>>& out) {
  out = co_await memory.apply(std::move(operation));
}

// A home with a memory folder that is made when needed.
struct Bench {
  std::shared_ptr<Memory> open(const std::string& agent = "reef") {
    return test::value_of(memories.of(agent));
  }
  Result<EntryPtr> apply(Operation operation, const std::string& agent = "reef") {
    return test::run(io, open(agent)->apply(std::move(operation)));
  }
  Contents contents(const std::string& agent = "reef") {
    return *test::value_of(test::run(io, open(agent)->contents()));
  }
  std::string path(const std::string& file = "reef.crmem") { return folder / ("memory/" + file); }
  Contents on_disk() {
    return test::exists(path()) ? test::value_of(parse(test::read_file(path()))) : Contents{};
  }

  test::TempDir folder;
  boost::asio::io_context io{1};
  test::FaultyFiles files;
  Pool pool{2};
  FixedClock clock;
  store::FsDocuments documents{files, folder.path()};
  Memories memories{io.get_executor(), documents, pool, clock};
};

TEST(Memory, AnEmptyMemoryHasNoFile) {
  Bench bench;
  EXPECT_TRUE(bench.contents() == Contents{});
  EXPECT_TRUE(test::value_of(test::run(bench.io, bench.open()->recall("x", 5))).empty());
  EXPECT_FALSE(bench.apply(Forget{"ghost"}));
  EXPECT_FALSE(test::exists(bench.folder / "memory"));
  EXPECT_FALSE(test::value_of(test::run(bench.io, bench.memories.exists("reef"))));
}

TEST(Memory, ChangesAreInTheFileAndInTheNextProcess) {
  Bench bench;
  ASSERT_TRUE(bench.apply(Remember{"deploy", "blue vault", Names{"ship"}}));
  ASSERT_TRUE(bench.apply(Add{"week", "talked", {}, Kind::archive}));
  ASSERT_TRUE(bench.apply(Rename{"deploy", "rollout"}));
  const auto contents = bench.contents();
  EXPECT_EQ(*contents.entries.at(0),
            (Entry{1, 1'776'162'225, Kind::note, "rollout", "blue vault", {"ship"}}));
  EXPECT_TRUE(bench.on_disk() == contents);
  EXPECT_FALSE(test::exists(bench.path() + ".tmp"));
  struct ::stat info = {};
  ASSERT_EQ(::stat(bench.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  Memories after(bench.io.get_executor(), bench.documents, bench.pool, bench.clock);
  const auto again = test::run(bench.io, test::value_of(after.of("reef"))->contents());
  EXPECT_TRUE(*test::value_of(again) == contents);
}

TEST(Memory, AgentsHaveFilesOfTheirOwn) {
  Bench bench;
  ASSERT_TRUE(bench.apply(Remember{"a", "x", {}}, "one"));
  ASSERT_TRUE(bench.apply(Remember{"a", "y", {}}, "two"));
  EXPECT_EQ(bench.contents("one").find("a")->content, "x");
  EXPECT_EQ(bench.contents("two").find("a")->content, "y");
  EXPECT_TRUE(test::exists(bench.path("one.crmem")));
}

TEST(Memory, HostileAgentNamesStayInTheFolder) {
  EXPECT_EQ(*file_name_of("reef"), "reef.crmem");
  EXPECT_EQ(*file_name_of(".."), "%2E..crmem");
  EXPECT_EQ(*file_name_of("../../x"), "%2E.%2F..%2Fx.crmem");
  EXPECT_EQ(*file_name_of("a/b"), "a%2Fb.crmem");
  EXPECT_EQ(*file_name_of("a%2Fb"), "a%252Fb.crmem");
  EXPECT_EQ(*file_name_of("a b"), "a%20b.crmem");
  EXPECT_EQ(*file_name_of("größe"), "größe.crmem");
  EXPECT_EQ(*file_name_of(std::string("a\0b\n", 4)), "a%00b%0A.crmem");
  for (const auto& name : {std::string(), std::string(300, 'x'), std::string("\xff")})
    EXPECT_EQ(file_name_of(name).error().code, Errc::invalid);
  Bench bench;
  ASSERT_TRUE(bench.apply(Remember{"a", "x", {}}, "../../x"));
  EXPECT_TRUE(test::exists(bench.path("%2E.%2F..%2Fx.crmem")));
}

TEST(Memory, AnUnreadableFileAnswersWithItsErrorAndIsNotTouched) {
  Bench bench;
  ASSERT_TRUE(bench.apply(Remember{"a", "x", {}}, "healthy"));
  const std::string broken = "CRMEM\0 not really";
  test::write_file(bench.path(), broken);
  for (int i = 0; i < 2; ++i) {
    const auto read = test::run(bench.io, bench.open()->contents());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::corrupt);
    EXPECT_NE(read.error().what.find("reef.crmem: bad CRMEM format: byte"), std::string::npos);
    EXPECT_EQ(bench.apply(Remember{"a", "x", {}}).error().code, Errc::corrupt);
    EXPECT_EQ(bench.apply(Replace{}).error().code, Errc::corrupt);
    EXPECT_FALSE(test::run(bench.io, bench.open()->recall("x", 5)));
  }
  EXPECT_EQ(test::read_file(bench.path()), broken);
  EXPECT_EQ(bench.contents("healthy").entries.size(), 1U);
  // Once a person has repaired the file, it works without a restart.
  test::write_file(bench.path(), *serialize(bench.contents("healthy")));
  EXPECT_EQ(bench.contents().entries.size(), 1U);
  ASSERT_TRUE(bench.apply(Remember{"b", "y", {}}));
}

TEST(Memory, AFileThatIsPutThereMeanwhileIsTakenInAndNotOverwritten) {
  Bench bench;
  EXPECT_TRUE(bench.contents().entries.empty());
  Contents theirs;
  ASSERT_TRUE(memory::apply(theirs, Add{"theirs", "from CrabTalk", {}, Kind::archive}, 7));
  ASSERT_EQ(::mkdir((bench.folder / "memory").c_str(), 0700), 0);
  test::write_file(bench.path(), *serialize(theirs));
  ASSERT_TRUE(bench.apply(Remember{"ours", "x", {}}));
  EXPECT_EQ(bench.contents().entries.size(), 2U);
  EXPECT_EQ(bench.on_disk().find("theirs")->content, "from CrabTalk");
  // When the file is removed, the memory is empty.
  ASSERT_EQ(::unlink(bench.path().c_str()), 0);
  EXPECT_TRUE(bench.contents().entries.empty());
}

TEST(Memory, AFileOfCrabTalkIsOpenedUnchanged) {
  Bench bench;
  Contents theirs;
  ASSERT_TRUE(memory::apply(theirs, Add{"a", "x", {"ship"}, Kind::note}, 7));
  theirs.entries.push_back(
      std::make_shared<const Entry>(Entry{2, 8, Kind::note, "b", "y", {"ship", "a"}}));
  theirs.next_id = 12;
  const auto bytes = *serialize(theirs);
  ASSERT_EQ(::mkdir((bench.folder / "memory").c_str(), 0700), 0);
  test::write_file(bench.path(), bytes);
  EXPECT_TRUE(bench.contents() == theirs);
  EXPECT_EQ(test::read_file(bench.path()), bytes);
  // A change of one entry leaves the others as they are.
  ASSERT_TRUE(bench.apply(Remember{"c", "z", {}}));
  EXPECT_EQ(*bench.on_disk().entries.at(1), *theirs.entries.at(1));
  EXPECT_EQ(bench.on_disk().entries.at(2)->id, 12U);
}

TEST(Memory, OperationsAtOnceShareAWriteAndKeepTheirOrder) {
  Bench bench;
  const auto memory = bench.open();
  static_cast<void>(bench.contents());
  std::vector<std::optional<Result<EntryPtr>>> outcomes(102);
  TaskGroup tasks(bench.io.get_executor(), "test");
  const int before = bench.files.calls();
  for (std::size_t i = 0; i < 100; ++i)
    tasks.spawn(collect(*memory, Remember{"same", fmt::format("version {}", i), {}}, outcomes[i]));
  tasks.spawn(collect(*memory, Remember{"bad\n", "x", {}}, outcomes[100]));
  tasks.spawn(collect(*memory, Forget{"ghost"}, outcomes[101]));
  test::run(bench.io, tasks.join());
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ((**outcomes[i])->content, fmt::format("version {}", i));
  EXPECT_EQ(outcomes[100]->error().code, Errc::invalid);
  EXPECT_EQ(outcomes[101]->error().code, Errc::not_found);
  EXPECT_EQ(bench.on_disk().find("same")->content, "version 99");
  EXPECT_LT(bench.files.calls() - before, 40) << "the first write, and one for all that waited";
}

TEST(Memory, AReadDuringAWriteSeesTheDurableContents) {
  Bench bench;
  ASSERT_TRUE(bench.apply(Remember{"a", "old", {}}));
  const auto memory = bench.open();
  std::optional<Result<EntryPtr>> outcome;
  TaskGroup tasks(bench.io.get_executor(), "test");
  tasks.spawn(collect(*memory, Remember{"a", "new", {}}, outcome));
  const auto during = test::value_of(test::run(bench.io, memory->contents()));
  const auto content = during->find("a")->content;
  EXPECT_TRUE(content == "old" || content == "new");
  test::run(bench.io, tasks.join());
  EXPECT_EQ(bench.contents().find("a")->content, "new");
}

TEST(Memory, ManyMemoriesCanBeUsedInTurn) {
  Bench bench;
  const auto held = bench.open("held");
  for (int i = 0; i < 80; ++i)
    ASSERT_TRUE(bench.apply(Remember{"n", std::to_string(i), {}}, fmt::format("agent{}", i)));
  EXPECT_EQ(bench.open("held"), held) << "one that is in use is never opened twice";
  EXPECT_EQ(bench.contents("agent0").find("n")->content, "0");
}

TEST(Memory, RecallFollowsEveryChange) {
  Bench bench;
  ASSERT_TRUE(bench.apply(Remember{"deploy", "the key is in the blue vault", {}}));
  const auto find = [&](const std::string& query) {
    return test::value_of(test::run(bench.io, bench.open()->recall(query, 5))).size();
  };
  EXPECT_EQ(find("vault"), 1U);
  ASSERT_TRUE(bench.apply(Remember{"deploy", "the key is under the mat", {}}));
  EXPECT_EQ(find("vault"), 0U);
  EXPECT_EQ(find("mat"), 1U);
  ASSERT_TRUE(bench.apply(Forget{"deploy"}));
  EXPECT_EQ(find("mat"), 0U);
}

// --- the disk fails ---

// A series of operations and the contents that the acknowledged ones should have left.
struct Workload {
  explicit Workload(Bench& b) : bench(b) {
    step(Remember{"one", "1", Names{"uno"}});
    step(Add{"two", "2", {}, Kind::archive});
    step(Rename{"one", "first"});
    step(Alias{"two", {"deux"}, {}});
    step(Remember{"three", "3", {}});
    step(Forget{"three"});
    static_cast<void>(test::run(bench.io, bench.open()->recall("one", 3)).ok());
  }
  void step(const Operation& operation) {
    if (!bench.apply(operation)) {
      if (if_it_stands) return;
      if_it_stands = expected;
      ASSERT_TRUE(memory::apply(*if_it_stands, operation, 1'776'162'225));
      return;
    }
    ++acknowledged;
    ASSERT_TRUE(memory::apply(expected, operation, 1'776'162'225));
  }

  Bench& bench;
  Contents expected;
  std::optional<Contents> if_it_stands;  // with the first operation that failed
  int acknowledged = 0;
};

void expect_sound(Bench& bench, const Workload& work, const std::string& what) {
  bench.files.heal();
  const auto contents = bench.contents();
  EXPECT_EQ(*serialize(contents), *serialize(bench.on_disk())) << what << ": memory and disk";
  EXPECT_EQ(*serialize(contents), *serialize(work.expected)) << what << ": what was acknowledged";
  ASSERT_TRUE(bench.apply(Remember{"after", "x", {}})) << what << ": the next operation works";
  EXPECT_EQ(bench.on_disk().find("after")->content, "x") << what;
  EXPECT_FALSE(test::exists(bench.path() + ".tmp")) << what;
}

int calls_of_workload() {
  Bench bench;
  const Workload work(bench);
  EXPECT_EQ(work.acknowledged, 6);
  return bench.files.calls();
}

TEST(MemoryFaults, EverySystemCallMayFailOnce) {
  const int calls = calls_of_workload();
  ASSERT_GT(calls, 50);
  for (const int fault : {ENOSPC, EINTR}) {
    for (int nth = 1; nth <= calls; ++nth) {
      Bench bench;
      bench.files.fail_at(nth, fault);
      const Workload work(bench);
      EXPECT_TRUE(bench.files.hit()) << nth;
      expect_sound(bench, work, fmt::format("call {} fails with errno {}", nth, fault));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(MemoryFaults, EveryWriteMayBeCutShort) {
  const int calls = calls_of_workload();
  for (int nth = 1; nth <= calls; ++nth) {
    Bench bench;
    bench.files.cut_write_at(nth);
    const Workload work(bench);
    EXPECT_EQ(work.acknowledged, 6) << "a short write is no failure";
    expect_sound(bench, work, fmt::format("call {} writes half", nth));
    if (testing::Test::HasFailure()) return;
  }
}

// The disk fills up and stays full; then there is room again. Where not even the undo was possible,
// the failed operation may have taken effect, but memory and disk agree.
TEST(MemoryFaults, TheDiskMayStayBroken) {
  const int calls = calls_of_workload();
  for (int nth = 1; nth <= calls; ++nth) {
    Bench bench;
    bench.files.fail_at(nth, ENOSPC, true);
    const Workload work(bench);
    bench.files.heal();
    const auto contents = bench.contents();
    EXPECT_TRUE(contents == bench.on_disk()) << nth;
    EXPECT_TRUE(contents == work.expected || contents == work.if_it_stands) << nth;
    ASSERT_TRUE(bench.apply(Remember{"after", "x", {}})) << nth;
    if (testing::Test::HasFailure()) return;
  }
}

// Somebody puts another file there in the last moment before it is written, as often as told.
class Meddled final : public test::WrappedDocuments {
 public:
  Result<session::Version> replace(const std::string& name, std::string_view bytes,
                                   const session::Expected& expected) override {
    if (times > 0) {
      --times;
      Contents theirs;
      auto there = test::value_of(real.read(name, UINT64_MAX));
      if (there) theirs = test::value_of(parse(there->bytes));
      test::value_of(apply(theirs, Add{fmt::format("theirs {}", times), "x", {}}, 1));
      test::value_of(real.replace(name, test::value_of(serialize(theirs)), session::Whatever{}));
    }
    return real.replace(name, bytes, expected);
  }
  int times = 0;
};

TEST(MemoryEdits, OneBetweenTheLookAndTheWriteIsTakenIn) {
  boost::asio::io_context io{1};
  Meddled documents;
  Pool pool{1};
  FixedClock clock;
  Memories memories(io.get_executor(), documents, pool, clock);
  const auto memory = test::value_of(memories.of("reef"));
  ASSERT_TRUE(test::run(io, memory->apply(Remember{"first", "x", {}})));
  documents.times = 2;
  ASSERT_TRUE(test::run(io, memory->apply(Remember{"mine", "x", {}})));
  const auto contents = *test::value_of(test::run(io, memory->contents()));
  EXPECT_EQ(contents.entries.size(), 4U) << "the first, two of theirs and mine";
  // Whoever never lets us through is told to us, and nothing of theirs is lost.
  documents.times = 1000;
  const auto refused = test::run(io, memory->apply(Remember{"never", "x", {}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict);
  documents.times = 0;
  const auto after = *test::value_of(test::run(io, memory->contents()));
  EXPECT_EQ(after.entries.size(), 4U + 5U);
}

}  // namespace
}  // namespace reef::memory
