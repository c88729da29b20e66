// The texts of the three files: how they are read, what is refused, and what a change leaves alone.
#include <gtest/gtest.h>

#include "organise/labels.h"
#include "organise/statuses.h"
#include "organise/views.h"

namespace reef::organise {
namespace {

std::vector<std::string> warnings;

Result<Statuses> statuses_in(std::string_view text) {
  warnings.clear();
  return parse_statuses(text, "statuses.toml", warnings);
}
Result<Labels> labels_in_file(std::string_view text) {
  warnings.clear();
  return parse_labels(text, "labels.toml", warnings);
}
Result<Views> views_in(std::string_view text) {
  warnings.clear();
  return parse_views(text, "views.toml", warnings);
}

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : result.error().what;
}
#define EXPECT_SAYS(result, words)                          \
  do {                                                      \
    const auto said = error_of(result);                     \
    EXPECT_NE(said.find(words), std::string::npos) << said; \
  } while (false)

std::string ids_of(const Statuses& statuses) {
  std::string out;
  for (const auto& status : statuses.all()) out += status.id + (status.closed ? "- " : "+ ");
  return out;
}

TEST(Statuses, TheShippedOnesAreThere) {
  const auto statuses = statuses_in(shipped_statuses());
  ASSERT_TRUE(statuses) << error_of(statuses);
  EXPECT_EQ(ids_of(*statuses), "backlog+ todo+ in-progress+ needs-review+ done- cancelled- ");
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(statuses->shown(""), "todo");
  EXPECT_EQ(statuses->shown("vanished"), "todo");
  EXPECT_EQ(statuses->shown("done"), "done");
}

TEST(Statuses, TheFixedOnesAreAlwaysThere) {
  EXPECT_EQ(ids_of(*statuses_in("")), "todo+ done- cancelled- ");
  EXPECT_EQ(ids_of(*statuses_in("[[status]]\nid='shut'\ncategory='closed'\n[[status]]\nid='x'")),
            "todo+ shut- x+ done- cancelled- ");
  // A fixed status keeps its category when the file does not name one.
  EXPECT_EQ(ids_of(*statuses_in("[[status]]\nid='done'\nlabel='Over'")), "todo+ done- cancelled- ");
}

TEST(Statuses, MistakesAreNamedWithTheirLine) {
  EXPECT_SAYS(statuses_in("[[status]]\nid='a'\n[[status]]\nid='a'\n"), "statuses.toml:4: ");
  EXPECT_SAYS(statuses_in("[[status]]\nlabel='a'\n"), "status.id: is missing");
  EXPECT_SAYS(statuses_in("\n\n[[status]]\nid=3\n"),
              "statuses.toml:4: status.id: must be a string");
  EXPECT_SAYS(statuses_in("[[status]]\nid='a'\ncategory='half'\n"), "open or closed, not 'half'");
  EXPECT_SAYS(statuses_in("[[status]]\nid='todo'\ncategory='closed'\n"), "'todo' is always open");
  EXPECT_SAYS(statuses_in("[[status]]\nid='open'\n"), "name of a category");
  EXPECT_SAYS(statuses_in("[[status]]\nid='a b'\n"), "must be letters");
  EXPECT_SAYS(statuses_in("[[status]]\nid='-a'\n"), "must be letters");
  EXPECT_SAYS(statuses_in("[[status]]\nid='" + std::string(65, 'a') + "'\n"), "must be letters");
  EXPECT_SAYS(statuses_in("[[status]]\nid='a'\nlabel=\"x\\ny\"\n"), "must be one line");
  EXPECT_SAYS(statuses_in("status = 3\n"), "must be written [[status]]");
  EXPECT_SAYS(statuses_in("status = [3]\n"), "must be written [[status]]");
  EXPECT_SAYS(statuses_in("[[status]\nid='a'\n"), "statuses.toml:1: ");
  EXPECT_SAYS(statuses_in("[[status]]\nid='torn"), "statuses.toml:2: ");
  EXPECT_SAYS(statuses_in("\xff\xfe"), "statuses.toml:1: ");
  EXPECT_SAYS(statuses_in(std::string((1U << 20) + 1, '#')), "bytes are more than");
  std::string many;
  for (int i = 0; i < 201; ++i) many += "[[status]]\nid='s" + std::to_string(i) + "'\n";
  EXPECT_SAYS(statuses_in(many), "201 are more than the 200");
}

TEST(Statuses, UnknownKeysAreKeptAndWarnedOf) {
  const std::string text = "version = 1\n[[status]]\nid='a'\nfuture='yes'\n";
  ASSERT_TRUE(statuses_in(text));
  EXPECT_EQ(warnings.size(), 2U);
  const auto after = set_status(text, "a", {.label = "A"});
  ASSERT_TRUE(after);
  EXPECT_NE(after->find("future"), std::string::npos) << *after;
  EXPECT_NE(after->find("version = 1"), std::string::npos) << *after;
  EXPECT_EQ(statuses_in(*after)->find("a")->label, "A");
}

TEST(Statuses, AChangeLeavesTheOtherLinesAsTheyAre) {
  const std::string text =
      "# mine\n[[status]]\nid = 'a' # first\n\n# about b\n[[status]]\nid='b'\ncolor='red'\n# the "
      "end\n";
  const auto added = add_status(text, {"c", "C", true, "", ""});
  ASSERT_TRUE(added);
  EXPECT_EQ(*added, text + "\n[[status]]\nid = \"c\"\nlabel = \"C\"\ncategory = \"closed\"\n");
  EXPECT_EQ(*remove_status(*added, "c"), text + "\n");
  EXPECT_EQ(*remove_status(text, "a"),
            "# mine\n\n# about b\n[[status]]\nid='b'\ncolor='red'\n# the end\n");
  EXPECT_EQ(
      *set_status(text, "a", {.label = "A \"quoted\" \\"}),
      "# mine\n[[status]]\nid = \"a\"\nlabel = \"A \\\"quoted\\\" \\\\\"\ncategory = \"open\"\n"
      "\n# about b\n[[status]]\nid='b'\ncolor='red'\n# the end\n");
  EXPECT_EQ(statuses_in(*set_status(text, "a", {.label = "A \"quoted\" \\"}))->find("a")->label,
            "A \"quoted\" \\");
}

TEST(Statuses, AChangeUnderstandsOtherWaysToWriteAFile) {
  // An inline list, then a string that looks like a block.
  const std::string inline_text = "status = [{id='a', extra=[1,2]}, {id='b'}]\n";
  auto after = remove_status(inline_text, "b");
  ASSERT_TRUE(after) << error_of(after);
  EXPECT_EQ(ids_of(*statuses_in(*after)), "a+ todo+ done- cancelled- ");
  EXPECT_NE(after->find("extra"), std::string::npos);
  after = add_status(inline_text, {"c", "", false, "", ""});
  ASSERT_TRUE(after);
  EXPECT_EQ(ids_of(*statuses_in(*after)), "a+ b+ c+ todo+ done- cancelled- ");
  const std::string tricky =
      "[[status]]\nid='a'\nnote='''\n[[status]]\nid=\"b\"\n'''\n[[status]]\nid='z'\n";
  after = set_status(tricky, "a", {.color = "red"});
  ASSERT_TRUE(after);
  EXPECT_EQ(ids_of(*statuses_in(*after)), "a+ z+ todo+ done- cancelled- ");
  EXPECT_EQ(statuses_in(*after)->find("a")->color, "red");
  EXPECT_NE(after->find("note"), std::string::npos);
  after = remove_status("[[status]]\r\nid='a'\r\n[[status]]\r\nid='b'\r\n", "a");
  ASSERT_TRUE(after);
  EXPECT_EQ(ids_of(*statuses_in(*after)), "b+ todo+ done- cancelled- ");
}

TEST(Statuses, FixedOnesAreNotRemovedAndKeepTheirCategory) {
  for (const std::string_view id : {"todo", "done", "cancelled"}) {
    EXPECT_SAYS(remove_status(shipped_statuses(), id), "cannot be removed");
    EXPECT_SAYS(remove_status("", id), "cannot be removed");
    EXPECT_SAYS(add_status("", {std::string(id), "", false, "", ""}), "exists");
  }
  EXPECT_SAYS(set_status("", "todo", {.category = "closed"}), "always open");
  const auto after = set_status("", "done", {.label = "Over"});
  ASSERT_TRUE(after);
  EXPECT_EQ(statuses_in(*after)->find("done")->label, "Over");
  EXPECT_TRUE(statuses_in(*after)->find("done")->closed);
}

TEST(Statuses, BadChangesAreRefused) {
  EXPECT_SAYS(add_status("", {"a b", "", false, "", ""}), "must be letters");
  EXPECT_SAYS(add_status("", {"a", "x\ny", false, "", ""}), "label must be one line");
  EXPECT_SAYS(add_status("", {"a", "x\x1b[2J", false, "", ""}), "label must be one line");
  EXPECT_SAYS(add_status("", {"a", std::string(2000, 'x'), false, "", ""}),
              "label must be one line");
  EXPECT_SAYS(set_status("", "nope", {}), "unknown status 'nope'; there are: todo, done");
  EXPECT_SAYS(remove_status("", "nope"), "unknown status 'nope'");
  EXPECT_SAYS(set_status(shipped_statuses(), "backlog", {.category = "x"}), "open or closed");
  EXPECT_SAYS(add_status("[[status]", {"a", "", false, "", ""}), "statuses.toml:1");
}

std::string chain(int depth) {
  std::string out;
  for (int i = 1; i <= depth; ++i) {
    out += "[[label]]\nid='l" + std::to_string(i) + "'\n";
    if (i > 1) out += "parent='l" + std::to_string(i - 1) + "'\n";
  }
  return out;
}

TEST(Labels, TheTreeIsFiveDeepAndHasNoCircle) {
  const auto five = labels_in_file(chain(5));
  ASSERT_TRUE(five) << error_of(five);
  EXPECT_EQ(five->depth("l5"), 5U);
  EXPECT_TRUE(five->is_within("l5", "l1"));
  EXPECT_FALSE(five->is_within("l1", "l5"));
  EXPECT_TRUE(five->is_within("gone", "gone"));
  EXPECT_SAYS(labels_in_file(chain(6)), "more than 5 deep");
  EXPECT_SAYS(add_label(chain(5), {"l6", "", "l5", ValueType::none, ""}), "more than 5 deep");
  EXPECT_SAYS(set_label(chain(5), "l1", {.parent = "l5"}), "below itself");
  EXPECT_SAYS(set_label(chain(5), "l3", {.parent = "l3"}), "below itself");
  EXPECT_SAYS(labels_in_file("[[label]]\nid='a'\nparent='b'\n[[label]]\nid='b'\nparent='a'\n"),
              "below itself");
  EXPECT_SAYS(labels_in_file("[[label]]\nid='a'\nparent='nope'\n"), "'nope' does not exist");
  EXPECT_SAYS(labels_in_file("[[label]]\nid='a'\n[[label]]\nid='a'\n"), "there twice");
  EXPECT_SAYS(labels_in_file("[[label]]\nid='a'\ntype='money'\n"), "string, number or date");
  // The move would make the subtree too deep.
  EXPECT_SAYS(set_label(chain(5) + "[[label]]\nid='top'\n", "l1", {.parent = "top"}),
              "more than 5 deep");
}

TEST(Labels, ValuesAreOfTheirType) {
  const auto labels = labels_in_file(
      "[[label]]\nid='code'\n[[label]]\nid='n'\ntype='number'\n[[label]]\nid='d'\ntype='date'\n"
      "[[label]]\nid='s'\ntype='string'\n");
  ASSERT_TRUE(labels);
  for (const std::string_view good :
       {"code", "n", "n::2", "n::-3.5", "d::2026-01-31", "d::2026-01-31T18:30",
        "d::2026-01-31T18:30:00+02:00", "s::a::b", "s::x y, z"})
    EXPECT_TRUE(labels->check(good)) << good << error_of(labels->check(good));
  for (const auto& [bad, words] :
       {std::pair<std::string_view, std::string_view>{
            "nope", "unknown label 'nope'; `reef labels add nope` makes it; there are: code, n"},
        {"", "unknown label ''"},
        {"code::1", "takes no value"},
        {"n::high", "takes a number, not 'high'"},
        {"n::", "takes a number"},
        {"n::1e9", "takes a number"},
        {"n::inf", "takes a number"},
        {"n::.5", "takes a number"},
        {"d::2026-02-30", "takes a date like"},
        {"d::tomorrow", "takes a date like"},
        {"s::", "takes a string"},
        {"nope::1", "unknown label 'nope'"}})
    EXPECT_SAYS(labels->check(bad), words);
  const auto [id, value] = split_entry("s::a::b");
  EXPECT_EQ(id, "s");
  EXPECT_EQ(value, "a::b");
}

TEST(Labels, RemovingOneTakesItsRulesAndSparesItsChildren) {
  auto text = chain(2) + "[[label]]\nid='x'\n";
  for (const auto& [label, pattern] :
       {std::pair("x", "one"), std::pair("l1", "two"), std::pair("x", "three")})
    text = *put_rule(text, label, pattern, "");
  EXPECT_SAYS(remove_label(text, "l1"), "has 'l2' below it");
  const auto after = remove_label(text, "x");
  ASSERT_TRUE(after);
  const auto labels = labels_in_file(*after);
  ASSERT_TRUE(labels) << error_of(labels);
  EXPECT_EQ(labels->all().size(), 2U);
  ASSERT_EQ(labels->rules().size(), 1U);
  EXPECT_EQ(labels->rules()[0].pattern, "two");
  EXPECT_SAYS(remove_label(text, "nope"), "unknown label");
}

TEST(Labels, RulesAreSetReplacedAndTakenAway) {
  const std::string pattern = R"x(\b(X-\d+)"q")x";
  auto text = *add_label("", {"t", "", "", ValueType::text, ""});
  text = *put_rule(text, "t", pattern, "");
  text = *put_rule(text, "t", pattern, "v$1");
  const auto labels = labels_in_file(text);
  ASSERT_TRUE(labels) << error_of(labels);
  ASSERT_EQ(labels->rules().size(), 1U);
  EXPECT_EQ(labels->rules()[0].value, "v$1");
  EXPECT_SAYS(put_rule(text, "nope", "x", ""), "unknown label");
  EXPECT_SAYS(put_rule(text, "t", "(", ""), "pattern '('");
  EXPECT_SAYS(put_rule(text, "t", "", ""), "a pattern has 1 to");
  EXPECT_SAYS(put_rule(text, "t", "a*", ""), "matches every text");
  EXPECT_SAYS(put_rule(text, "t", "(a)\\1", ""), "pattern");
  EXPECT_SAYS(put_rule(text, "t", "((a{1,900}){1,900}){1,900}", ""), "pattern");
  EXPECT_SAYS(put_rule(text, "t", "a", "$2"), "names $2, the pattern has 0");
  EXPECT_SAYS(remove_rule(text, "t", "other"), "no rule with the pattern 'other'");
  EXPECT_TRUE(labels_in_file(*remove_rule(text, "t", pattern))->rules().empty());
  EXPECT_SAYS(labels_in_file("[[rule]]\nlabel='x'\npattern='a'\n"), "no label 'x'");
  EXPECT_SAYS(labels_in_file("[[label]]\nid='x'\n[[rule]]\nlabel='x'\npattern='['\n"),
              "labels.toml:5: rule.pattern");
}

TEST(Views, SavedOnesAreReadAddedChangedAndRemoved) {
  auto text = add_view("# mine\n", {"stale", "Stale", "status:open idle>2w", false, {}});
  ASSERT_TRUE(text) << error_of(text);
  EXPECT_EQ(views_in(*text)->all().size(), 8U);
  text = set_view(*text, "stale", {.filter = "idle>3w \"a b\""});
  ASSERT_TRUE(text);
  EXPECT_EQ((*views_in(*text)->find("stale"))->filter, "idle>3w \"a b\"");
  EXPECT_EQ((*views_in(*text)->find("stale"))->name, "Stale");
  EXPECT_SAYS(add_view(*text, {"stale", "", "x", false, {}}), "exists");
  EXPECT_SAYS(add_view(*text, {"inbox", "", "x", false, {}}), "exists");
  EXPECT_SAYS(add_view(*text, {"b", "", "", false, {}}), "needs a filter");
  EXPECT_SAYS(add_view(*text, {"b", "", "(x", false, {}}), "expected ')'");
  EXPECT_SAYS(add_view(*text, {"b", "", "a\nb", false, {}}), "filter must be one line");
  EXPECT_SAYS(remove_view(*text, "inbox"), "built in");
  EXPECT_SAYS(set_view(*text, "all", {.name = "x"}), "built in");
  EXPECT_SAYS(remove_view(*text, "nope"), "unknown view 'nope'; there are: all, active");
  EXPECT_EQ(views_in(*remove_view(*text, "stale"))->all().size(), 7U);
  EXPECT_SAYS(views_in("[[view]]\nid='a'\nfilter='idle>x'\n"),
              "views.toml:3: view.filter: filter, at 6");
  EXPECT_SAYS(views_in("[[view]]\nid='all'\nfilter='x'\n"), "built in");
  EXPECT_SAYS(views_in("[[view]]\nid='a'\n"), "view.filter: is missing");
}

}  // namespace
}  // namespace reef::organise
