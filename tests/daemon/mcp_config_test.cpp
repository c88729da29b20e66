#include "daemon/mcp_config.h"

#include <gtest/gtest.h>

#include "daemon/agent_edit.h"
#include "daemon/components.h"
#include "daemon/config.h"

namespace reef::daemon {
namespace {

std::vector<std::string> names_of(const runtime::Agent& agent) {
  std::vector<std::string> out;
  for (const auto& server : agent.servers.all()) out.push_back(server.name);
  return out;
}

Result<runtime::Agent> agent_from(std::string_view text) {
  std::vector<std::string> warnings;
  return parse_agent("a", text, "a.toml", warnings);
}

TEST(McpConfig, TheOrderIsThatOfTheFile) {
  const auto tables =
      agent_from("[mcps.zebra]\ncommand = \"z\"\n[mcps.ant]\nurl = \"http://x\"\n[mcps.mole]\n");
  ASSERT_TRUE(tables) << tables.error().what;
  EXPECT_EQ(names_of(*tables), (std::vector<std::string>{"zebra", "ant", "mole"}));
  EXPECT_EQ(tables->mcps, names_of(*tables));
  const auto list = agent_from("mcps = [\"z\", { name = \"a\", command = \"x\" }]");
  ASSERT_TRUE(list) << list.error().what;
  EXPECT_EQ(names_of(*list), (std::vector<std::string>{"z", "a"}));
}

TEST(McpConfig, MistakesAreReportedWithTheirPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"mcps = 7", "a.toml:1: mcps: must be a list"},
      {"[mcps]\nx = 7", "a.toml:2: mcps.x: must be a table"},
      {"[mcps.x]\ncommand = 7", "mcps.x: command: must be a string"},
      {"[mcps.x]\ncommand = \"y\"\nurl = \"http://z\"", "either a command or a url"},
      {"[mcps.x]\nurl = \"file:///etc\"", "http:// or https://"},
      {"[mcps.x]\ncommand = \"y\"\ntimeout = 0", "timeout: must be"},
      {"[mcps.x]\ncommand = \"y\"\nnonsense = 1", "nonsense: servers have no such setting"},
      {"[mcps.\"a b\"]\ncommand = \"y\"", "a server's name is"}};
  for (const auto& [text, words] : cases) {
    const auto agent = agent_from(text);
    ASSERT_FALSE(agent) << text;
    EXPECT_NE(agent.error().what.find(words), std::string::npos) << agent.error().what;
  }
}

TEST(McpConfig, NamesAreTheNodesServersOrComponents) {
  const auto loaded =
      parse_config("[mcps.shared]\ncommand = \"s\"\n[mcp]\nidle_timeout = 5\n", "c");
  ASSERT_TRUE(loaded) << loaded.error().what;
  EXPECT_EQ(loaded->config.mcp_idle, std::chrono::seconds(5));
  EXPECT_TRUE(loaded->warnings.empty());
  std::map<std::string, runtime::Agent, std::less<>> agents;
  agents["a"] = *agent_from("mcps = [\"shared\", \"other\", \"no name\"]");
  std::vector<std::string> warnings;
  resolve_mcps(agents, loaded->config.mcps, warnings);
  ASSERT_EQ(agents["a"].servers.all().size(), 2U);
  EXPECT_EQ(agents["a"].servers.all()[0].command, "s");
  EXPECT_TRUE(agents["a"].servers.all()[1].component);
  EXPECT_EQ(warnings.size(), 1U);
}

TEST(McpConfig, AServerTakesThePlaceOfTheOneWithItsName) {
  const auto server = json::parse(R"({"name":"x","command":"new"})")->as_object();
  const auto write = [&](std::string_view text, const Result<json::object>& patch) {
    EXPECT_TRUE(patch);
    return *with_agent_patch("a", text, "a.toml", *patch);
  };
  const auto config_of = [](std::string_view text) { return agent_from(text)->config.value(); };
  const std::string list = "mcps = [\"first\", { name = \"x\", command = \"old\", cwd = \"/\" }]\n";
  const auto listed = agent_from(write(list, patch_with_mcp(config_of(list), server)));
  ASSERT_TRUE(listed);
  EXPECT_EQ(names_of(*listed), (std::vector<std::string>{"first", "x"}));
  EXPECT_EQ(listed->servers.all()[1].command, "new");
  EXPECT_EQ(listed->servers.all()[1].cwd, "") << "nothing of the old one is left";
  const std::string tables = "# kept\nmodel = \"m\"\n[mcps.x]\ncommand = \"old\"\ncwd = \"/\"\n";
  const auto written = write(tables, patch_with_mcp(config_of(tables), server));
  EXPECT_NE(written.find("# kept"), std::string::npos);
  const auto tabled = agent_from(written);
  ASSERT_TRUE(tabled);
  EXPECT_EQ(tabled->servers.all().at(0).command, "new");
  EXPECT_EQ(tabled->servers.all().at(0).cwd, "");
  const auto without = agent_from(write(list, patch_without_mcp(config_of(list), "x")));
  EXPECT_EQ(names_of(*without), std::vector<std::string>{"first"});
  EXPECT_FALSE(patch_without_mcp(config_of(list), "nobody"));
  const auto none = agent_from(write(tables, patch_without_mcp(config_of(tables), "x")));
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->servers.all().empty());
}

TEST(Components, APortFileIsAPortAndNothingElse) {
  EXPECT_EQ(port_from("8080\n"), PortText{8080});
  EXPECT_EQ(port_from("1"), PortText{1});
  EXPECT_EQ(port_from("8080\nab-c1\n"), (PortText{8080, "ab-c1"}));
  EXPECT_EQ(port_from("8080\r\nx"), (PortText{8080, "x"}));
  for (const auto* text : {"", "0", "65536", "-1", "80 80", "http://x", "0x50", "99999999999999",
                           "80\na b", "80\na\nb", "\n80", "80\n\nx", "80\n\x01"})
    EXPECT_FALSE(port_from(text)) << text;
}

}  // namespace
}  // namespace reef::daemon
