#include "hooks/description.h"

#include <gtest/gtest.h>

namespace reef::hooks {
namespace {

using Type = Parameter::Type;

const Parameter kCount{.name = "count", .type = Type::integer, .min = 1, .max = 9};
const Description kTool{"tool",
                        "Does it.",
                        {{.name = "what", .description = "Which.", .required = true},
                         kCount,
                         {.name = "deep", .type = Type::boolean},
                         {.name = "names", .type = Type::texts}}};

std::string problem(const json::object& arguments) {
  const auto checked = check(kTool, arguments);
  return checked ? "" : checked.error().what;
}

TEST(Description, BecomesASchema) {
  EXPECT_EQ(json::write(tool_from(kTool).parameters),
            R"({"type":"object","properties":{)"
            R"("what":{"type":"string","description":"Which."},)"
            R"("count":{"type":"integer","minimum":1,"maximum":9,"description":""},)"
            R"("deep":{"type":"boolean","description":""},)"
            R"("names":{"type":"array","items":{"type":"string"},"description":""}},)"
            R"("required":["what"]})");
}

TEST(Description, ArgumentsAreCheckedAndTheFieldIsNamed) {
  EXPECT_EQ(problem({{"what", "x"}}), "");
  EXPECT_EQ(problem({{"what", "x"}, {"count", nullptr}, {"unknown", 1}}), "");
  EXPECT_EQ(problem({}), "invalid arguments: 'what' must be a text");
  EXPECT_EQ(problem({{"what", nullptr}}), "invalid arguments: 'what' must be a text");
  EXPECT_EQ(problem({{"what", 1}}), "invalid arguments: 'what' must be a text");
  EXPECT_EQ(problem({{"what", "x"}, {"count", 0}}),
            "invalid arguments: 'count' must be a whole number");
  EXPECT_EQ(problem({{"what", "x"}, {"count", 1.5}}),
            "invalid arguments: 'count' must be a whole number");
  EXPECT_EQ(problem({{"what", "x"}, {"deep", "yes"}}),
            "invalid arguments: 'deep' must be true or false");
  EXPECT_EQ(problem({{"what", "x"}, {"names", json::array{"a", 1}}}),
            "invalid arguments: 'names' must be a list of texts");
}

TEST(Description, AListOfObjectsIsDescribedAndCheckedFieldByField) {
  const Description tool{"tool",
                         "",
                         {{.name = "edits",
                           .type = Type::objects,
                           .fields = {{.name = "old", .required = true},
                                      {.name = "parts",
                                       .type = Type::objects,
                                       .fields = {{.name = "n", .type = Type::integer}}}}}}};
  EXPECT_EQ(json::write(tool_from(tool).parameters),
            R"({"type":"object","properties":{"edits":{"type":"array","items":{"type":"object",)"
            R"("properties":{"old":{"type":"string","description":""},"parts":{"type":"array",)"
            R"("items":{"type":"object","properties":{"n":{"type":"integer","minimum":0,)"
            R"("description":""}},"required":[]},"description":""}},"required":["old"]},)"
            R"("description":""}},"required":[]})");
  const auto wrong = [&](json::array edits) {
    const auto checked = check(tool, {{"edits", std::move(edits)}});
    return checked ? "" : checked.error().what;
  };
  const json::object good{{"old", "x"}};
  EXPECT_EQ(wrong({good}), "");
  EXPECT_EQ(wrong({good, 1}), "invalid arguments: 'edits' must be a list of objects");
  EXPECT_EQ(wrong({good, json::object{}}), "invalid arguments: 'edits[1].old' must be a text");
  EXPECT_EQ(wrong({json::object{{"old", "x"}, {"parts", {json::object{{"n", "1"}}}}}}),
            "invalid arguments: 'edits[0].parts[0].n' must be a whole number");
}

TEST(Description, IntegersAreKeptInTheirBounds) {
  EXPECT_EQ(integer_of({}, kCount, 4), 4);
  EXPECT_EQ(integer_of({{"count", 5}}, kCount, 4), 5);
  EXPECT_EQ(integer_of({{"count", 500}}, kCount, 4), 9);
  EXPECT_EQ(integer_of({{"count", UINT64_MAX}}, kCount, 4), 9);
}

}  // namespace
}  // namespace reef::hooks
