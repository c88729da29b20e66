#include "daemon/config.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "store/fs/fs_documents.h"
#include "support/temp_dir.h"

namespace reef::daemon {
namespace {

TEST(Config, AnEmptyFileIsAllDefaults) {
  const auto loaded = parse_config("", "config.toml");
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->warnings.empty());
  EXPECT_FALSE(loaded->config.tcp_enabled);
  EXPECT_EQ(loaded->config.tcp_port, 6688);
  EXPECT_FALSE(loaded->config.tcp_trust_loopback);
  EXPECT_EQ(loaded->config.default_agent, "reef");
}

TEST(Config, EveryKeyIsRead) {
  const auto loaded = parse_config(R"(
default_agent = "me"
[log]
level = "debug"
file_bytes_max = 100000
files_max = 2
[tcp]
enabled = true
port = 7000
trust_loopback = true
[limits]
connections_max = 10
send_queue_bytes_max = 8192
send_queue_messages_max = 9
stall_ms_max = 500
requests_in_flight_max = 3
[providers.s]
kind = "scripted"
script = "s.json"
)",
                                   "config.toml");
  ASSERT_TRUE(loaded) << loaded.error().what;
  EXPECT_TRUE(loaded->warnings.empty());
  const auto& config = loaded->config;
  EXPECT_EQ(config.default_agent, "me");
  EXPECT_EQ(config.log_level, log::Level::debug);
  EXPECT_EQ(config.log_file_bytes_max, 100'000U);
  EXPECT_EQ(config.log_files_max, 2U);
  EXPECT_TRUE(config.tcp_enabled);
  EXPECT_EQ(config.tcp_port, 7000);
  EXPECT_TRUE(config.tcp_trust_loopback);
  EXPECT_EQ(config.limits.connections_max, 10U);
  EXPECT_EQ(config.limits.send_queue_bytes_max, 8192U);
  EXPECT_EQ(config.limits.send_queue_messages_max, 9U);
  EXPECT_EQ(config.limits.stall_max, std::chrono::milliseconds(500));
  EXPECT_EQ(config.limits.requests_in_flight_max, 3U);
  EXPECT_EQ(config.providers.at("s").script, "s.json");
}

TEST(Config, ABadValueNamesFileLineAndKey) {
  for (const auto& [text, expected] : {
           std::pair("[tcp]\n\nport = 70000\n",
                     "c.toml:3: tcp.port: must be a whole number from 0 to 65535"),
           std::pair("[tcp]\nport = \"x\"\n",
                     "c.toml:2: tcp.port: must be a whole number from 0 to 65535"),
           std::pair("[tcp]\nenabled = 1\n", "c.toml:2: tcp.enabled: must be true or false"),
           std::pair("default_agent = 5\n", "c.toml:1: default_agent: must be a string"),
           std::pair("tcp = 5\n", "c.toml:1: tcp: must be a table"),
           std::pair("[log]\nlevel = \"loud\"\n",
                     "c.toml:2: log.level: must be one of: debug, info, warn, error"),
           std::pair("[providers.x]\nkind = \"azure\"\n",
                     "c.toml:1: providers.x.base_url: kind 'azure' needs one"),
           std::pair("[providers.x]\nkind = \"openai\"\nmodels = \"m\"\n",
                     "c.toml:3: providers.x.models: must be a list of strings"),
           std::pair(
               "[providers.\"a/b\"]\nkind = \"openai\"\n",
               "c.toml:1: providers.a/b: a provider's name is letters, digits, dashes, points "
               "and underscores"),
           std::pair("[providers]\nx = 1\n", "c.toml:2: providers.x: must be a table"),
       }) {
    const auto loaded = parse_config(text, "c.toml");
    ASSERT_FALSE(loaded) << text;
    EXPECT_EQ(loaded.error().what, expected);
  }
}

TEST(Config, SettingsThatMakeRoomInAContextAreRead) {
  const auto loaded = parse_config(R"(
[compaction]
keep_recent_tokens = 5000
on_overflow = false
[pruning]
enabled = false
soft_share = 0.2
hard_share = 0.6
keep_replies = 5
protected_tools = ["read"]
)",
                                   "config.toml");
  ASSERT_TRUE(loaded) << loaded.error().what;
  EXPECT_TRUE(loaded->warnings.empty());
  EXPECT_FALSE(loaded->config.compaction.on_overflow);
  const auto& rules = loaded->config.pruning;
  EXPECT_FALSE(rules.on);
  EXPECT_EQ(rules.soft_share, 0.2);
  EXPECT_EQ(rules.hard_share, 0.6);
  EXPECT_EQ(rules.keep_replies, 5);
  EXPECT_EQ(rules.protected_tools, std::vector<std::string>{"read"});
  for (const auto* bad :
       {"[pruning]\nsoft_share = 2", "[pruning]\nsoft_share = 0.5\nhard_share = 0.1",
        "[pruning]\nkeep_replies = 0", "[pruning]\nprotected_tools = 3",
        "[compaction]\non_overflow = 1"})
    EXPECT_FALSE(parse_config(bad, "config.toml")) << bad;

  std::vector<std::string> warnings;
  const auto agent = parse_agent("a", "compact_on_overflow = false", "a.toml", warnings);
  ASSERT_TRUE(agent);
  EXPECT_EQ(agent->compact_on_overflow, std::optional<bool>(false));
  EXPECT_FALSE(parse_agent("a", "", "a.toml", warnings)->compact_on_overflow);
}

TEST(Config, BrokenTomlNamesTheLine) {
  const auto loaded = parse_config("a = 1\nb = = 2\n", "c.toml");
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().what.starts_with("c.toml:2: ")) << loaded.error().what;
}

TEST(Config, UnknownKeysWarnWithTheirPlace) {
  const auto loaded = parse_config("colour = 1\n[tcp]\nprot = 5\n", "c.toml");
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->warnings.size(), 2U);
  EXPECT_EQ(loaded->warnings[0], "c.toml:3: tcp.prot: unknown key, ignored");
  EXPECT_EQ(loaded->warnings[1], "c.toml:1: colour: unknown key, ignored");
}

TEST(Agents, ABrokenFileLeavesTheOthersWorking) {
  const test::TempDir home;
  const std::string folder = home / "agents/";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  test::write_file(folder + "good.toml", "model = \"local\"\ndescription = \"d\"\n");
  test::write_file(folder + "good.md", "Be kind.");
  test::write_file(folder + "bad.toml", "model = 5\n");
  test::write_file(folder + "with:colon.toml", "");
  test::write_file(folder + "notes.txt", "");
  PosixFiles files;
  store::FsDocuments documents(files, home.path());
  const auto loaded = load_agents(AgentFiles{documents});
  EXPECT_EQ(loaded.agents.size(), 2U);
  EXPECT_EQ(loaded.agents.at("good").prompt, "Be kind.");
  EXPECT_TRUE(loaded.agents.contains("reef"));
  ASSERT_EQ(loaded.warnings.size(), 2U);
  EXPECT_NE(loaded.warnings[0].find("bad.toml:1: model"), std::string::npos);
}

TEST(Agents, AFreshHomeHasTheBuiltInOne) {
  PosixFiles files;
  store::FsDocuments documents(files, "/nonexistent");
  const auto loaded = load_agents(AgentFiles{documents});
  EXPECT_TRUE(loaded.warnings.empty());
  EXPECT_EQ(loaded.agents.at("reef").model, "local");
}

}  // namespace
}  // namespace reef::daemon
