#include <gtest/gtest.h>

#include "exchange/pi/pi.h"
#include "support/exchange.h"
#include "support/memory_files.h"

namespace reef::exchange {
namespace {

using test::MemoryFiles;
using test::MemoryIntake;

constexpr std::string_view kHeader =
    R"({"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/x"})"
    "\n";

std::string said(std::string_view id, std::string_view parent, std::string_view text) {
  const auto above = parent.empty() ? std::string("null") : '"' + std::string(parent) + '"';
  return std::string(R"({"type":"message","id":")") + std::string(id) + R"(","parentId":)" + above +
         R"(,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":")" +
         std::string(text) + "\"}}\n";
}

struct PiReader : testing::Test {
  std::vector<std::string> read(std::string bytes, std::string path = "/in/s.jsonl") {
    files.put(path, std::move(bytes));
    EXPECT_TRUE(read_pi(files, path, intake));
    return intake.sessions().empty() ? std::vector<std::string>() : intake.sessions().back().said();
  }

  MemoryFiles files;
  MemoryIntake intake{files};
};

TEST_F(PiReader, TakesASessionAsItStands) {
  EXPECT_EQ(read(std::string(kHeader) + said("a", "", "one") + said("b", "a", "two")),
            (std::vector<std::string>{"user: one", "user: two"}));
  const auto& head = intake.sessions()[0].head;
  EXPECT_EQ(head.origin, "pi:s");
  EXPECT_EQ(head.cwd, "/x");
  EXPECT_EQ(format_iso(head.created), "2026-01-02T03:04:05.678Z");
  EXPECT_TRUE(intake.problems().empty());
  EXPECT_EQ(intake.bytes_consumed(), std::string(kHeader).size() + said("a", "", "one").size() +
                                         said("b", "a", "two").size());
}

TEST_F(PiReader, ReadsTheSameWhereverTheReadsEnd) {
  files.read_at_most(7);
  EXPECT_EQ(read(std::string(kHeader) + said("a", "", "one") + said("b", "a", "two")).size(), 2U);
}

TEST_F(PiReader, KeepsEntriesThatNothingPointsTo) {
  EXPECT_EQ(read(std::string(kHeader) + said("a", "", "one") + said("b", "nobody", "two")),
            (std::vector<std::string>{"user: one", "user: two"}));
  EXPECT_EQ(intake.sessions()[0].entries[1].parent->text, "a");
  ASSERT_EQ(intake.problems().size(), 1U);
  EXPECT_EQ(intake.problems()[0].line, 3U);
}

TEST_F(PiReader, RepeatedLinesCountOnceAndRepeatedIdsTwice) {
  const auto one = said("a", "", "one");
  EXPECT_EQ(read(std::string(kHeader) + one + std::string(kHeader) + one + said("a", "a", "other") +
                 said("c", "a", "last")),
            (std::vector<std::string>{"user: one", "user: other", "user: last"}));
  const auto& entries = intake.sessions()[0].entries;
  // Children that follow belong to the later of two entries with one id.
  EXPECT_EQ(entries[2].parent, entries[1].id);
}

TEST_F(PiReader, SavesEntriesThatFollowAFragment) {
  EXPECT_EQ(read(std::string(kHeader) + said("a", "", "one") + R"({"type":"message","id":"x")" +
                 said("b", "a", "two")),
            (std::vector<std::string>{"user: one", "user: two"}));
}

TEST_F(PiReader, NamesFilesThatAreNoSessionsAndGoesOn) {
  files.put("/in/a/empty.jsonl", "");
  files.put("/in/a/junk.jsonl", "nothing\n{\"a\":1}\n");
  files.put_odd("/in/a/pipe.jsonl");
  files.put("/in/a/b/good.jsonl", std::string(kHeader) + said("a", "", "one"));
  files.put("/in/a/notes.txt", "x");
  ASSERT_TRUE(read_pi(files, "/in", intake));
  EXPECT_EQ(intake.sessions().size(), 1U);
  EXPECT_GE(intake.problems().size(), 3U);
}

TEST_F(PiReader, AFileWithoutAHeaderIsNamedAfterItsFile) {
  EXPECT_EQ(read(said("a", "", "one"), "/in/2026-01-02T03-04-05-678Z_uuid-1.jsonl").size(), 1U);
  EXPECT_EQ(intake.sessions()[0].head.origin, "pi:uuid-1");
  EXPECT_EQ(format_iso(intake.sessions()[0].head.created), "2026-01-02T03:04:05.678Z");
}

TEST_F(PiReader, VersionOneGetsTheSameIdsEveryTime) {
  const std::string v1 =
      R"({"type":"session","id":"s","timestamp":"2026-01-02T03:04:05.678Z"})"
      "\n"
      R"({"type":"message","timestamp":"x","message":{"role":"user","content":"one","timestamp":1767323046000}})"
      "\n"
      R"({"type":"message","message":{"role":"user","content":"two"}})"
      "\n";
  read(v1);
  const auto first = intake.sessions()[0].entries;
  read(v1 + R"({"type":"message","message":{"role":"user","content":"three"}})");
  const auto& second = intake.sessions()[1].entries;
  ASSERT_EQ(second.size(), 3U);
  EXPECT_EQ(first[0].id, second[0].id);
  EXPECT_EQ(first[1].id, second[1].id);
  EXPECT_EQ(second[2].parent, second[1].id);
  EXPECT_EQ(format_iso(first[0].time), "2026-01-02T03:04:06.000Z");
  EXPECT_EQ(json::find_string(first[0].body, "sourceTimestamp"), "x");
}

TEST_F(PiReader, AnUnchangedSessionIsNotRead) {
  files.put("/in/s.jsonl", std::string(kHeader) + said("a", "", "one"));
  ASSERT_TRUE(read_pi(files, "/in", intake));
  intake.know(intake.sessions()[0].head);
  ASSERT_TRUE(read_pi(files, "/in", intake));
  EXPECT_EQ(intake.sessions().size(), 1U);
}

}  // namespace
}  // namespace reef::exchange
