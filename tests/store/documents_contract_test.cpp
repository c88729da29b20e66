// What every session::Documents promises; both implementations are held to it.
#include <atomic>
#include <set>
#include <sys/stat.h>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/fs/fs_documents.h"
#include "store/mem/mem_documents.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::store {
namespace {

using session::Expected;
using session::Nothing;
using session::Version;
using session::Whatever;

constexpr std::uint64_t kMax = 1U << 20;

struct FsDocumentsHarness {
  FsDocumentsHarness() { ::mkdir((folder / "sessions").c_str(), 0700); }
  test::TempDir folder;
  PosixFiles files;
  FsDocuments documents{files, folder.path()};

  void make_session(const std::string& id) { ::mkdir((folder / ("sessions/" + id)).c_str(), 0700); }
};

struct MemDocumentsHarness {
  std::set<std::string> sessions;
  MemDocuments documents{[this](const std::string& id) { return sessions.contains(id); }};

  void make_session(const std::string& id) { sessions.insert(id); }
};

template <class Harness>
class DocumentsContract : public testing::Test {
 protected:
  std::string read(const std::string& name) {
    const auto document = test::value_of(documents.read(name, kMax));
    return document ? document->bytes : "(none)";
  }
  Version put(const std::string& name, const std::string& bytes,
              const Expected& expected = Whatever{}) {
    return test::value_of(documents.replace(name, bytes, expected));
  }
  std::vector<std::string> names(const std::string& folder) {
    return test::value_of(session::names_in(documents, folder, 1000));
  }
  // Runs the loop until the last change that was told of is `name`; empty: until any was.
  void drive_until(const std::vector<std::string>& told, const std::string& name) {
    const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
    const auto is_told = [&] { return !told.empty() && (name.empty() || told.back() == name); };
    while (!is_told() && std::chrono::steady_clock::now() < deadline) {
      io.restart();
      io.run_one_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(is_told()) << name;
  }

  boost::asio::io_context io{1};
  Harness harness;
  session::Documents& documents = harness.documents;
};

using DocumentsHarnesses = testing::Types<FsDocumentsHarness, MemDocumentsHarness>;
class DocumentsHarnessNames {
 public:
  template <class Harness>
  static std::string GetName(int) {
    return std::is_same_v<Harness, FsDocumentsHarness> ? "Fs" : "Mem";
  }
};
TYPED_TEST_SUITE(DocumentsContract, DocumentsHarnesses, DocumentsHarnessNames);

TYPED_TEST(DocumentsContract, WhatWasWrittenIsReadWithItsVersion) {
  EXPECT_EQ(this->read("statuses.toml"), "(none)");
  const auto version = this->put("statuses.toml", std::string("a\0b", 3));
  const auto there = test::value_of(this->documents.read("statuses.toml", kMax));
  ASSERT_TRUE(there);
  EXPECT_EQ(there->bytes, std::string("a\0b", 3));
  EXPECT_EQ(there->version, version);
  EXPECT_NE(this->put("statuses.toml", "b"), version);
  EXPECT_EQ(this->put("statuses.toml", std::string("a\0b", 3)), version);
  this->put("deep/down/in/folders.txt", "x");
  EXPECT_EQ(this->read("deep/down/in/folders.txt"), "x");
  this->put(".hidden", "h");
  EXPECT_EQ(this->read(".hidden"), "h");
  this->put("empty", "");
  EXPECT_EQ(this->read("empty"), "");
}

TYPED_TEST(DocumentsContract, TooManyBytesAreNotRead) {
  this->put("big", std::string(11, 'x'));
  EXPECT_EQ(this->documents.read("big", 10).error().code, Errc::too_large);
  EXPECT_TRUE(this->documents.read("big", 11));
}

TYPED_TEST(DocumentsContract, AChangeIsMadeOnlyToWhatWasExpected) {
  const auto first = this->put("a", "1", Nothing{});
  EXPECT_EQ(this->documents.replace("a", "2", Nothing{}).error().code, Errc::conflict);
  const auto second = this->put("a", "2", first);
  EXPECT_EQ(this->documents.replace("a", "3", first).error().code, Errc::conflict);
  EXPECT_EQ(this->documents.remove("a", first).error().code, Errc::conflict);
  EXPECT_EQ(this->read("a"), "2");
  ASSERT_TRUE(this->documents.remove("a", second));
  EXPECT_EQ(this->read("a"), "(none)");
  EXPECT_EQ(this->documents.replace("a", "3", second).error().code, Errc::conflict);
  EXPECT_EQ(this->documents.remove("a", Whatever{}).error().code, Errc::not_found);
  EXPECT_EQ(this->read("a"), "(none)");
}

TYPED_TEST(DocumentsContract, ARenameTakesTheNameOrLeavesBoth) {
  this->put("memory/a.crmem", "A");
  this->put("memory/b.crmem", "B");
  EXPECT_EQ(this->documents.rename("memory/a.crmem", "memory/b.crmem", Nothing{}).error().code,
            Errc::conflict);
  EXPECT_EQ(this->documents.rename("memory/c.crmem", "memory/d.crmem", Nothing{}).error().code,
            Errc::not_found);
  EXPECT_EQ(this->read("memory/b.crmem"), "B");
  ASSERT_TRUE(this->documents.rename("memory/a.crmem", "elsewhere/a", Nothing{}));
  EXPECT_EQ(this->read("memory/a.crmem"), "(none)");
  ASSERT_TRUE(this->documents.rename("elsewhere/a", "memory/b.crmem", Whatever{}));
  EXPECT_EQ(this->read("memory/b.crmem"), "A");
  EXPECT_EQ(this->names("memory/"), std::vector<std::string>{"memory/b.crmem"});
}

TYPED_TEST(DocumentsContract, HostileNamesLeadNowhere) {
  this->harness.make_session("s");
  std::string deep = "x";
  for (int i = 0; i < 30; ++i) deep += "/x";
  for (const std::string& name : {std::string(),
                                  std::string("/etc/passwd"),
                                  std::string("../a"),
                                  std::string("a/../b"),
                                  std::string("a//b"),
                                  std::string("a/"),
                                  std::string("./a"),
                                  std::string("a\0b", 3),
                                  std::string(300, 'a'),
                                  deep,
                                  std::string("config.toml"),
                                  std::string("run/token"),
                                  std::string("logs/reefd.log"),
                                  std::string("index/x"),
                                  std::string("catalog"),
                                  std::string("trash/s/session.jsonl"),
                                  std::string("staging/x"),
                                  std::string("a.tmp"),
                                  std::string("sessions"),
                                  std::string("sessions/s"),
                                  std::string("sessions/s/session.jsonl"),
                                  std::string("sessions/.incoming/1"),
                                  std::string("sessions/../x/data/y"),
                                  std::string("sessions/s/data"),
                                  std::string("sessions/s/session.jsonl.torn"),
                                  std::string("sessions/s/data/../session.jsonl")}) {
    EXPECT_EQ(this->documents.read(name, kMax).error().code, Errc::invalid) << name;
    EXPECT_EQ(this->documents.replace(name, "x", Whatever{}).error().code, Errc::invalid) << name;
    EXPECT_EQ(this->documents.remove(name, Whatever{}).error().code, Errc::invalid) << name;
    EXPECT_EQ(this->documents.open(name).error().code, Errc::invalid) << name;
    EXPECT_EQ(this->documents.rename("a", name, Whatever{}).ok(), false) << name;
    EXPECT_FALSE(this->documents.unchanged(name, std::nullopt)) << name;
    if (!name.ends_with('/')) {
      EXPECT_FALSE(this->documents.watch(this->io.get_executor(), name, [](const std::string&) {}))
          << name;
    }
    auto fresh = test::value_of(this->documents.receive());
    EXPECT_EQ(fresh->keep(name, Whatever{}).error().code, Errc::invalid) << name;
  }
  for (const auto* folder : {"", "/", "agents", "../", "sessions/", "run/"})
    EXPECT_EQ(this->documents.list(folder, 10, "").error().code, Errc::invalid) << folder;
}

TYPED_TEST(DocumentsContract, NothingIsMadeOfASessionThatIsNotThere) {
  const std::string name = "sessions/s/data/x";
  EXPECT_EQ(this->read(name), "(none)");
  EXPECT_EQ(this->documents.open(name).error().code, Errc::not_found);
  EXPECT_EQ(this->documents.list("sessions/s/", 10, "").error().code, Errc::not_found);
  EXPECT_EQ(this->documents.replace(name, "x", Whatever{}).error().code, Errc::not_found);
  auto fresh = test::value_of(this->documents.receive());
  EXPECT_EQ(fresh->keep(name, Nothing{}).error().code, Errc::not_found);
  this->harness.make_session("s");
  EXPECT_TRUE(this->names("sessions/s/").empty());
  EXPECT_TRUE(this->names("sessions/s/data/").empty());
  this->put(name, "x", Nothing{});
  EXPECT_EQ(this->names("sessions/s/"), std::vector<std::string>{name});
  EXPECT_EQ(this->names("sessions/s/data/"), std::vector<std::string>{name});
  EXPECT_TRUE(this->names("sessions/s/plans/").empty());
}

TYPED_TEST(DocumentsContract, PagesStayInOrderWhileDocumentsAreAdded) {
  EXPECT_TRUE(this->names("agents/").empty());
  for (int i = 0; i < 25; ++i) this->put(fmt::format("agents/{:02}", i), "x");
  this->put("agents/removed/00", "x");
  this->put("agentsz", "x");
  std::vector<std::string> seen;
  std::string cursor;
  do {
    const auto page = test::value_of(this->documents.list("agents/", 10, cursor));
    for (const auto& one : page.documents) {
      EXPECT_EQ(one.bytes, 1U);
      seen.push_back(one.name);
    }
    cursor = page.cursor;
    this->put("agents/00-late", "x");
    this->put("agents/zz", "x");
  } while (!cursor.empty());
  ASSERT_EQ(seen.size(), 27U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), "agents/zz");
}

TYPED_TEST(DocumentsContract, LargeOnesComeAndGoInPieces) {
  const std::string half(300'000, 'h');
  {
    auto never = test::value_of(this->documents.receive());
    ASSERT_TRUE(never->write("x"));
  }
  auto fresh = test::value_of(this->documents.receive());
  ASSERT_TRUE(fresh->write(half));
  ASSERT_TRUE(fresh->write("end"));
  EXPECT_EQ(fresh->bytes(), half.size() + 3);
  EXPECT_EQ(test::value_of(fresh->read(half.size() - 1, 10)), "hend");
  this->put("taken", "t");
  EXPECT_EQ(fresh->keep("taken", Nothing{}).error().code, Errc::conflict);
  ASSERT_TRUE(fresh->keep("large", Nothing{}));
  fresh.reset();
  EXPECT_EQ(this->read("taken"), "t");
  const auto open = test::value_of(this->documents.open("large"));
  EXPECT_EQ(open->info().name, "large");
  EXPECT_EQ(open->info().bytes, half.size() + 3);
  EXPECT_GT(open->info().modified, TimePoint());
  // What was opened stays what it was.
  this->put("large", "other");
  EXPECT_EQ(test::value_of(open->read(half.size() - 1, 2)), "he");
  EXPECT_EQ(test::value_of(open->read(half.size() + 3, 2)), "");
}

TYPED_TEST(DocumentsContract, UnchangedIsNeverSaidOfWhatChanged) {
  EXPECT_TRUE(this->documents.unchanged("a", std::nullopt));
  const auto one = this->put("a", "1");
  EXPECT_FALSE(this->documents.unchanged("a", std::nullopt));
  this->put("a", "2");
  EXPECT_FALSE(this->documents.unchanged("a", one));
  ASSERT_TRUE(this->documents.remove("a", Whatever{}));
  EXPECT_FALSE(this->documents.unchanged("a", one));
  EXPECT_TRUE(this->documents.unchanged("a", std::nullopt));
}

// Of many that change it at once each counts, so nobody wrote over another.
TYPED_TEST(DocumentsContract, ManyThreadsLoseNoChange) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 25;
  this->put("counter", "0");
  std::vector<std::thread> threads;
  std::atomic<bool> failed = false;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int done = 0; done < kTimes;) {
        const auto there = this->documents.read("counter", kMax);
        if (!there || !*there) {
          failed = true;
          return;
        }
        const auto next = std::to_string(std::stoi((*there)->bytes) + 1);
        const auto put = this->documents.replace("counter", next, (*there)->version);
        if (put) ++done;
        if (!put && put.error().code != Errc::conflict) {
          failed = true;
          return;
        }
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(failed);
  EXPECT_EQ(this->read("counter"), std::to_string(kThreads * kTimes));
}

TYPED_TEST(DocumentsContract, AWatchTellsOfChangesUntilItEnds) {
  std::vector<std::string> all, one;
  auto loop = this->io.get_executor();
  auto below = test::value_of(this->documents.watch(
      loop, "agents/", [&](const std::string& name) { all.push_back(name); }));
  auto single = test::value_of(this->documents.watch(
      loop, "agents/a.toml", [&](const std::string& name) { one.push_back(name); }));
  this->put("agents/first", "x");  // the folder comes with it, and may be all that is told of
  this->drive_until(all, "");
  this->put("agents/a.toml", "x");
  this->put("labels.toml", "x");
  this->put("agents/end", "x");
  this->drive_until(all, "agents/end");
  for (const auto& name : all) EXPECT_TRUE(name.starts_with("agents/")) << name;
  EXPECT_NE(std::find(all.begin(), all.end(), "agents/a.toml"), all.end());
  this->put("agents/removed/x", "x");
  this->put("agents/a.toml", "y");
  this->drive_until(all, "agents/a.toml");
  this->drive_until(one, "agents/a.toml");
  for (const auto& name : one) EXPECT_EQ(name, "agents/a.toml");
  ASSERT_TRUE(this->documents.rename("agents/end", "agents/elsewhere", Nothing{}));
  this->drive_until(all, "agents/elsewhere");
  ASSERT_TRUE(this->documents.remove("agents/elsewhere", Whatever{}));
  const auto count = one.size();
  single.reset();
  this->put("agents/a.toml", "z");
  this->put("agents/last", "x");
  this->drive_until(all, "agents/last");
  EXPECT_EQ(one.size(), count);
}

}  // namespace
}  // namespace reef::store
