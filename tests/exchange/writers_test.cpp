// pi, Clawdbot, Markdown, NDJSON and HTML, through the seam.
#include <gtest/gtest.h>

#include "exchange/html/draw.h"
#include "exchange/outline.h"
#include "exchange/sources.h"
#include "support/exchange.h"

namespace reef::exchange {
namespace {

std::string line(const json::object& object) {
  return json::write(object) + "\n";
}

json::object entry(std::string_view type, std::string_view id, json::value parent,
                   json::object more) {
  json::object out{{"type", type},
                   {"id", id},
                   {"parentId", std::move(parent)},
                   {"timestamp", "2026-01-02T03:04:06.000Z"}};
  for (auto& [name, value] : more) out[name] = std::move(value);
  return out;
}

std::string user(std::string_view id, json::value parent, std::string_view text) {
  return line(entry("message", id, std::move(parent),
                    {{"message", json::object{{"role", "user"}, {"content", text}}}}));
}

std::string meta(std::string_view id, json::value parent, json::object data) {
  return line(entry("custom", id, std::move(parent),
                    {{"customType", session::kMetaType}, {"data", std::move(data)}}));
}

const std::string kHeader =
    R"({"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/srv/a:b"})"
    "\n";

struct Sample {
  explicit Sample(std::string text, std::string_view id = "s")
      : bytes(std::move(text)),
        transcript(session::read_transcript(bytes)),
        row(session::make_row(*session::SessionId::parse(id), bytes)) {}
  Exported exported() const { return Exported{row, transcript, {}, bytes}; }

  std::string bytes;
  session::Transcript transcript;
  session::Row row;
};

using Files = std::map<std::string, std::string>;

Files written(std::string_view format, const std::vector<const Sample*>& samples) {
  test::MemoryOutlet outlet;
  const auto found = find_format(format);
  EXPECT_TRUE(found.ok());
  const auto writer = (*found)->make(outlet);
  for (const auto* sample : samples) EXPECT_TRUE(writer->add(sample->exported()).ok());
  EXPECT_TRUE(writer->finish().ok());
  return outlet.files();
}

std::string one(std::string_view format, const Sample& sample) {
  const auto files = written(format, {&sample});
  EXPECT_EQ(files.size(), 1U);
  return files.begin()->second;
}

TEST(Formats, EveryFormatOfTheDocsIsThere) {
  for (const auto name :
       {"pi", "crabtalk", "craft", "craft-bundle", "clawdbot", "markdown", "ndjson", "html"})
    EXPECT_TRUE(find_format(name).ok()) << name;
  const auto wrong = find_format("pdf\x1b[31m");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().what.find("markdown"), std::string::npos);
  EXPECT_EQ(wrong.error().what.find('\x1b'), std::string::npos);
}

TEST(Formats, AnEmptySessionIsAFileInEach) {
  const Sample empty(kHeader);
  const Sample nothing("");
  for (const auto& format : formats()) {
    EXPECT_FALSE(written(format.name, {&empty}).empty()) << format.name;
    EXPECT_FALSE(written(format.name, {&nothing}).empty()) << format.name;
  }
}

TEST(PiWriter, NamesAndBytesAreAsPiExpects) {
  const Sample sample(kHeader + R"({"type":"message","id":"1","parentId":null,"n":1.0, "x":"é"})"
                                "\n");
  const auto files = written("pi", {&sample});
  EXPECT_EQ(files, (Files{{"--srv-a-b--/2026-01-02T03-04-05-678Z_s.jsonl", sample.bytes}}));
}

TEST(ClawdbotWriter, AKeyNamesItsNewestSessionAndTheOthersStayAsFiles) {
  const auto bound = [](std::string_view agent, std::string_view key, int at) {
    return kHeader +
           meta("m", nullptr, {{"key", key}, {"agent", agent}, {"boundAt", at}, {"name", "T"}});
  };
  const Sample newer(bound("Cook", "agent:Cook:bob", 200), "newer");
  const Sample older(bound("Cook", "agent:Cook:bob", 100), "older");
  const Sample other(bound("../..", "a\"b\n", 1), "other");
  const auto files = written("clawdbot", {&newer, &older, &other});
  EXPECT_EQ(files.at("agents/cook/sessions/newer.jsonl"), newer.bytes);
  EXPECT_EQ(files.at("agents/cook/sessions/older.jsonl"), older.bytes);
  EXPECT_EQ(files.at("agents/main/sessions/other.jsonl"), other.bytes);
  const auto store = json::parse(files.at("agents/cook/sessions/sessions.json"));
  ASSERT_TRUE(store.ok());
  ASSERT_EQ(store->get_object().size(), 1U);
  const auto& held = store->get_object().at("agent:Cook:bob").get_object();
  EXPECT_EQ(held.at("sessionId"), "newer");
  EXPECT_EQ(held.at("sessionFile"), "newer.jsonl");
  EXPECT_EQ(held.at("displayName"), "T");
  EXPECT_TRUE(
      json::parse(files.at("agents/main/sessions/sessions.json"))->get_object().contains("a\"b\n"));
}

TEST(MarkdownWriter, AFenceThatIsNeverClosedEndsWithItsMessage) {
  const Sample sample(kHeader + user("1", nullptr, "look\n~~~~js\nlet a") + user("2", "1", "next"));
  EXPECT_NE(one("markdown", sample).find("let a\n~~~~\n"), std::string::npos);
}

TEST(MarkdownWriter, TagsAreTextButCodeStaysCode) {
  const Sample sample(kHeader + user("1", nullptr,
                                     "</details> <b>x</b> `<i>` ``a ` <u>`` <https://x.org> 1 < 2\n"
                                     "```\n</details>\n```"));
  const auto text = one("markdown", sample);
  EXPECT_NE(text.find("&lt;/details> &lt;b>x&lt;/b> `<i>` ``a ` <u>`` <https://x.org> 1 < "
                      "2\n```\n</details>\n```"),
            std::string::npos)
      << text;
}

TEST(MarkdownWriter, ATitleIsOneLineOfPlainText) {
  const Sample sample(kHeader + meta("m", nullptr, {{"name", "# a\n*b* [c](d) <e>"}}));
  EXPECT_TRUE(one("markdown", sample).starts_with("# \\# a \\*b\\* \\[c\\](d) \\<e\\>\n"))
      << one("markdown", sample);
}

TEST(HtmlWriter, SeveralSessionsHaveAList) {
  const Sample a(kHeader + user("1", nullptr, "hi"), "a");
  const Sample index(kHeader + user("1", nullptr, "hi"), "index");
  const auto files = written("html", {&a, &index});
  EXPECT_EQ(files.size(), 3U);
  EXPECT_NE(files.at("index.html").find("href=\"a.html\""), std::string::npos);
  EXPECT_NE(files.at("index.html").find("href=\"session-index.html\""), std::string::npos);
}

TEST(HtmlWriter, BranchesInBranchesStayShallow) {
  // Each branch forks off the one before it in the file, so each would be nested in the other.
  constexpr int kBranches = 200;
  std::string text = kHeader + user("b0", nullptr, "root");
  const auto name = [](int i) { return "b" + std::to_string(i); };
  for (int i = 1; i < kBranches; ++i)
    text += user(name(i), json::value(name(i - 1)), "way " + name(i));
  for (int i = kBranches; i-- > 0;)
    text += user("end" + name(i), json::value(name(i)), "end " + name(i));
  const auto page = one("html", Sample(text));
  std::size_t depth = 0, deepest = 0;
  for (std::size_t at = 0; (at = page.find("details", at)) != std::string::npos; ++at) {
    if (page.compare(at - 1, 23, "<details class=\"branch\"") == 0)
      deepest = std::max(deepest, ++depth);
    if (page.compare(at - 2, 10, "</details>") == 0) --depth;
  }
  EXPECT_EQ(deepest, kBranchDepthMax);
  EXPECT_EQ(depth, 0U);
  for (int i = 1; i < kBranches; ++i) {
    EXPECT_NE(page.find(">way " + name(i) + "<"), std::string::npos) << i;
    EXPECT_NE(page.find(">end " + name(i) + "<"), std::string::npos) << i;
  }
}

TEST(RichText, LinksLeadOnlyWhereAPersonMayWantToGo) {
  using html::rich_text;
  using render::Breaks;
  EXPECT_NE(rich_text("[a](https://x.org/?a=1&b=\"2)", Breaks::soft).find("href=\"https://x.org/"),
            std::string::npos);
  for (const auto text : {"[a](javascript:x)", "[a](JAVASCRIPT:x)", "[a](java&#115;cript:x)",
                          "[a](data:text/html,x)", "[a](//x.org)", "[a](file:///etc)",
                          "[a](vbscript:x)", "<javascript:x>", "![a](data:image/svg+xml,x)"})
    EXPECT_EQ(rich_text(text, Breaks::soft).find("href"), std::string::npos) << text;
}

TEST(RichText, ATangleTakesNoTimeAndNoRoom) {
  using render::Breaks;
  const auto repeat = [](std::string_view text, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += text;
    return out;
  };
  for (const auto& text :
       {repeat("[", 100'000), repeat("*a _b ", 20'000), repeat("> ", 50'000),
        repeat("`", 99'999) + "a",
        repeat("|a", 2'000) + "\n" + repeat("|-", 2'000) + "\n" + repeat("|b\n", 20'000),
        repeat("- ", 20'000), repeat("![", 50'000), repeat("<", 100'000), repeat("&", 100'000)}) {
    const auto page = html::rich_text(text, Breaks::hard);
    EXPECT_LT(page.size(), 32 * text.size() + 8192) << text.substr(0, 8);
  }
}

TEST(Changes, AreTablesOfNumberedLines) {
  const auto page = html::drawn_diff(
      "--- a/x.py\n+++ b/x.py\n@@ -3,2 +3,2 @@\n # <b>\n-return one\n+return two\n");
  EXPECT_NE(page.find("x.py"), std::string::npos);
  EXPECT_NE(page.find("2 unchanged lines"), std::string::npos);
  EXPECT_NE(page.find("<tr class=\"d\"><td>4</td><td></td><td>-</td>"), std::string::npos) << page;
  EXPECT_NE(page.find("<mark>two</mark>"), std::string::npos) << page;
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(html::drawn_diff("no diff at all"), "");
}

TEST(Highlight, ColoursNeverChangeWhatIsSaid) {
  const std::string code =
      "int x = 1; // a \"b\n/* c */ 'd' `e` # f -- g <h> \"unclosed\nf(x)\n+a\n-b\n";
  for (const auto language :
       {"c++", "python", "sql", "yaml", "json", "lua", "css", "html", "diff", "nonsense"}) {
    std::string plain;
    bool tag = false;
    for (const char c : html::highlighted(language, code)) {
      if (c == '<') tag = true;
      if (!tag) plain.push_back(c);
      if (c == '>') tag = false;
    }
    EXPECT_EQ(plain, html::highlighted("nonsense", code)) << language;
  }
  EXPECT_NE(html::highlighted("C++", "return 1;").find("<span class=\"k\">return</span>"),
            std::string::npos);
}

}  // namespace
}  // namespace reef::exchange
