// Text to terms, queries to clauses, snippets.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/utf8.h"
#include "search/search.h"

namespace reef::search {
namespace {

std::string terms(std::string_view text) {
  Tokenizer tokenizer;
  std::string out;
  for (const auto& token : tokenizer.tokenize(text)) {
    if (!out.empty()) out += ' ';
    out += tokenizer.term(token);
  }
  return out;
}

struct Row {
  const char* text;
  const char* terms;
};

class TokenizerTable : public testing::TestWithParam<Row> {};

TEST_P(TokenizerTable, GivesTheseTerms) {
  EXPECT_EQ(terms(GetParam().text), GetParam().terms);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, TokenizerTable,
    testing::Values(
        Row{"", ""}, Row{"  ...!?  ", ""}, Row{"Hello, World", "hello world"},
        // identifiers
        Row{"fooBar_baz", "foobar_baz foo bar baz"}, Row{"HTTPServer", "httpserver http server"},
        Row{"__init__", "init"}, Row{"python3", "python3 python 3"},
        Row{"sha256", "sha256 sha 256"}, Row{"E0425", "e0425 0425"}, Row{"x86 i32", "x86 i32"},
        Row{"0x80070005", "0x80070005 80070005"}, Row{"0x1F", "0x1f"}, Row{"3fa9c1d2", "3fa9c1d2"},
        Row{"ECONNREFUSED", "econnrefused"},
        // compounds
        Row{"src/io/bar.cpp", "src io bar cpp src/io/bar.cpp bar.cpp"},
        Row{"/etc/hosts", "etc hosts etc/hosts"}, Row{"v1.2.3", "v1 1 2 3 v1.2.3"},
        Row{"std::vector", "std vector std::vector"}, Row{"C:\\Users\\x", "c users x users/x"},
        Row{"a@b.org", "a b org a@b.org"}, Row{"well-known.", "well known well-known"},
        Row{"x.cpp:42: error", "x cpp x.cpp 42 error"}, Row{"c++ and c#", "c c++ and c c#"},
        Row{"2025-01-02T10:20", "2025 01 02 2025-01-02 10 20"}, Row{"--flag=1", "flag 1"},
        // apostrophes
        Row{"Anna's", "anna"}, Row{"don't", "dont"}, Row{"we'll they\u2019re", "we they"},
        Row{"O'Brien", "obrien o brien"}, Row{"'quoted'", "quoted"},
        // other scripts
        Row{"Café ÀÉÎ", "cafe aei"}, Row{"Łódź Søren Æon Işık ışık", "lodz soren aeon isik isik"},
        Row{"שָׁלוֹם", "שלום"}, Row{"مُحَمَّد", "محمد"}, Row{"e\u0301te\u0301", "ete"},
        Row{"Straße", "strasse"}, Row{"ＡＢＣ１", "abc1"}, Row{"Привет, МИР", "привет мир"},
        Row{"ΟΔΟΣ", "οδοσ"}, Row{"東京都", "東京 京都 都"}, Row{"私", "私"},
        Row{"使うfoo", "使う う foo"}, Row{"한국어", "한국 국어 어"}, Row{"हिन्दी", "हिन्दी"},
        Row{"ok 🎉", "ok 🎉"},
        // not text
        Row{"a\xff\xfe"
            "b",
            "a b"},
        Row{"\xe6\x9d", ""}));

TEST(Tokenizer, PositionsCountRunsAndOffsetsPointIntoTheText) {
  Tokenizer tokenizer;
  const std::string text = "see src/fooBar.cpp, Élan";
  std::vector<std::string> seen;
  for (const auto& token : tokenizer.tokenize(text))
    seen.push_back(std::string(tokenizer.term(token)) + "@" + std::to_string(token.position) + "=" +
                   text.substr(token.begin, token.end - token.begin));
  const std::vector<std::string> expected{"see@0=see",
                                          "src@1=src",
                                          "foobar@2=fooBar",
                                          "foo@2=fooBar",
                                          "bar@2=fooBar",
                                          "cpp@3=cpp",
                                          "src/foobar.cpp@1=src/fooBar.cpp",
                                          "foobar.cpp@2=fooBar.cpp",
                                          "elan@4=Élan"};
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(tokenizer.words(), 5U);
}

TEST(Tokenizer, LongRunsAreCutOnACharacterAndLongTextsEnd) {
  std::string wide;
  for (int i = 0; i < 50; ++i) wide += "é\u0436";  // e, and a letter of two bytes
  Tokenizer tokenizer;
  const auto& tokens = tokenizer.tokenize(wide);
  ASSERT_EQ(tokens.size(), 1U);
  EXPECT_LE(tokens[0].size, kTermBytesMax);
  EXPECT_TRUE(utf8::valid(tokenizer.term(tokens[0])));
  std::string many;
  for (std::uint32_t i = 0; i < kWordsMax + 10; ++i) many += "w ";
  tokenizer.tokenize(many);
  EXPECT_EQ(tokenizer.stopped(), 2 * kWordsMax);
  EXPECT_EQ(tokenizer.words(), kWordsMax);
  tokenizer.tokenize(std::string_view(many).substr(tokenizer.stopped()));
  EXPECT_EQ(tokenizer.words(), 10U);
  EXPECT_EQ(tokenizer.stopped(), 20U);
}

std::string shown(const Query& query) {
  std::string out;
  for (const auto& clause : query.clauses) {
    if (!out.empty()) out += ' ';
    if (clause.occur == Clause::Occur::required) out += '+';
    if (clause.occur == Clause::Occur::excluded) out += '-';
    std::string joined;
    for (const auto& term : clause.terms) joined += (joined.empty() ? "" : " ") + term;
    if (clause.kind == Clause::Kind::phrase) joined = '"' + joined + '"';
    out += joined;
    if (clause.kind == Clause::Kind::prefix || clause.open) out += '*';
    if (clause.weight < 1) out += "~";
  }
  for (const auto& condition : query.conditions)
    out += " [" + std::string(condition.negated ? "-" : "") + condition.name + "|" +
           condition.subject + "|" + condition.op + "|" + condition.value + "]";
  return out;
}

class QueryTable : public testing::TestWithParam<Row> {};

TEST_P(QueryTable, MeansThis) {
  constexpr std::string_view names[] = {"role", "label", "in"};
  EXPECT_EQ(shown(parse_query(GetParam().text, {.condition_names = names})), GetParam().terms);
}

INSTANTIATE_TEST_SUITE_P(
    Queries, QueryTable,
    testing::Values(
        Row{"", ""}, Row{"   \t", ""}, Row{"red fish", "red fish"}, Row{"red red Red", "red"},
        Row{"+red -fish blue", "+red -fish blue"}, Row{"\"two words\" x", "+\"two words\" x"},
        Row{"-\"two words\" x", "-\"two words\" x"}, Row{"\"one\"", "+one"},
        Row{"\"unclosed words", "unclosed words"}, Row{"\"\"", ""}, Row{"foo*", "foo*"},
        Row{"*", ""}, Row{"-", ""}, Row{"--flag", "flag"}, Row{"- x", "x"}, Row{"-only", "only"},
        Row{"What did Anna paint?", "anna paint"}, Row{"to be or not to be", "to be or not"},
        Row{"the US border", "us border"}, Row{"role:tool red", "red [role||:|tool]"},
        Row{"-role:tool red", "red [-role||:|tool]"},
        Row{"label:priority>=2", " [label|priority|>=|2]"},
        Row{"label:owner=\"Anna B\" x", "x [label|owner|=|Anna B]"},
        Row{"role:\"a b\"", " [role||:|a b]"}, Row{"role: red", "role red"},
        Row{"http://x error: y", "http x error y"}, Row{"fooBar", "foobar foo~ bar~"},
        Row{"+src/a.cpp", "+\"src a cpp\""}, Row{"x.cpp", "x~ cpp~ x.cpp"}, Row{"東京", "東京 京"},
        Row{"京", "京*"},
        // The last character also stands alone, but only at the end of the text.
        Row{"\"東京\"", "+東京"}, Row{"+東京都", "+\"東京 京都\""}, Row{"x -東京", "x -東京"},
        Row{"\"京\"", "+京*"}, Row{"-京 x", "-京* x"}, Row{"\"검색 엔진\"", "+\"검색 색 엔진\""},
        Row{"-only role:tool", "-only [role||:|tool]"},
        // A single character may begin a pair, and so may the end of a phrase.
        Row{"+B站", "+\"b 站\"*"}, Row{"B站", "b 站*"}, Row{"x -C盘", "x -\"c 盘\"*"},
        Row{"+src/par*", "+\"src par\"*"}, Row{"x -src/par*", "x -\"src par\"*"},
        Row{"config.ya*", "config~ ya*~ config.ya*"}));

TEST(Query, TheLastWordIsOpenOnlyWhileItIsBeingTyped) {
  EXPECT_EQ(shown(parse_query("red fi", {.last_word_is_prefix = true})), "red fi*");
  EXPECT_EQ(shown(parse_query("red fi ", {.last_word_is_prefix = true})), "red fi");
}

TEST(Query, APastedPageIsCut) {
  std::string page;
  for (int i = 0; i < 100000; ++i) page += "w" + std::to_string(i) + " ";
  EXPECT_EQ(parse_query(page).clauses.size(), kClausesReadMax);
}

std::string marked(const Snippet& snippet) {
  std::string out = snippet.cut_before ? "..." : "";
  std::size_t at = 0;
  for (const auto& [begin, end] : snippet.matches) {
    out += snippet.text.substr(at, begin - at);
    out += "[" + std::string(snippet.text.substr(begin, end - begin)) + "]";
    at = end;
  }
  out += snippet.text.substr(at);
  return out + (snippet.cut_after ? "..." : "");
}

TEST(Snippet, MarksWordsFormsPrefixesAndParts) {
  const auto show = [](std::string_view text, std::string_view query) {
    return marked(Snippets(parse_query(query)).make(text, 200));
  };
  EXPECT_EQ(show("She painted a sunrise.", "painting sunrises"), "She [painted] a [sunrise].");
  EXPECT_EQ(show("call fooBar_baz now", "baz"), "call [fooBar_baz] now");
  EXPECT_EQ(show("see src/io/bar.cpp", "bar.cpp"), "see src/io/[bar.cpp]");
  EXPECT_EQ(show("testing testers", "test*"), "[testing] [testers]");
  EXPECT_EQ(show("新しい東京の", "東京"), "新しい[東京]の");
  EXPECT_EQ(show("nothing here", "elsewhere"), "nothing here");
}

// The search skips stretches that cannot hold a wanted word; this checks that they hold none.
TEST(Snippet, MarksWhatTakingTheWholeTextApartFinds) {
  const char* words[] = {"painting",
                         "Painted",
                         "fooBar_baz",
                         "src/io\\bar.cpp",
                         "C++",
                         "c",
                         "don't",
                         "dont",
                         "dying",
                         "die",
                         "lies",
                         "lying",
                         "mice",
                         "mouse",
                         "went",
                         "go",
                         "Café",
                         "cafe",
                         "東京都",
                         "sha256",
                         "a@b.org",
                         "1.2.3",
                         "x_y",
                         "__init__",
                         "men",
                         "man",
                         "built",
                         "building",
                         "3",
                         "std::vector",
                         "skies",
                         "sky",
                         "2025-01-02T10:00:00",
                         "IO",
                         "l'io"};
  const char* spaces[] = {" ",  "\n", "\t", "  ", ", ",  ". ", "\u00a0", "-", "/", " (", ") ", "\"",
                          "` ", "! ", "' ", " '", "++ ", "# ", "::",     ":", "_", "",   "\\"};
  SeededRandom random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto n = random.below(30); n > 0; --n) {
      text += words[random.below(std::size(words))];
      text += spaces[random.below(std::size(spaces))];
    }
    std::string asked;
    for (auto n = 1 + random.below(3); n > 0; --n)
      asked +=
          std::string(words[random.below(std::size(words))]) + (random.below(6) == 0 ? "* " : " ");
    const auto query = parse_query(asked);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> expected;
    Tokenizer tokenizer;
    Stemmer stemmer;
    for (const auto& token : tokenizer.tokenize(text)) {
      const std::string term(tokenizer.term(token));
      bool found = false;
      for (const auto& clause : query.clauses)
        for (const auto& wanted : clause.terms) {
          const bool prefix = clause.kind == Clause::Kind::prefix;
          found = found || term == wanted || (prefix && term.starts_with(wanted));
          if (prefix || !clause.forms || !Stemmer::applies(wanted) || !Stemmer::applies(term))
            continue;
          const std::string stem(stemmer.stem(wanted));
          found = found || (term.front() == stem.front() && stemmer.stem(term) == stem);
        }
      if (found) expected.emplace_back(token.begin, token.end);
    }
    std::sort(expected.begin(), expected.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> joined;
    for (const auto& [begin, end] : expected) {
      if (!joined.empty() && begin < joined.back().second)
        joined.back().second = std::max(joined.back().second, end);
      else
        joined.emplace_back(begin, end);
    }
    EXPECT_EQ(Snippets(query).make(text, 10'000).matches, joined) << text << " | " << asked;
  }
}

TEST(Snippet, IsCutAroundTheDensestPlaceOnCharacters) {
  std::string text = "red here first. ";
  for (int i = 0; i < 100; ++i) text += "größe ";
  text += "the red fish swims ";
  for (int i = 0; i < 100; ++i) text += "größe ";
  for (std::size_t bytes = 0; bytes < 120; ++bytes) {
    const auto snippet = Snippets(parse_query("red fish")).make(text, bytes);
    EXPECT_LE(snippet.text.size(), bytes);
    EXPECT_TRUE(utf8::valid(snippet.text));
    if (bytes >= 8) {
      EXPECT_NE(snippet.text.find("red fish"), std::string::npos) << bytes;
      EXPECT_EQ(snippet.matches.size(), 2U);
    }
    EXPECT_EQ(text.substr(snippet.offset, snippet.text.size()), snippet.text);
  }
}

}  // namespace
}  // namespace reef::search
