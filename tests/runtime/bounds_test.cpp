// Bounds of delegated work, as they are kept with its session.
#include "runtime/bounds.h"

#include <gtest/gtest.h>

#include "runtime/scope.h"

namespace reef::runtime {
namespace {

Agent anybody() {
  Agent out;
  out.sight = Agent::Sight::all;
  out.remote_bash = true;
  out.pass_env = {"A", "B"};
  return out;
}

TEST(Bounds, KeptBoundsBindAsBefore) {
  Agent parent;
  parent.tools = {"read", "ls"};
  parent.skills = {"feeds"};
  parent.pass_env = {"B"};
  parent.sight = Agent::Sight::agent;
  const auto child = narrowed(anybody(), parent);
  const auto later = within(anybody(), *json::parse(json::write(bounds_of(child)))->if_object());
  for (const auto* tool : {"read", "ls", "bash"})
    EXPECT_EQ(may_call(later, tool), may_call(child, tool)) << tool;
  EXPECT_TRUE(may_use_skill(later, "feeds"));
  EXPECT_FALSE(may_use_skill(later, "other"));
  EXPECT_EQ(later.sight, Agent::Sight::agent);
  EXPECT_FALSE(later.remote_bash);
  EXPECT_EQ(later.pass_env, std::vector<std::string>{"B"});
}

TEST(Bounds, AnAgentThatWasNotNarrowedStaysAsItIs) {
  EXPECT_EQ(within(anybody(), bounds_of(narrowed(anybody(), anybody()))), anybody());
}

TEST(Bounds, ANarrowerConfigurationStaysNarrower) {
  auto agent = anybody();
  agent.tools = {"ls"};
  agent.sight = Agent::Sight::own;
  const auto later = within(agent, bounds_of(narrowed(anybody(), anybody())));
  EXPECT_FALSE(may_call(later, "read"));
  EXPECT_EQ(later.sight, Agent::Sight::own);
}

TEST(Bounds, UnreadableBoundsLetNothingThrough) {
  for (const auto* text :
       {"{}", R"({"scopes":7})", R"({"scopes":[7]})", R"({"scopes":[{"tools":"read"}]})",
        R"({"scopes":[{"tools":[7],"skills":[null]}]})", R"({"scopes":[{}],"sight":99})"}) {
    const auto later = within(anybody(), json::parse(text)->get_object());
    EXPECT_FALSE(may_call(later, "read")) << text;
    EXPECT_FALSE(may_use_skill(later, "feeds")) << text;
    EXPECT_FALSE(later.remote_bash) << text;
    EXPECT_TRUE(later.pass_env.empty()) << text;
  }
}

}  // namespace
}  // namespace reef::runtime
