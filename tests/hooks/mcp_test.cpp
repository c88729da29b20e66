// Tool names of MCP servers, and the questions a server puts to the user.
#include <gtest/gtest.h>

#include "hooks/mcp/elicitation.h"
#include "hooks/mcp/names.h"

namespace reef::hooks {
namespace {

mcp::Listing server(const std::string& name, std::vector<std::string> tools) {
  mcp::Listing out;
  out.spec.name = name;
  for (auto& tool : tools) {
    mcp::Tool one;
    one.name = std::move(tool);
    out.tools.push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> names_of(const std::vector<mcp::Listing>& servers,
                                  std::vector<std::string>& clashes) {
  std::vector<std::string> out;
  for (const auto& tool : named_tools(servers, clashes)) out.push_back(tool.name);
  return out;
}

TEST(McpNames, AreCleanShortAndEachOnce) {
  std::vector<std::string> clashes;
  EXPECT_EQ(
      names_of({server("files", {"read file", "read.file"}), server("a", {"b__c"}),
                server("a__b", {"c"})},
               clashes),
      (std::vector<std::string>{"files__read_file", "files__read_file_2", "a__b__c", "a__b__c_2"}));
  EXPECT_EQ(clashes.size(), 2U);
  const auto long_one = tool_name("server", std::string(200, 'x'));
  EXPECT_LE(long_one.size(), 64U);
  EXPECT_NE(long_one, tool_name("server", std::string(201, 'x')));
  EXPECT_EQ(long_one, tool_name("server", std::string(200, 'x')));
}

mcp::Elicitation form() {
  mcp::Elicitation out;
  out.message = "Who are you?";
  out.schema = json::parse(R"({"type":"object","required":["name"],"properties":{
    "name":{"type":"string","title":"Your name"},
    "age":{"type":"integer","default":7},
    "sure":{"type":"boolean"},
    "colour":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]},
    "days":{"type":"array","items":{"enum":["mon","tue","wed"]}}}})")
                   ->as_object();
  return out;
}

TEST(McpElicitation, AFormBecomesQuestions) {
  const auto questions = questions_from("needs", form());
  ASSERT_EQ(questions.size(), 5U);
  EXPECT_NE(questions[0].text.find("Who are you?"), std::string::npos);
  EXPECT_NE(questions[0].text.find("needs"), std::string::npos);
  EXPECT_EQ(questions[0].header, "Your name");
  EXPECT_EQ(questions[2].options.size(), 2U);
  EXPECT_EQ(questions[3].options[0].label, "Red");
  EXPECT_TRUE(questions[4].multi_select);
}

TEST(McpElicitation, AnswersBecomeWhatTheFormWants) {
  const auto elicited = elicited_from(form(), {{"Ann"}, {}, {"yes"}, {"Green"}, {"mon", "wed"}});
  ASSERT_TRUE(elicited) << elicited.error().what;
  EXPECT_EQ(elicited->action, mcp::Elicited::Action::accept);
  EXPECT_EQ(
      json::value(elicited->content),
      *json::parse(R"({"name":"Ann","age":7,"sure":true,"colour":"g","days":["mon","wed"]})"));
}

TEST(McpElicitation, InvalidAnswersAreRefusedAndDecliningDeclines) {
  EXPECT_FALSE(elicited_from(form(), {{}, {}, {}, {}, {}})) << "a name is needed";
  EXPECT_FALSE(elicited_from(form(), {{"Ann"}, {"seven"}, {}, {}, {}}));
  EXPECT_FALSE(elicited_from(form(), {{"Ann"}, {}, {}, {"Blue"}, {}}));
  const auto declined = elicited_from(form(), {{"Decline"}, {}, {}, {}, {}});
  ASSERT_TRUE(declined);
  EXPECT_EQ(declined->action, mcp::Elicited::Action::decline);
  mcp::Elicitation page;
  page.url = "https://example.org/consent";
  ASSERT_EQ(questions_from("needs", page).size(), 1U);
  EXPECT_EQ(elicited_from(page, {{"Done"}})->action, mcp::Elicited::Action::accept);
  EXPECT_EQ(elicited_from(page, {{"Decline"}})->action, mcp::Elicited::Action::decline);
  EXPECT_EQ(elicited_from(page, {})->action, mcp::Elicited::Action::decline);
}

}  // namespace
}  // namespace reef::hooks
