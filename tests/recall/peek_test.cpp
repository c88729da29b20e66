#include "recall/peek.h"

#include <optional>

#include <gtest/gtest.h>

#include "recall/reading.h"

namespace reef::recall {
namespace {

constexpr std::string_view kHead =
    R"({"type":"message","id":"a1b2","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":)";

std::string line(std::string_view message) {
  return std::string(kHead) + std::string(message) + "}";
}

// All lines share one Peek, so that remains of one line would show in the next.
std::optional<Peek> peek(std::string_view text, std::size_t bytes_max) {
  static Peek kept;
  if (!peek(text, bytes_max, kept)) return std::nullopt;
  return kept;
}

std::optional<Peek> peek_text(std::string_view text, std::size_t bytes_max) {
  static Peek kept;
  if (!peek_text(text, bytes_max, kept)) return std::nullopt;
  return kept;
}

TEST(Peek, SaysWhatReadingTheLineSays) {
  for (
      const auto* message : {
          R"({"role":"user","content":"plain"})",
          R"({"role":"user","content":[{"type":"text","text":"one"},{"type":"image","data":"AAAA"},{"type":"text","text":"two"}]})",
          R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"said \"so\"\n\u00e9\ud83d\ude42"}],"usage":{"input":1,"cost":{"total":0.5}}})",
          R"({"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"out"}],"isError":false})",
          R"({"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"x"}]})",
          R"({"role":"user","deep":{"content":"no","text":"no","id":"no"},"content":"yes"})",
      }) {
    const auto text = line(message);
    const auto read = read_tree(text, 0);
    const auto peeked = peek(text, 1000);
    ASSERT_TRUE(read && peeked) << message;
    EXPECT_EQ(peeked->text, read->said.text());
    EXPECT_EQ(peeked->entry, read->entry);
    EXPECT_EQ(peeked->tool, read->said.tool);
    for (const auto& bytes : {text, text + "\n" + line(R"({"role":"user","content":"next"})")}) {
      const auto only = peek_text(bytes, 1000);
      ASSERT_TRUE(only) << message;
      EXPECT_EQ(only->text, peeked->text);
      EXPECT_EQ(only->entry, peeked->entry);
      EXPECT_EQ(only->tool, peeked->tool);
      EXPECT_EQ(only->role, peeked->role);
    }
    const auto quickly = read_line(text, 7);
    ASSERT_TRUE(quickly);
    EXPECT_EQ(quickly->offset, 7U);
    EXPECT_EQ(quickly->time, read->time);
    EXPECT_EQ(quickly->entry, read->entry);
    EXPECT_EQ(quickly->said.role, read->said.role);
    EXPECT_EQ(quickly->said.tool, read->said.tool);
    ASSERT_EQ(quickly->said.parts.size(), read->said.parts.size());
    EXPECT_EQ(quickly->said.parts[0].field, read->said.parts[0].field);
    EXPECT_EQ(quickly->said.parts[0].text, read->said.parts[0].text);
  }
}

TEST(Peek, HiddenMessagesAreNotFound) {
  const std::string message = R"({"role":"user","content":"secret"})";
  for (const auto* flag : {R"("hidden":true)", R"("hidden": true)"}) {
    const auto behind = std::string(kHead) + message + "," + flag + "}";
    const auto before =
        "{" + std::string(flag) + "," + std::string(kHead.substr(1)) + message + "}";
    for (const auto& text : {behind, before}) {
      EXPECT_FALSE(read_line(text, 0)) << text;
      EXPECT_FALSE(read_tree(text, 0)) << text;
    }
  }
  const auto shown = std::string(kHead) + message + R"(,"hidden":false})";
  EXPECT_TRUE(read_line(shown, 0));
}

TEST(Peek, StopsWhenItHasEnough) {
  const auto text = line(R"({"role":"user","content":")" + std::string(5000, 'x') + R"("})");
  EXPECT_EQ(peek(text, 100)->text.size(), 101U);
  EXPECT_EQ(peek(text, 5000)->text.size(), 5000U);
  // The rest of the line is not looked at, so it may be anything.
  EXPECT_EQ(peek(text.substr(0, 3000), 100)->text.size(), 101U);
  EXPECT_FALSE(peek(text.substr(0, 3000), 4000));
}

TEST(Peek, LeavesTheRestToReading) {
  for (const auto* text :
       {"", "{}", "[]", "nonsense", R"({"type":"session_info","id":"x","name":"t"})",
        R"({"type":"message","id":"a","message":{"role":"bashExecution","command":"ls"}})",
        R"({"type":"message","message":{"role":"user","content":"no id"}})",
        R"({"type":"message","id":"a","message":{"role":"user","content":""}})"})
    EXPECT_FALSE(peek(text, 100)) << text;
  EXPECT_FALSE(peek(std::string(100'000, '['), 100));
}

TEST(Peek, ReadsEscapesAsTheyAreMeant) {
  const auto text = line(
      R"({"role":"user","content":"a\"b\\c\/d\b\f\n\r\te\u0041\u00e9\u20ac\ud83d\ude42 caf\u00E9 \u0000 end"})");
  const auto peeked = peek(text, 1000);
  const auto read = read_tree(text, 0);
  ASSERT_TRUE(peeked && read);
  EXPECT_EQ(peeked->text, read->said.text());
}

TEST(Peek, LeavesCallsAndBrokenCharactersToReading) {
  EXPECT_FALSE(peek(
      line(
          R"({"role":"assistant","content":[{"type":"text","text":"so"},{"type":"toolCall","id":"c","name":"bash","arguments":{}}]})"),
      100));
  for (const std::string_view content :
       {R"("half \ud83d of a pair")", R"("\ude42")", R"("\ud83dx")", R"("\u12g4")", R"("\x")",
        "\"\xff\"", "\"\xc3\"", "\"a\tb\"", "\"open", "\"open\\"})
    EXPECT_FALSE(peek(line(R"({"role":"user","content":)" + std::string(content) + "}"), 100))
        << content;
}

// The line may be cut after the text's end, but nothing may be taken from the next line.
TEST(Peek, ReadsTheTextOfALineThatGoesOn) {
  const auto text =
      line(R"({"role":"user","content":[{"type":"text","text":"so"}],"usage":{"a":1}})");
  EXPECT_EQ(peek_text(text.substr(0, text.find("usage")), 100)->text, "so");
  const auto next = "\n" + text;
  for (std::size_t bytes = 0; bytes < text.find("]"); ++bytes)
    EXPECT_FALSE(peek_text(text.substr(0, bytes) + next, 100)) << text.substr(0, bytes);
}

// Wherever the line is cut, peek gives the beginning of the text or nothing.
TEST(Peek, NeverLeavesWhatWasRead) {
  const auto text = line(
      R"({"role":"assistant","content":[{"type":"thinking","thinking":"h\"m"},{"type":"text","text":"é\u00e9 one"},{"type":"text","text":"two"}],"usage":{"a":[1,{"b":"]"}]}})");
  const auto whole = peek(text, 1000);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->text, "éé one\ntwo");
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes)
    for (const std::size_t most : {1U, 3U, 5U, 8U, 100U}) {
      const std::string copy = text.substr(0, bytes);  // shows reads past its end
      if (const auto peeked = peek(copy, most))
        EXPECT_EQ(peeked->text, whole->text.substr(0, most + 1)) << bytes << " " << most;
    }
}

}  // namespace
}  // namespace reef::recall
