#include "exchange/foreign_file.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/base64.h"
#include "exchange/content.h"
#include "support/exchange.h"
#include "support/memory_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::exchange {
namespace {

using test::MemoryFiles;
using test::value_of;

std::vector<std::string> lines_of(MemoryFiles& files, const std::string& path) {
  std::vector<std::string> out;
  auto reader = value_of(LineReader::open(files, path));
  std::uint64_t consumed = 0;
  while (auto line = value_of(reader.next())) {
    out.push_back(std::to_string(line->number) + ":" + std::string(line->text) +
                  (line->ended ? "" : "|"));
    consumed += reader.consumed();
  }
  consumed += reader.consumed();
  EXPECT_EQ(consumed, reader.stat().size);
  return out;
}

TEST(LineReader, GivesLinesWhereverTheReadsEnd) {
  MemoryFiles files;
  files.put("/f", "\xEF\xBB\xBFone\r\n\n  \ntwo\nthree");
  for (const std::size_t piece : {1U, 2U, 3U, 5U, 1000U}) {
    files.read_at_most(piece);
    EXPECT_EQ(lines_of(files, "/f"), (std::vector<std::string>{"1:one", "4:two", "5:three|"}));
  }
}

TEST(LineReader, GrowsForALongLine) {
  MemoryFiles files;
  const std::string longest(3'000'000, 'x');
  files.put("/f", "a\n" + longest + "\nb\n");
  EXPECT_EQ(lines_of(files, "/f"), (std::vector<std::string>{"1:a", "2:" + longest, "3:b"}));
}

TEST(LineReader, ReadsNothingFromAnEmptyFile) {
  MemoryFiles files;
  files.put("/f", "");
  EXPECT_TRUE(lines_of(files, "/f").empty());
}

TEST(Source, APipeOrAFolderIsNoFileAndNobodyWaits) {
  PosixFiles files;
  const test::TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_source(files, folder / "pipe"));
  EXPECT_FALSE(read_source(files, folder.path()));
  EXPECT_FALSE(read_source(files, "/dev/zero"));
}

TEST(Source, TellsClocksApart) {
  const auto millis = [](json::value value) {
    const auto time = time_from(&value);
    return time ? unix_millis(*time) : -1;
  };
  EXPECT_EQ(millis(1'772'600'000'123), 1'772'600'000'123);
  EXPECT_EQ(millis(1'772'600'000), 1'772'600'000'000);
  EXPECT_EQ(millis(1'772'600'000'123'456), 1'772'600'000'123);
  EXPECT_EQ(millis(1'772'600'000'123'456'789), 1'772'600'000'123);
  EXPECT_EQ(millis(1.7726e12), 1'772'600'000'000);
  EXPECT_EQ(millis("2026-03-04T04:53:20Z"), 1'772'600'000'000);
  EXPECT_EQ(millis(0), -1);
  EXPECT_EQ(millis(-5), -1);
  EXPECT_EQ(millis(253'370'764'800'000), -1);  // the year 9999
  EXPECT_EQ(millis(1e300), -1);
  EXPECT_EQ(millis("9999-01-01T00:00:00Z"), -1);
  EXPECT_EQ(millis(true), -1);
  EXPECT_EQ(millis(nullptr), -1);
}

TEST(Source, AFileThatIsWrongAllOverIsNotDescribedLineByLine) {
  MemoryFiles files;
  test::MemoryIntake intake(files);
  {
    Report report(intake, "/f");
    for (std::uint64_t i = 1; i <= 250; ++i) report(i, "bad");
  }
  ASSERT_EQ(intake.problems().size(), 101U);
  EXPECT_EQ(intake.problems().back().why, "150 more lines could not be read");
}

TEST(Base64, ThereAndBack) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes.push_back(static_cast<char>(i * 7));
  }
  EXPECT_EQ(to_base64("hello"), "aGVsbG8=");
  EXPECT_FALSE(from_base64("aGVsbG8"));
  EXPECT_FALSE(from_base64("a\nVsbG8="));
  EXPECT_FALSE(from_base64("===="));
  EXPECT_EQ(from_base64(""), "");
}

json::object message(std::string_view content) {
  return json::object{{"content", value_of(json::parse(content))}};
}

TEST(Content, AnyBlocksComeBackInTheirOrder) {
  for (
      const std::string content : {
          R"([])",
          R"([{"type":"text","text":"hi"}])",
          R"([{"type":"text","text":""}])",
          R"([{"type":"text","text":"a"},{"type":"text","text":"b\nc"},{"type":"text","text":""}])",
          R"([{"type":"thinking","thinking":"hm"},{"type":"text","text":"é"},{"type":"toolCall","id":"1","name":"n","arguments":{"a":1}}])",
          R"([{"type":"toolCall","id":"1","name":"n","arguments":{}},{"type":"text","text":"after"}])",
          R"([{"type":"thinking","thinking":"x","thinkingSignature":"sig"},{"type":"thinking","thinking":"y"}])",
          R"([{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"see"},42,{"type":"new"}])",
          R"([{"type":"text","text":"a","textSignature":"s"},{"type":"toolCall","id":"1","name":"n","arguments":{},"thoughtSignature":"t"}])",
      }) {
    for (const auto thinking : {Thinking::apart, Thinking::in_layout})
      EXPECT_EQ(json::write(put_together(take_apart(message(content), thinking))), content);
  }
}

TEST(Content, AMessageEditedMeanwhileIsTakenAsItIsNow) {
  auto parts = take_apart(
      message(
          R"([{"type":"text","text":"one"},{"type":"image","data":"A","mimeType":"m"},{"type":"text","text":"two"}])"),
      Thinking::apart);
  parts.text = "changed";
  EXPECT_EQ(json::write(put_together(parts)),
            R"([{"type":"text","text":"changed"},{"type":"image","data":"A","mimeType":"m"}])");
}

TEST(Content, ALayoutNeverCutsACharacter) {
  Plain parts;
  parts.text = "é\nx";
  parts.layout = json::array{json::object{{"part", "text"}, {"bytes", 1}},
                             json::object{{"part", "text"}, {"bytes", 2}}};
  EXPECT_EQ(json::write(put_together(parts)), "[{\"type\":\"text\",\"text\":\"é\\nx\"}]");
}

}  // namespace
}  // namespace reef::exchange
