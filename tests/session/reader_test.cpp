// The traps of the transcript format, one test each. See docs/formats/transcript.md.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "session/context.h"
#include "session/transcript.h"

namespace reef::session {
namespace {

const std::string kHeader =
    R"({"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/x"})"
    "\n";

// A user message. The parent "" is written as null; "-" leaves the field out.
std::string line(const std::string& id, const std::string& parent, const std::string& text) {
  const auto parent_field = parent == "-"    ? std::string()
                            : parent.empty() ? std::string(R"("parentId":null,)")
                                             : fmt::format(R"("parentId":"{}",)", parent);
  return fmt::format(R"({{"type":"message","id":"{}",{}"timestamp":"2026-01-02T03:04:06.000Z",)"
                     R"("message":{{"role":"user","content":"{}","timestamp":1}}}})"
                     "\n",
                     id, parent_field, text);
}

std::string words(const Transcript& transcript) {
  std::string out;
  for (const auto& message : for_model(build_context(transcript.branch())))
    out += text_of(*message) + " ";
  return out;
}

std::vector<Damage::Kind> kinds(const Transcript& transcript) {
  std::vector<Damage::Kind> out;
  for (const auto& damage : transcript.damage()) out.push_back(damage.kind);
  return out;
}

using K = Damage::Kind;

TEST(Reader, AWholeFileHasNoDamage) {
  const Transcript transcript(
      read_transcript(kHeader + line("a", "", "one") + line("b", "a", "two")));
  EXPECT_TRUE(transcript.damage().empty());
  EXPECT_EQ(words(transcript), "one two ");
  EXPECT_EQ(transcript.header().id, "s");
}

TEST(Reader, ATornTailIsReportedAndNothingBeforeItIsLost) {
  const auto whole = kHeader + line("a", "", "one") + line("b", "a", "two");
  const auto bytes = whole + R"({"type":"message","id":"c","parentId":"b","mess)";
  const auto reading = read_transcript(bytes);
  EXPECT_EQ(reading.whole_bytes, whole.size());
  EXPECT_FALSE(reading.tail_is_entry);
  const Transcript transcript{Reading(reading)};
  EXPECT_EQ(kinds(transcript), std::vector{K::torn_tail});
  EXPECT_EQ(words(transcript), "one two ");
}

TEST(Reader, AnEntryWithoutItsNewlineCounts) {
  auto bytes = kHeader + line("a", "", "one");
  bytes.pop_back();
  const auto reading = read_transcript(bytes);
  EXPECT_TRUE(reading.tail_is_entry);
  EXPECT_EQ(words(Transcript{Reading(reading)}), "one ");
}

TEST(Reader, AnEntryGluedToAFragmentIsSaved) {
  const auto bytes = kHeader + line("a", "", "one") + R"({"type":"message","id":"x","par)" +
                     line("b", "a", "two") + line("c", "b", "three");
  const Transcript transcript(read_transcript(bytes));
  EXPECT_EQ(words(transcript), "one two three ");
  EXPECT_EQ(kinds(transcript), (std::vector{K::glued_line, K::bad_line}));
}

TEST(Reader, TwoEntriesOnOneLineAreBothRead) {
  auto first = line("b", "a", "two");
  first.pop_back();
  const Transcript transcript(
      read_transcript(kHeader + line("a", "", "one") + first + line("c", "b", "three")));
  EXPECT_EQ(words(transcript).find("three") != std::string::npos, true) << words(transcript);
}

TEST(Reader, AMissingParentFieldDoesNotCutHistory) {
  const Transcript transcript(
      read_transcript(kHeader + line("a", "", "one") + line("b", "-", "two")));
  EXPECT_EQ(words(transcript), "one two ");
  EXPECT_EQ(kinds(transcript), std::vector{K::missing_parent});
}

TEST(Reader, ADanglingParentIsAttachedToThePredecessor) {
  const Transcript transcript(
      read_transcript(kHeader + line("a", "", "one") + line("b", "lost", "two")));
  EXPECT_EQ(words(transcript), "one two ");
  EXPECT_EQ(kinds(transcript), std::vector{K::missing_parent});
}

TEST(Reader, CyclesEnd) {
  const Transcript self(read_transcript(kHeader + line("a", "a", "one") + line("b", "a", "two")));
  EXPECT_EQ(words(self), "one two ");
  const Transcript pair(read_transcript(kHeader + line("a", "b", "one") + line("b", "a", "two")));
  EXPECT_EQ(words(pair), "one two ");
}

TEST(Reader, DuplicateIdsKeepBothLines) {
  const Transcript transcript(read_transcript(kHeader + line("a", "", "one") +
                                              line("b", "a", "two") + line("a", "b", "three") +
                                              line("c", "a", "four")));
  EXPECT_EQ(words(transcript), "one two three four ");
  EXPECT_EQ(kinds(transcript), std::vector{K::duplicate_id});
}

TEST(Reader, BomCrlfAndBlankLinesAreFine) {
  auto bytes =
      "\xEF\xBB\xBF" + kHeader + "\n" + line("a", "", "one") + "   \n" + line("b", "a", "two");
  std::string crlf;
  for (const char c : bytes) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const Transcript transcript{read_transcript(crlf)};
  EXPECT_TRUE(transcript.damage().empty());
  EXPECT_EQ(words(transcript), "one two ");
}

TEST(Reader, BadLinesAreReportedWithTheirPlace) {
  const Transcript transcript(
      read_transcript(kHeader + line("a", "", "one") + "what?\n[1]\n" + line("b", "a", "two")));
  EXPECT_EQ(words(transcript), "one two ");
  ASSERT_EQ(kinds(transcript), (std::vector{K::bad_line, K::bad_line}));
  EXPECT_EQ(transcript.damage()[0].line, 3U);
  EXPECT_EQ(transcript.damage()[0].offset, kHeader.size() + line("a", "", "one").size());
}

TEST(Reader, AFileWithoutAHeaderIsStillRead) {
  const Transcript transcript(read_transcript(line("a", "", "one")));
  EXPECT_EQ(words(transcript), "one ");
  EXPECT_EQ(kinds(transcript), std::vector{K::no_header});
}

TEST(Reader, Version1FilesAreALinearChain) {
  const auto bytes =
      std::string(R"({"type":"session","id":"s","timestamp":"2025-01-02T03:04:05.678Z"})") + "\n" +
      R"({"type":"message","timestamp":"2025-01-02T03:04:06.000Z","message":{"role":"user","content":"one"}})"
      "\n" +
      R"({"type":"message","timestamp":"2025-01-02T03:04:07.000Z","message":{"role":"user","content":"two"}})"
      "\n";
  const Transcript transcript(read_transcript(bytes));
  EXPECT_TRUE(transcript.damage().empty());
  EXPECT_EQ(words(transcript), "one two ");
}

TEST(Reader, UnknownTypesAndFieldsAreKeptAndCarryTheBranch) {
  const std::string odd =
      R"({"type":"hologram","id":"h","parentId":"a","timestamp":"x","data":{"k":[1,2]}})";
  const Transcript transcript(
      read_transcript(kHeader + line("a", "", "one") + odd + "\n" + line("b", "h", "two")));
  EXPECT_TRUE(transcript.damage().empty());
  EXPECT_EQ(words(transcript), "one two ");
  EXPECT_EQ(entry_line(transcript.entries()[1]), odd + "\n");
}

TEST(Reader, TheContextHasNoFailedRepliesAndTheShownPartOfCancelledOnes) {
  const auto reply = [](const char* id, const char* parent, const char* reason) {
    return fmt::format(
        R"({{"type":"message","id":"{}","parentId":"{}","timestamp":"2026-01-02T03:04:06.000Z",)"
        R"("message":{{"role":"assistant","content":[{{"type":"text","text":"{}"}}],"stopReason":"{}"}}}})"
        "\n",
        id, parent, reason, reason);
  };
  const Transcript transcript(read_transcript(kHeader + line("a", "", "one") +
                                              reply("b", "a", "aborted") +
                                              reply("c", "b", "error") + reply("d", "c", "stop")));
  EXPECT_EQ(words(transcript), "one aborted\n\n[This answer was interrupted here.] stop ");
}

TEST(Reader, FeedingInPiecesGivesTheSameAsWhole) {
  const std::string bytes = kHeader + line("a", "", "one") + "junk\n" + line("b", "lost", "two") +
                            line("c", "b", "three") + "{\"torn";
  const auto whole = read_transcript(bytes);
  SeededRandom random(3);
  for (int round = 0; round < 50; ++round) {
    TranscriptReader reader;
    std::string held;
    std::size_t at = 0;
    while (at < bytes.size()) {
      const auto size = std::min<std::size_t>(1 + random.below(60), bytes.size() - at);
      held += bytes.substr(at, size);
      at += size;
      held.erase(0, reader.feed(held, at == bytes.size()));
    }
    EXPECT_EQ(reader.reading().entries.size(), whole.entries.size());
    EXPECT_EQ(reader.reading().damage.size(), whole.damage.size());
    EXPECT_EQ(reader.reading().whole_bytes, whole.whole_bytes);
  }
}

// Cutting a file anywhere loses at most the line the cut is in.
TEST(Reader, EveryTruncationKeepsAllWholeLines) {
  const std::string bytes =
      kHeader + line("a", "", "one") + line("b", "a", "two") + line("c", "b", "three");
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto cut = bytes.substr(0, size);
    const auto lines = static_cast<std::size_t>(std::count(cut.begin(), cut.end(), '\n'));
    const auto reading = read_transcript(cut);
    EXPECT_GE(reading.entries.size() + 1, lines) << size;
    EXPECT_LE(reading.entries.size(), lines) << size;
  }
}

}  // namespace
}  // namespace reef::session
