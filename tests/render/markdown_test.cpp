
#include <gtest/gtest.h>

#include "render/pieces.h"
#include "render/render.h"
#include "support/random.h"

namespace reef::render {
namespace {

using Kind = Block::Kind;

std::vector<Line> shown(std::string_view markdown, std::size_t width = 40) {
  return lay_out(parse_markdown(markdown), width);
}
std::string text_of(std::string_view markdown, std::size_t width = 40) {
  auto out = plain(shown(markdown, width));
  for (auto at = out.find(" \n"); at != std::string::npos; at = out.find(" \n")) out.erase(at, 1);
  return out;
}

TEST(Markdown, BecomesBlocksOfStyledRuns) {
  const auto blocks =
      parse_markdown("# Title\n\nSome **bold** and *italic* `code` ~~gone~~ words.\n");
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].kind, Kind::heading);
  EXPECT_EQ(blocks[0].level, 1U);
  const auto& words = blocks[1].words;
  ASSERT_EQ(words.size(), 9U);
  EXPECT_TRUE(words[1].style.bold);
  EXPECT_TRUE(words[3].style.italic);
  EXPECT_TRUE(words[5].style.code);
  EXPECT_TRUE(words[7].style.strike);
  EXPECT_EQ(plain(words), "Some bold and italic code gone words.");
}

TEST(Markdown, ListsNestAndTasksHaveBoxes) {
  EXPECT_EQ(text_of("- one\n  - two\n    more\n- [x] done\n- [ ] open\n"),
            "• one\n  • two more\n☑ done\n☐ open\n");
  EXPECT_EQ(text_of("9. nine\n10. ten\n"), " 9. nine\n10. ten\n");
  EXPECT_EQ(text_of("- one\n\n- two\n"), "• one\n\n• two\n");
  EXPECT_EQ(text_of("1. a\n   ```sh\n   ls\n   ```\n2. b\n"), "1. a\n   ls\n2. b\n");
}

TEST(Markdown, TablesFitTheWidth) {
  const auto* table = "| Name | Size |\n|:--|--:|\n| a | 1 |\n| long name | 20 |\n";
  EXPECT_EQ(text_of(table),
            "Name      │ Size\n──────────┼─────\na         │    1\nlong name │   20\n");
  EXPECT_EQ(text_of("| Head | Words |\n|---|---|\n| a | one two three four five |\n", 22),
            "Head │ Words\n─────┼────────────────\na    │ one two three\n     │ four five\n");
  // Columns that cannot stand beside each other are shown one under the other.
  EXPECT_EQ(text_of("| A | B | C |\n|---|---|---|\n| aaaaaaaaaa | bbbbbbbbbb | cccccccccc |\n", 20),
            "A: aaaaaaaaaa\nB: bbbbbbbbbb\nC: cccccccccc\n");
}

TEST(Markdown, OnlyHarmlessAddressesAreLinks) {
  const auto link = [](std::string_view text) {
    for (const auto& block : parse_markdown(text))
      for (const auto& span : block.words)
        if (!span.link.empty()) return span.link;
    return std::string("none");
  };
  EXPECT_EQ(link("[a](https://example.org)"), "https://example.org");
  EXPECT_EQ(link("see https://example.org/x?y=1&z=2 there"), "https://example.org/x?y=1&z=2");
  EXPECT_EQ(link("[a](javascript:alert(1))"), "none");
  EXPECT_EQ(link("[a](file:///etc/passwd)"), "none");
  EXPECT_EQ(link("[a][1]\n\n[1]: https://example.org"), "https://example.org");
  EXPECT_EQ(link("![p](https://example.org/p.png)"), "https://example.org/p.png");
}

TEST(Markdown, NothingInItCanDriveATerminal) {
  for (const auto& line :
       shown("a \x1b[2J b\n\n```\n\x1b]0;x\x07\n```\n\n| \x1b[1m |\n|---|\n| \xE2\x80\xAE |\n"))
    for (const auto& span : line) {
      EXPECT_EQ(span.text.find('\x1b'), std::string::npos);
      EXPECT_EQ(span.text.find("\xE2\x80\xAE"), std::string::npos);
    }
  EXPECT_EQ(text_of("&#27;[2J"), "␛[2J\n");
  EXPECT_EQ(text_of("&lt;b&gt; &amp; &hellip; &nosuch;"), "<b> & … &nosuch;\n");
}

TEST(Markdown, TagsAreText) {
  EXPECT_EQ(text_of("<b>x</b> <script>"), "<b>x</b> <script>\n");
}

TEST(Markdown, BreaksAreThoseOfWhoeverWrote) {
  EXPECT_EQ(text_of("one\ntwo"), "one two\n");
  EXPECT_EQ(plain(lay_out(parse_markdown("one\ntwo", {Breaks::hard}), 40)), "one\ntwo\n");
}

TEST(Markdown, TextBeyondAllMeasureIsShownAsItIs) {
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "> ";
  const auto blocks = parse_markdown(deep + "x");
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].kind, Kind::code);
  std::string wide = "|", bar = "|";
  for (int i = 0; i < 300; ++i) wide += "a|", bar += "---|";
  std::string table = wide + "\n" + bar + "\n";
  for (int i = 0; i < 90; ++i) table += "|x|\n";
  EXPECT_EQ(parse_markdown(table)[0].kind, Kind::code);
}

// Blocks as text, but for how tight lists are: md4c lets that depend on what follows a list.
std::string outline(const std::vector<Block>& blocks, std::size_t depth = 0) {
  const char* kinds[] = {"p", "h", "code", "quote", "list", "item", "table", "rule"};
  std::string out;
  for (const auto& block : blocks) {
    out += std::string(2 * depth, ' ') + kinds[static_cast<std::size_t>(block.kind)];
    out += " '" + plain(block.words) + block.code + "'\n" + outline(block.inner, depth + 1);
  }
  return out;
}

// A document of pieces that are hard to cut. Codes in items are closed there: of one that a line
// further left ends, md4c takes a fence for words, and the pieces do not; and behind two blank
// lines what it makes of an indented line depends on all that came before.
std::string random_document(test::Random& random) {
  std::vector<std::string> lines = {"words",
                                    "- item",
                                    "  - inner",
                                    "1. one",
                                    "   more of it",
                                    "> quote",
                                    "> - in quote",
                                    "",
                                    "",
                                    "",
                                    "# head",
                                    "===",
                                    "---",
                                    "***",
                                    "| a | b |",
                                    "| 1 | 2 |",
                                    "* [x] task",
                                    "`code` **bold**",
                                    "10) ten",
                                    "[link](https://a.b)",
                                    "- - both",
                                    "+"};
  if (random.below(2) == 0) {
    lines.insert(lines.end(), {"```", "```cpp", "~~~", "```` four"});
  } else {
    lines.insert(lines.end(), {"```\ncode\n\n- code\n```", "  ```\n  code\n\n  more\n  ```",
                               "   ```py\n   x\n   ```"});
  }
  std::string out;
  for (auto n = 1 + random.below(24); n > 0; --n) {
    const auto& line = lines[random.below(lines.size())];
    if (!line.empty() || !out.ends_with("\n\n")) out += line + "\n";
  }
  if (random.below(3) == 0) out.pop_back();
  return out;
}

TEST(Pieces, MakeTheBlocksThatTheWholeTextMakes) {
  auto random = test::seeded();
  for (int round = 0; round < 20000; ++round) {
    const auto text = random_document(random);
    const auto whole = parse_piece(text, {}, {});
    const auto pieces = parse_markdown(text);
    ASSERT_EQ(outline(pieces), outline(whole)) << "REEF_SEED=" << random.seed() << "\n" << text;
  }
}

TEST(MarkdownStream, GivesTheSameHoweverTheTextComes) {
  auto random = test::seeded();
  for (int round = 0; round < 2000; ++round) {
    auto text = random_document(random) + "é漢👍 end\n" + random_document(random);
    MarkdownStream stream;
    std::vector<Block> blocks;
    for (std::string_view rest = text; !rest.empty();) {
      const auto size = std::min(rest.size(), 1 + random.below(9));
      for (auto& block : stream.take(rest.substr(0, size))) blocks.push_back(std::move(block));
      rest.remove_prefix(size);
      // Open text never shows half a character.
      for (const auto& block : stream.open())
        EXPECT_EQ(plain(block.words).find("\xEF\xBF\xBD"), std::string::npos);
    }
    for (auto& block : stream.finish()) blocks.push_back(std::move(block));
    ASSERT_EQ(blocks, parse_markdown(text)) << "REEF_SEED=" << random.seed() << "\n" << text;
  }
}

TEST(MarkdownStream, FinishesBlocksAsSoonAsTheyAre) {
  MarkdownStream stream;
  EXPECT_TRUE(stream.take("One paragraph.\n\n").empty()) << "a list could still go on";
  EXPECT_EQ(stream.take("Another").size(), 0U);
  EXPECT_EQ(stream.take(" one\n").size(), 1U);
  EXPECT_EQ(stream.take("```sh\nls\n").size(), 1U);
  ASSERT_EQ(stream.open().size(), 1U);
  EXPECT_EQ(stream.open()[0].code, "ls\n");
  EXPECT_EQ(stream.take("```\n").size(), 0U);
  EXPECT_EQ(stream.take("More\n").size(), 1U);
  EXPECT_EQ(stream.finish().size(), 1U);
}

TEST(Layout, LinesFitWhateverTheDocumentIs) {
  auto random = test::seeded();
  for (int round = 0; round < 2000; ++round) {
    const auto text = random_document(random);
    const auto width_wanted = 30 + random.below(60);
    for (const auto& line : shown(text, width_wanted))
      EXPECT_LE(width(plain(line)), width_wanted) << "REEF_SEED=" << random.seed() << "\n" << text;
  }
}

}  // namespace
}  // namespace reef::render
