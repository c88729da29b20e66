// Width, wrapping and cutting: what a terminal of cells needs to know of text.
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "render/render.h"
#include "support/random.h"

namespace reef::render {
namespace {

TEST(Width, IsThatOfWhatPeopleSee) {
  struct Case {
    const char* text;
    std::size_t cells;
  };
  for (const auto& one :
       {Case{"", 0}, Case{"abc", 3}, Case{"é", 1}, Case{"e\u0301", 1}, Case{"漢字", 4},
        Case{"ｱ", 1}, Case{"Ａ", 2}, Case{"👍", 2}, Case{"👍🏽", 2}, Case{"👩‍👩‍👧", 2},
        Case{"🇫🇷", 2}, Case{"❤️", 2}, Case{"1️⃣", 2}, Case{"한국", 4}, Case{"नमस्ते", 4},
        Case{"a\u200d", 1}})
    EXPECT_EQ(width(one.text), one.cells) << one.text;
}

TEST(Width, ABeginningNeverCutsACharacter) {
  EXPECT_EQ(prefix_of_width("ab漢", 3), "ab");
  EXPECT_EQ(prefix_of_width("ab漢", 4), "ab漢");
  EXPECT_EQ(prefix_of_width("e\u0301x", 1), "e\u0301");
  EXPECT_EQ(fitted("hello", 5), "hello");
  EXPECT_EQ(fitted("hello!", 5), "hell…");
  EXPECT_EQ(fitted("漢字漢", 5), "漢字…");
  EXPECT_EQ(fitted("hello", 0), "");
}

std::vector<std::string> wrapped(std::string_view text, std::size_t cells) {
  Line line;
  add(line, text);
  std::vector<std::string> out;
  for (const auto& one : wrap(line, cells)) out.push_back(plain(one));
  return out;
}

using Texts = std::vector<std::string>;

TEST(Wrap, BreaksAtSpacesAndDropsThemThere) {
  EXPECT_EQ(wrapped("one two three", 7), (Texts{"one two", "three"}));
  EXPECT_EQ(wrapped("one  two", 4), (Texts{"one", "two"}));
  EXPECT_EQ(wrapped("", 4), (Texts{""}));
  EXPECT_EQ(wrapped("  indented", 20), (Texts{"  indented"}));
  EXPECT_EQ(wrapped("one\ntwo three", 20), (Texts{"one", "two three"}));
  EXPECT_EQ(wrapped("one\n\ntwo", 20), (Texts{"one", "", "two"}));
}

TEST(Wrap, BreaksWordsWhereTheyHaveJoints) {
  EXPECT_EQ(wrapped("well-known thing", 6), (Texts{"well-", "known", "thing"}));
  EXPECT_EQ(wrapped("span --all now", 7), (Texts{"span", "--all", "now"}));
  EXPECT_EQ(wrapped("漢字漢字", 4), (Texts{"漢字", "漢字"}));
  EXPECT_EQ(wrapped("https://example.org/a/long/path", 20),
            (Texts{"https://example.org/", "a/long/path"}));
  EXPECT_EQ(wrapped("abcdefghij", 4), (Texts{"abcd", "efgh", "ij"}));
  EXPECT_EQ(wrapped("漢", 1), (Texts{"漢"}));
}

TEST(Wrap, LosesNothingAndFitsWhateverTheTextIs) {
  auto random = test::seeded();
  const std::vector<std::string> parts = {
      "a",       "word", " ",   "  ", "-",         "/", "漢", "👩‍👩‍👧",
      "e\u0301", "\n",   "--x", "::", "long-long", ".", "_",  "https://x.y/z?a=b"};
  for (int round = 0; round < 3000; ++round) {
    Line line;
    for (auto n = random.below(30); n > 0; --n)
      add(line, parts[random.below(parts.size())], Style{.bold = random.below(3) == 0});
    const auto cells = 2 + random.below(20);
    const auto lines = wrap(line, cells);
    std::string all, wanted;
    for (const auto& one : lines) {
      EXPECT_LE(width(plain(one)), cells) << plain(line);
      for (const char c : plain(one))
        if (c != ' ') all += c;
    }
    for (const char c : plain(line))
      if (c != ' ' && c != '\n') wanted += c;
    ASSERT_EQ(all, wanted) << "seed " << random.seed() << " width " << cells << ": " << plain(line);
    std::string cut_text;
    for (const auto& one : cut(line, cells)) cut_text += plain(one);
    EXPECT_EQ(cut_text, plain(line));
  }
}

TEST(Code, MoreThanThirtyLanguagesAreKnownByNameAndByFile) {
  EXPECT_GE(language_names().size(), 57U);
  for (const auto name : language_names()) EXPECT_NE(find_language(name), nullptr) << name;
  EXPECT_EQ(find_language("C++"), language_of_file("src/a.cpp"));
  EXPECT_EQ(find_language("py"), language_of_file("x/y.py"));
  EXPECT_EQ(find_language("dockerfile"), language_of_file("deploy/Dockerfile"));
  EXPECT_EQ(find_language("cpp title=\"x\""), find_language("cpp"));
  EXPECT_EQ(find_language("{.python}"), find_language("python"));
  EXPECT_EQ(find_language("brainfuck"), nullptr);
  EXPECT_EQ(language_of_file("README"), nullptr);
}

Role role_of(std::string_view language, std::string_view code, std::string_view word) {
  for (const auto& line : highlight(find_language(language), code))
    for (const auto& span : line)
      if (span.text.find(word) != std::string::npos) return span.style.role;
  ADD_FAILURE() << word << " is not there";
  return Role::plain;
}

TEST(Code, SaysWhatIsWhat) {
  EXPECT_EQ(role_of("cpp", "int main() { return 1; } // done", "// done"), Role::comment);
  EXPECT_EQ(role_of("cpp", "int main() { return 1; }", "return"), Role::keyword);
  EXPECT_EQ(role_of("cpp", "int main() { return 1; }", "int"), Role::type);
  EXPECT_EQ(role_of("cpp", "int main() { return 1; }", "main"), Role::function);
  EXPECT_EQ(role_of("cpp", "auto x = \"a // b\";", "a // b"), Role::string);
  EXPECT_EQ(role_of("cpp", "#include <map>", "#include"), Role::keyword);
  EXPECT_EQ(role_of("cpp", "/* one\ntwo */ return", "two"), Role::comment);
  EXPECT_EQ(role_of("cpp", "/* one\ntwo */ return", "return"), Role::keyword);
  EXPECT_EQ(role_of("rust", "/* a /* b */ c */ fn", "c"), Role::comment);
  EXPECT_EQ(role_of("rust", "fn f<'a>(x: &'a str) {}", "str"), Role::type);
  EXPECT_EQ(role_of("python", "x = '''one\ntwo'''\nimport os", "two"), Role::string);
  EXPECT_EQ(role_of("python", "x = '''one\ntwo'''\nimport os", "import"), Role::keyword);
  EXPECT_EQ(role_of("python", "@cached\ndef f(): pass", "@cached"), Role::keyword);
  EXPECT_EQ(role_of("sh", "echo \"$HOME\" # say", "# say"), Role::comment);
  EXPECT_EQ(role_of("sh", "cd $HOME", "$HOME"), Role::type);
  EXPECT_EQ(role_of("sh", "x=${a#b} done", "done"), Role::keyword);
  EXPECT_EQ(role_of("sql", "SELECT 'it''s' FROM t", "it''s"), Role::string);
  EXPECT_EQ(role_of("sql", "SELECT 1", "SELECT"), Role::keyword);
  EXPECT_EQ(role_of("json", "{\"a\": true}", "\"a\""), Role::type);
  EXPECT_EQ(role_of("json", "{\"a\": \"b\"}", "\"b\""), Role::string);
  EXPECT_EQ(role_of("yaml", "name: x # y", "name"), Role::type);
  EXPECT_EQ(role_of("toml", "[server]\nport = 80", "[server]"), Role::keyword);
  EXPECT_EQ(role_of("html", "<a href=\"x\">t</a>", "href"), Role::type);
  EXPECT_EQ(role_of("diff", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "+b"), Role::added);
  EXPECT_EQ(role_of("diff", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "+++"), Role::heading);
  EXPECT_EQ(role_of("lua", "--[[ a\nb ]] local x", "b ]]"), Role::comment);
}

TEST(Code, AnApostropheIsNoString) {
  EXPECT_EQ(role_of("python", "# don't\nreturn", "return"), Role::keyword);
  EXPECT_EQ(role_of("cpp", "don't return", "return"), Role::keyword);
  EXPECT_EQ(role_of("haskell", "let x' = 1 in x'", "in"), Role::keyword);
}

TEST(Code, IsNeverWrongAboutTheText) {
  auto random = test::seeded();
  const std::vector<std::string> parts = {"\"", "'",  "`",  "\\", "/*",   "*/", "//", "#", "{",
                                          "}",  "(",  "if", "x1", "0x1F", "\n", " ",  "é", "<",
                                          ">",  "--", "[[", "]]", "@a",   "$b", "'''"};
  const auto names = language_names();
  for (int round = 0; round < 4000; ++round) {
    std::string code;
    for (auto n = random.below(40); n > 0; --n) code += parts[random.below(parts.size())];
    const auto name = names[random.below(names.size())];
    auto out = plain(highlight(find_language(name), code));
    if (!code.empty() && code.back() != '\n') code += '\n';
    ASSERT_EQ(out, code) << name << ", seed " << random.seed();
  }
}

}  // namespace
}  // namespace reef::render
