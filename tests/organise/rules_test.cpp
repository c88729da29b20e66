#include "organise/rules.h"

#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "organise/labels.h"

namespace reef::organise {
namespace {

struct Spec {
  std::string label, pattern, value;
};

Labels with_rules(const std::vector<Spec>& specs) {
  std::vector<Label> all = {{"bug", "", "", ValueType::none, ""},
                            {"priority", "", "", ValueType::number, ""},
                            {"due", "", "", ValueType::date, ""},
                            {"ticket", "", "", ValueType::text, ""}};
  std::vector<Rule> rules;
  for (const auto& spec : specs) {
    auto rule = make_rule(spec.label, spec.pattern, spec.value);
    if (!rule) throw std::runtime_error(rule.error().what);
    rules.push_back(*std::move(rule));
  }
  return {std::move(all), std::move(rules)};
}

std::string found(const std::vector<Spec>& specs, std::string_view message) {
  return fmt::format("{}", fmt::join(labels_in(with_rules(specs), message), " "));
}

TEST(Rules, TheValueIsTheTemplateElseTheFirstGroupElseTheMatch) {
  EXPECT_EQ(found({{"bug", "(?i)\\bbug\\b", ""}}, "A Bug, no debugging; bug"), "bug");
  EXPECT_EQ(found({{"bug", "bug (\\d+)", "$1"}}, "bug 7"), "bug");  // the label takes no value
  EXPECT_EQ(found({{"priority", "prio ([0-9]+)", ""}}, "prio 3 and prio 12"),
            "priority::3 priority::12");
  EXPECT_EQ(found({{"ticket", "[A-Z]+-[0-9]+", ""}}, "see AB-1, AB-1, CD-22"),
            "ticket::AB-1 ticket::CD-22");
  EXPECT_EQ(found({{"ticket", "([A-Z]+)-([0-9]+)", "$2/$1$$"}}, "see AB-1"), "ticket::1/AB$");
  EXPECT_EQ(found({{"due", "by (\\d+)\\.(\\d+)\\.(\\d+)", "$3-$2-$1"}}, "by 31.01.2026"),
            "due::2026-01-31");
  // A group that did not take part in the match is empty.
  EXPECT_EQ(found({{"ticket", "x(y)?", "<$1>"}}, "x"), "ticket::<>");
}

TEST(Rules, AValueTheLabelDoesNotTakeIsLeftOut) {
  EXPECT_EQ(found({{"priority", "prio (\\w+)", ""}}, "prio high, prio 2"), "priority::2");
  EXPECT_EQ(found({{"due", "by (\\S+)", ""}}, "by 2026-02-30"), "");
  EXPECT_EQ(found({{"ticket", "x(y)?", ""}}, "x"), "");
  EXPECT_EQ(found({{"ticket", "(?s)a(.+)b", ""}}, "a" + std::string(300, 'x') + "b"), "");
  EXPECT_EQ(found({{"ticket", "(?s)a(.+)b", ""}}, "a 1\n\t2\x1b[m b"), "ticket::1 2[m");
}

TEST(Rules, AtMostTenMatchesAMessage) {
  std::string many;
  for (int i = 0; i < 50; ++i) many += fmt::format("T-{} ", i);
  const auto labels = with_rules({{"ticket", "T-\\d+", ""}, {"bug", "T", ""}});
  EXPECT_EQ(labels_in(labels, many).size(), kRuleMatchesMax);
  // The limit is for all rules together, and repeated matches count.
  EXPECT_EQ(found({{"bug", "T", ""}, {"ticket", "T-\\d+", ""}}, many), "bug");
}

TEST(Rules, CodeIsTakenOut) {
  const auto left = [](std::string_view text) { return without_code(text); };
  for (const std::string_view text :
       {"`bug`", "a ``b ` bug`` c", "```\nbug\n```", "```cpp\nbug\n``\nbug\n````\nx",
        "~~~\nbug\n```\n~~~", "  ```\n  bug\n  ```", "```\nbug, never closed", "x `a\nbug` y"})
    EXPECT_EQ(left(text).find("bug"), std::string::npos) << text;
  for (const std::string_view text :
       {"bug", "` bug", "``a` bug", "```\ncode\n```\nbug", "```inline``` bug", "`a` bug `b`",
        "~~bug~~", "```\n~~~\n```\nbug"})
    EXPECT_NE(left(text).find("bug"), std::string::npos) << text;
  EXPECT_EQ(found({{"bug", "bug", ""}}, "in `bug` and\n```\nbug\n```\n"), "");
}

TEST(Rules, NoPatternAndNoMessageTakesLong) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string as(kRuleTextBytesMax * 4, 'a');
  EXPECT_EQ(found({{"bug", "(a+)+$!", ""}, {"bug", "(a|aa)+b", ""}, {"bug", "(.*)*x", ""}}, as),
            "");
  // Every match is empty, and each one scans all of the text.
  EXPECT_EQ(found({{"bug", "\\b(?:.*z)?", ""}}, std::string(kRuleTextBytesMax, 'a') + " "), "");
  std::string words;
  while (words.size() < kRuleTextBytesMax) words += "a ";
  EXPECT_EQ(found({{"bug", "\\b(?:(?s).*z)?", ""}}, words), "");
  // Runs of backticks of every length that are never closed, then many of the same length.
  std::string ticks;
  for (std::size_t n = 1; ticks.size() < kRuleTextBytesMax; ++n) ticks += std::string(n, '`') + "a";
  EXPECT_FALSE(without_code(ticks).empty());
  std::string other;
  while (other.size() < kRuleTextBytesMax) other += "``a`";
  EXPECT_FALSE(without_code(other).empty());
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took, std::chrono::seconds(20));
}

TEST(Rules, TextThatIsNotTextDoesNoHarm) {
  EXPECT_EQ(found({{"bug", "bug", ""}}, std::string("\xff\xfe bug \0 x", 10)), "bug");
  EXPECT_EQ(found({{"bug", "bug", ""}}, ""), "");
  EXPECT_EQ(found({{"ticket", "t\\C+", ""}}, "t\xc3"), "ticket::t\xEF\xBF\xBD");
}

}  // namespace
}  // namespace reef::organise
