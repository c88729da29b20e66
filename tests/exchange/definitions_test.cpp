// What is no session, written into files of the home: whole, once, and over nothing.
#include "exchange/definitions.h"

#include <gtest/gtest.h>
#include <toml++/toml.h>

#include "support/temp_dir.h"

namespace reef::exchange {
namespace {

class KeepDefinition : public ::testing::Test {
 protected:
  using Kind = Definition::Kind;

  Result<bool> keep(Kind kind, const std::string& name, json::object body, std::string text = "",
                    bool dry_run = false) {
    const Definition definition{kind, name, std::move(body), std::move(text)};
    return keep_definition(files_, home_.path(), definition, dry_run);
  }
  std::string read(const std::string& path) {
    const auto bytes = read_all(files_, home_.path() + "/" + path);
    return bytes ? *bytes : "";
  }
  void write(const std::string& path, std::string_view bytes) {
    const auto full = home_.path() + "/" + path;
    ASSERT_TRUE(make_directories(files_, full.substr(0, full.find_last_of('/'))).ok());
    ASSERT_TRUE(replace_atomically(files_, full, bytes).ok());
  }

  PosixFiles files_;
  test::TempDir home_;
};

TEST_F(KeepDefinition, AnAgentIsItsFileAndItsPrompt) {
  const auto kept = keep(Kind::agent, "scout",
                         {{"model", "local/x"},
                          {"description", "looks \"ahead\"\nfar"},
                          {"temperature", 0.5},
                          {"tools", {"read", "bash"}},
                          {"limits", {{"steps", 7}}},
                          {"nothing", nullptr}},
                         "You look ahead.\n");
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ(read("agents/scout.md"), "You look ahead.\n");
  const auto text = read("agents/scout.toml");
  const auto file = toml::parse(text);
  EXPECT_EQ(file["model"].value<std::string>(), "local/x");
  EXPECT_EQ(file["description"].value<std::string>(), "looks \"ahead\"\nfar");
  // What has no place here can be read by people, and by nobody else.
  EXPECT_EQ(file.size(), 2U);
  for (const auto word : {"# temperature = 0.5", "'bash'", "steps = 7"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
}

TEST_F(KeepDefinition, AnAgentThatIsThereStaysAsItIs) {
  write("agents/one.toml", "model = \"mine\"\n");
  write("agents/two.md", "mine");
  for (const auto* name : {"one", "two"}) {
    const auto kept = keep(Kind::agent, name, {{"model", "theirs"}}, "theirs");
    ASSERT_TRUE(kept.ok());
    EXPECT_FALSE(*kept);
  }
  EXPECT_EQ(read("agents/one.toml"), "model = \"mine\"\n");
  EXPECT_EQ(read("agents/one.md"), "");
  EXPECT_EQ(read("agents/two.md"), "mine");
  EXPECT_EQ(read("agents/two.toml"), "");
}

TEST_F(KeepDefinition, ANameThatLeadsElsewhereIsRefused) {
  for (const auto* name : {"", "..", "../x", "a/b", "a:b", ".hidden\n"}) {
    const auto kept = keep(Kind::agent, name, {{"model", "m"}});
    ASSERT_FALSE(kept.ok()) << name;
    EXPECT_EQ(kept.error().code, Errc::invalid) << name;
  }
  EXPECT_FALSE(files_.stat_path(home_.path() + "/agents").ok());
}

TEST_F(KeepDefinition, RowsGoBehindWhatIsThere) {
  const std::string mine = "# mine\n[[cron]]\nname = \"old\"  # stays";
  write("crons.toml", mine);
  const json::object body{{"schedule", "0 9 * * *"}, {"enabled", true}, {"skill", "brief"}};
  const auto kept = keep(Kind::cron, "daily", body);
  ASSERT_TRUE(kept && *kept);
  EXPECT_TRUE(read("crons.toml").starts_with(mine + "\n"));
  const auto file = toml::parse(read("crons.toml"));
  ASSERT_EQ(file["cron"].as_array()->size(), 2U);
  EXPECT_EQ(file["cron"][0]["name"].value<std::string>(), "old");
  EXPECT_EQ(file["cron"][1]["name"].value<std::string>(), "daily");
  EXPECT_EQ(file["cron"][1]["schedule"].value<std::string>(), "0 9 * * *");
  EXPECT_EQ(file["cron"][1]["enabled"].value<bool>(), true);
  const auto before = read("crons.toml");
  for (const auto* name : {"old", "daily"}) {
    const auto again = keep(Kind::cron, name, body);
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(*again) << name;
  }
  EXPECT_EQ(read("crons.toml"), before);
}

TEST_F(KeepDefinition, SubscriptionsHaveAFileOfTheirOwn) {
  for (const auto* name : {"7", "8"}) {
    const auto kept = keep(Kind::subscription, name, {{"source", "gh"}, {"target_agent", "crab"}});
    ASSERT_TRUE(kept && *kept);
  }
  const auto file = toml::parse(read("events/subscriptions.toml"));
  ASSERT_EQ(file["subscription"].as_array()->size(), 2U);
  EXPECT_EQ(file["subscription"][1]["name"].value<std::string>(), "8");
  EXPECT_EQ(file["subscription"][1]["target_agent"].value<std::string>(), "crab");
}

TEST_F(KeepDefinition, ABrokenFileIsNotWrittenTo) {
  write("crons.toml", "[[cron]\n");
  const auto kept = keep(Kind::cron, "daily", {{"schedule", "x"}});
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().code, Errc::invalid);
  EXPECT_NE(kept.error().what.find("crons.toml:1"), std::string::npos) << kept.error().what;
  EXPECT_EQ(read("crons.toml"), "[[cron]\n");
}

TEST_F(KeepDefinition, ADryRunSaysTheSameAndWritesNothing) {
  for (const auto kind : {Kind::agent, Kind::cron, Kind::subscription}) {
    const auto kept = keep(kind, "x", {{"model", "m"}}, "prompt", true);
    EXPECT_TRUE(kept && *kept);
  }
  const auto names = files_.list(home_.path());
  ASSERT_TRUE(names.ok());
  EXPECT_TRUE(names->empty());
}

}  // namespace
}  // namespace reef::exchange
