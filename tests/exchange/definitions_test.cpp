// Imported definitions (agents, notes, archives and the like) become files of the home: written
// whole, once, and never over a file that is there.
#include "exchange/definitions.h"

#include <unistd.h>

#include <gtest/gtest.h>
#include <toml++/toml.h>

#include "store/fs/fs_documents.h"
#include "support/temp_dir.h"

namespace reef::exchange {
namespace {

class KeepDefinition : public ::testing::Test {
 protected:
  using Kind = Definition::Kind;

  Result<bool> keep(Kind kind, const std::string& name, json::object body, std::string text = "",
                    bool dry_run = false) {
    const Definition definition{kind, name, std::move(body), std::move(text)};
    return keep_definition(files_, documents_, definition, dry_run);
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
  store::FsDocuments documents_{files_, home_.path()};
};

TEST_F(KeepDefinition, AnAgentIsItsFileAndItsPrompt) {
  const auto kept = keep(Kind::agent, "scout",
                         {{"model", "local/x"},
                          {"description", "looks \"ahead\"\nfar"},
                          {"temperature", 0.5},
                          {"tools", {"read", "bash"}},
                          {"skills", {"brief"}},
                          {"max_iterations", 8},
                          {"mcps", {"read", "bash"}},
                          {"limits", {{"steps", 7}}},
                          {"nothing", nullptr}},
                         "You look ahead.\n");
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ(read("agents/scout.md"), "You look ahead.\n");
  const auto text = read("agents/scout.toml");
  const auto file = toml::parse(text);
  EXPECT_EQ(file["model"].value<std::string>(), "local/x");
  EXPECT_EQ(file["description"].value<std::string>(), "looks \"ahead\"\nfar");
  // Settings that Reef does not have become comments.
  EXPECT_EQ(file.size(), 5U);
  // The agent's scope takes effect.
  ASSERT_EQ(file["tools"].as_array()->size(), 2U);
  EXPECT_EQ(file["tools"][1].value<std::string>(), "bash");
  EXPECT_EQ(file["skills"][0].value<std::string>(), "brief");
  EXPECT_EQ(file["max_iterations"].value<int>(), 8);
  for (const auto word : {"# temperature = 0.5", "# mcps", "steps = 7"})
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

TEST_F(KeepDefinition, JobsGoWhereReefCronKeepsThem) {
  write("components/cron/jobs.json",
        R"({"old":{"schedule":"@daily","agent":"","message":"mine"}})");
  const json::object body{{"schedule", "UTC 0 9 * * *"}, {"agent", "crab"}, {"message", "/brief"}};
  const auto kept = keep(Kind::cron, "daily", body);
  ASSERT_TRUE(kept && *kept);
  const auto jobs = json::parse(read("components/cron/jobs.json"));
  ASSERT_TRUE(jobs.ok());
  EXPECT_EQ(jobs->at("old").at("message"), "mine");
  EXPECT_EQ(jobs->at("daily"), json::value(body));
  const auto before = read("components/cron/jobs.json");
  for (const auto* name : {"old", "daily"}) {
    const auto again = keep(Kind::cron, name, body);
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(*again) << name;
  }
  EXPECT_EQ(read("components/cron/jobs.json"), before);
}

TEST_F(KeepDefinition, ABrokenFileIsNotWrittenTo) {
  write("components/cron/jobs.json", "{");
  const auto kept = keep(Kind::cron, "daily", {{"schedule", "x"}});
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().code, Errc::invalid);
  EXPECT_EQ(read("components/cron/jobs.json"), "{");
}

TEST_F(KeepDefinition, ASkillIsItsFolder) {
  write("source/brief/SKILL.md", "ignored");
  write("source/brief/scripts/run.sh", "echo");
  write("source/brief/.hidden", "x");
  ::symlink("/etc/passwd", (home_.path() + "/source/brief/link").c_str());
  const json::object body{{"folder", home_.path() + "/source/brief"}};
  const auto kept = keep(Kind::skill, "brief", body, "---\nname: brief\n---\n");
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ(read("skills/brief/SKILL.md"), "---\nname: brief\n---\n");
  EXPECT_EQ(read("skills/brief/scripts/run.sh"), "echo");
  for (const auto* left : {".hidden", "link"})
    EXPECT_FALSE(files_.stat_path(home_.path() + "/skills/brief/" + left).ok()) << left;
  const auto again = keep(Kind::skill, "brief", {}, "other");
  EXPECT_TRUE(again && !*again);
  for (const auto* name : {"../x", "a/b", ".x", ""})
    EXPECT_FALSE(keep(Kind::skill, name, {}, "x").ok()) << name;
}

TEST_F(KeepDefinition, InstructionsAreNeverWrittenOver) {
  const auto kept = keep(Kind::instructions, "Crab.md", {}, "Be brief.");
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ(read("Reef.md"), "Be brief.");
  const auto same = keep(Kind::instructions, "Crab.md", {}, "Be brief.");
  EXPECT_TRUE(same && !*same);
  EXPECT_FALSE(keep(Kind::instructions, "Crab.md", {}, "Be long.").ok());
  EXPECT_EQ(read("Reef.md"), "Be brief.");
}

TEST_F(KeepDefinition, ADryRunSaysTheSameAndWritesNothing) {
  for (const auto kind : {Kind::agent, Kind::cron, Kind::skill, Kind::instructions}) {
    const auto kept = keep(kind, "x", {{"model", "m"}}, "prompt", true);
    EXPECT_TRUE(kept && *kept);
  }
  const auto names = files_.list(home_.path());
  ASSERT_TRUE(names.ok());
  EXPECT_TRUE(names->empty());
}

}  // namespace
}  // namespace reef::exchange
