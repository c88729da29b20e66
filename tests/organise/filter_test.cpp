#include "organise/filter.h"

#include <gtest/gtest.h>

#include "organise/views.h"

namespace reef::organise {
namespace {

TimePoint at(const std::string& iso) {
  return parse_iso(iso).value();
}

class FilterTest : public testing::Test {
 protected:
  FilterTest() {
    std::vector<std::string> ignored;
    auto statuses_read = parse_statuses(shipped_statuses(), "s", ignored);
    auto labels_read = parse_labels(R"(
[[label]]
id = "code"
[[label]]
id = "bug"
parent = "code"
[[label]]
id = "crash"
parent = "bug"
[[label]]
id = "priority"
type = "number"
[[label]]
id = "due"
type = "date"
[[label]]
id = "project"
type = "string"
)",
                                    "l", ignored);
    EXPECT_TRUE(statuses_read && labels_read && ignored.empty());
    statuses = *statuses_read;
    labels = *labels_read;
    row.created = at("2026-01-01T00:00:00Z");
    row.updated = at("2026-01-10T00:00:00Z");
    row.message_count = 100;
    row.preview = "How do I deploy the Blue vault?";
    row.usage.input = 40'000;
    row.usage.output = 10'001;
    row.usage.cost = 1.5;
    row.usage_by_model["anthropic/opus"] = {};
    set(R"({"name":"Deploy Keys","agent":"reef","sender":"ann lee","key":"agent:reef:ann lee",
        "source":"craft","sessionStatus":"needs-review","isFlagged":true,
        "labels":["crash","priority::2","priority::x","due::2026-01-31","project::reef","old::7"]})");
  }

  void set(std::string_view meta) { row.meta = json::parse(meta)->as_object(); }

  bool holds(std::string_view text) {
    const auto filter = parse_filter(text);
    EXPECT_TRUE(filter) << text << ": " << filter.error().what;
    return filter && organise::holds(*filter, row, {statuses, labels, now});
  }

  Statuses statuses;
  Labels labels;
  TimePoint now = at("2026-01-13T00:00:00Z");
  session::Row row{*session::SessionId::parse("260101-a-b")};
};

TEST_F(FilterTest, EveryTermHoldsWhenItShouldAndOnlyThen) {
  for (const std::string_view text : {"",
                                      "  ",
                                      "status:needs-review",
                                      "status:todo,needs-review",
                                      "status:open",
                                      "label:code",
                                      "label:bug",
                                      "label:crash",
                                      "label:nope,crash",
                                      "label:priority",
                                      "label:priority>=2",
                                      "label:priority<=2",
                                      "label:priority=2",
                                      "label:priority=2.0",
                                      "label:priority>-1",
                                      "label:priority::2",
                                      "label:due<2026-02-01",
                                      "label:due>=2026-01-31",
                                      "label:due>2026-01-30T23:59",
                                      "label:project=reef",
                                      "label:project>reee",
                                      "label:project=\"reef\"",
                                      "label:old>6",
                                      "label:old",
                                      "is:flagged",
                                      "is:imported",
                                      "agent:reef",
                                      "sender:\"ann lee\"",
                                      "key:\"agent:reef:ann lee\"",
                                      "source:craft",
                                      "model:anthropic/opus",
                                      "model:opus",
                                      "title:DEPLOY",
                                      "blue",
                                      "\"blue vault\"",
                                      "vault?",
                                      "idle>2d",
                                      "idle<=72h",
                                      "idle>=3d",
                                      "idle<4320.5m",
                                      "age<2w",
                                      "before:2026-01-11",
                                      "after:2026-01-10",
                                      "after:2026-01-09T23:59:59Z",
                                      "messages>=100",
                                      "messages=100",
                                      "tokens>50000",
                                      "cost>1.4",
                                      "cost<=1.5",
                                      "status:open label:priority>=2 idle>2d",
                                      "nope OR is:flagged",
                                      "nope OR also OR keys",
                                      "-nope",
                                      "-(nope OR never)",
                                      "(nope OR keys) (is:flagged OR nope)",
                                      "--keys",
                                      "keys(deploy)",
                                      "deploy OR nope nope"})
    EXPECT_TRUE(holds(text)) << text;
  for (const std::string_view text : {"status:todo",
                                      "status:closed",
                                      "status:done,cancelled",
                                      "label:nope",
                                      "label:priority>2",
                                      "label:priority<2",
                                      "label:priority=x",
                                      "label:priority>=abc",
                                      "label:due<2026-01-31",
                                      "label:project=Reef",
                                      "label:project<a",
                                      "label:old>7",
                                      "label:crash=1",
                                      "is:archived",
                                      "is:unread",
                                      "agent:ree",
                                      "agent:REEF",
                                      "sender:ann",
                                      "source:native",
                                      "model:op",
                                      "title:nope",
                                      "\"blue  vault\"",
                                      "idle>3d",
                                      "idle<3d",
                                      "age>2w",
                                      "before:2026-01-10",
                                      "after:2026-01-10T00:01",
                                      "messages>100",
                                      "tokens>50001",
                                      "cost>1.5",
                                      "-keys",
                                      "deploy nope",
                                      "-(deploy OR nope)",
                                      "nope OR (keys -deploy)",
                                      "is:flagged -is:imported"})
    EXPECT_FALSE(holds(text)) << text;
}

TEST_F(FilterTest, ASessionWithoutAnythingMatchesWhatItIs) {
  set("{}");
  EXPECT_TRUE(holds("status:todo status:open -is:flagged -label:code -is:imported"));
  set(R"({"sessionStatus":"vanished","labels":"not a list","name":5})");
  EXPECT_TRUE(holds("status:todo -label:code -status:vanished"));
  set(R"({"labels":[1,null,"code"]})");
  EXPECT_TRUE(holds("label:code"));
  EXPECT_FALSE(holds("label:bug"));
}

TEST_F(FilterTest, ErrorsNameThePlaceAndWhatWasExpected) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"is:nice", "at 4: expected flagged, archived, unread or imported, found 'nice'"},
      {"keys idle>3", "at 11: expected a time like"},
      {"idle>-3d", "at 6: expected a time like"},
      {"idle=3d", "a time is compared by"},
      {"idle>99999999999d", "expected a time like"},
      {"messages>many", "at 10: expected a number, found 'many'"},
      {"messages>1e5", "expected a number"},
      {"before:tomorrow", "at 8: expected a date"},
      {"after:2026-02-30", "expected a date"},
      {"foo:bar", "at 1: no field 'foo'"},
      {"foo>3", "no field 'foo'"},
      {"http://x", "no field 'http'"},
      {"status:", "at 8: expected a status"},
      {"status:todo,", "expected a status"},
      {"status:todo>3", "at 12: expected ',' or a space, found '>3'"},
      {"label:", "expected a label"},
      {"label:a>", "expected a value"},
      {"label:a,b>3", "only one label"},
      {"label:a:b", "expected a comparison"},
      {"agent:", "expected a text after agent:"},
      {"(a", "at 3: expected ')', found the end"},
      {"a)", "at 2: expected the end"},
      {"()", "at 2: expected a term, found ')'"},
      {"OR a", "expected a term"},
      {"a OR", "expected a term, found the end"},
      {"a AND b", "at 3: terms stand side by side"},
      {"- a", "right after '-'"},
      {"-", "right after '-'"},
      {"\"open", "at 1: the quote is not closed"},
      {"\"\"", "found nothing"},
      {"é é (", "at 6: expected a term"},
  };
  for (const auto& [text, expected] : cases) {
    const auto filter = parse_filter(text);
    ASSERT_FALSE(filter) << text;
    EXPECT_NE(filter.error().what.find(expected), std::string::npos)
        << text << ": " << filter.error().what;
    EXPECT_EQ(filter.error().code, Errc::invalid);
  }
}

TEST_F(FilterTest, SizesAreLimited) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "a" + std::string(depth, ')');
  };
  EXPECT_TRUE(parse_filter(nested(kFilterDepthMax - 1)));
  EXPECT_FALSE(parse_filter(nested(kFilterDepthMax)));
  EXPECT_FALSE(parse_filter(std::string(2000, '-') + "a"));
  EXPECT_FALSE(parse_filter(std::string(2000, '(')));
  EXPECT_TRUE(parse_filter(std::string(kFilterBytesMax, 'a')));
  EXPECT_FALSE(parse_filter(std::string(kFilterBytesMax + 1, 'a')));
  std::string many;
  for (int i = 0; i < 257; ++i) many += "a ";
  EXPECT_FALSE(parse_filter(many));
  EXPECT_FALSE(parse_filter("\xff\xfe"));
}

TEST_F(FilterTest, ATypedFilterIsCheckedAgainstTheDefinitions) {
  const auto check = [&](std::string_view text) {
    return check_filter(*parse_filter(text), statuses, labels);
  };
  EXPECT_TRUE(check("status:todo,open label:gone label:priority>3 label:gone>x"));
  for (const auto& [text, expected] : {std::pair<std::string_view, std::string_view>{
                                           "a (b OR -status:doen)", "at 10: unknown status 'doen'"},
                                       {"label:priority>high", "is a number, 'high' is not"},
                                       {"label:due=soon", "is a date"},
                                       {"label:code=1", "has no values"}}) {
    const auto checked = check(text);
    ASSERT_FALSE(checked) << text;
    EXPECT_NE(checked.error().what.find(expected), std::string::npos) << checked.error().what;
  }
}

TEST_F(FilterTest, TheBuiltInViewsHoldWhatTheySay) {
  const Views views;
  const auto in = [&](std::string_view id) {
    return organise::holds((*views.find(id))->parsed, row, {statuses, labels, now});
  };
  const auto all = [&] {
    std::string out;
    for (const auto& view : views.all())
      if (in(view.id)) out += view.id + " ";
    return out;
  };
  EXPECT_EQ(all(), "all active inbox flagged ");
  set(R"({"sessionStatus":"done","hasUnread":true})");
  EXPECT_EQ(all(), "all active completed unread ");
  set(R"({"sessionStatus":"done","isArchived":true})");
  EXPECT_EQ(all(), "all archived ");
  EXPECT_FALSE(views.find("nope"));
}

}  // namespace
}  // namespace reef::organise
