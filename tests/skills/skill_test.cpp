#include "skills/skill.h"

#include <gtest/gtest.h>

#include "skills/allowed_tools.h"
#include "support/run.h"

namespace reef::skills {
namespace {

Skill parse(const std::string& fields, const std::string& folder = "check-feeds") {
  return test::value_of(parse_skill("---\n" + fields + "\n---\n\nDo it.\n", folder));
}
std::string warnings(const std::string& fields, const std::string& folder = "check-feeds") {
  std::string out;
  for (const auto& warning : parse(fields, folder).warnings) out += warning + "; ";
  return out;
}
const std::string kGood = "name: check-feeds\ndescription: Looks at feeds.\n";

TEST(ParseSkill, AllSixFields) {
  const auto skill = parse(kGood +
                           "license: MIT\ncompatibility: needs git\nmetadata:\n  author: us\n"
                           "allowed-tools: Read Bash(git log:*), grep");
  EXPECT_EQ(skill.name, "check-feeds");
  EXPECT_EQ(skill.description, "Looks at feeds.");
  EXPECT_EQ(skill.license, "MIT");
  EXPECT_EQ(skill.compatibility, "needs git");
  EXPECT_EQ(skill.metadata.at(0).second, "us");
  EXPECT_EQ(skill.allowed_tools, (std::vector<std::string>{"Read", "Bash(git log:*)", "grep"}));
  EXPECT_EQ(skill.body, "Do it.\n");
  EXPECT_TRUE(skill.warnings.empty());
}

TEST(ParseSkill, NamesFollowTheRuleOfEveryScript) {
  for (const auto* good : {"a", "a-b", "check-feeds-2", "überblick", "データ分析"})
    EXPECT_TRUE(is_skill_name(good)) << good;
  for (const auto* bad : {"", "-a", "a-", "a--b", "A", "a b", "a_b", "a/b", "..", "Ünder", "a\n"})
    EXPECT_FALSE(is_skill_name(bad)) << bad;
  EXPECT_TRUE(is_skill_name(std::string(64, 'a')));
  EXPECT_FALSE(is_skill_name(std::string(65, 'a')));
}

TEST(ParseSkill, ASkillThatBreaksARuleIsUsedWithAWarning) {
  EXPECT_EQ(warnings("name: other\ndescription: x"),
            "'name' is 'other', and its folder is called 'check-feeds'; ");
  EXPECT_EQ(warnings("description: x"), "'name' is missing; the folder's name is taken; ");
  EXPECT_EQ(warnings("name: Check_Feeds\ndescription: x", "Check_Feeds"),
            "'name' must be lower-case letters, digits and single hyphens between them; ");
  EXPECT_EQ(warnings(kGood + "model: x"),
            "line 4: 'model' is no field of a skill; it is ignored; ");
  EXPECT_EQ(warnings("name: check-feeds\ndescription: " + std::string(1025, 'x')),
            "'description' has more than 1024 characters; ");
  EXPECT_EQ(warnings(kGood + "compatibility: " + std::string(501, 'x')),
            "'compatibility' has more than 500 characters; ");
  EXPECT_EQ(warnings(kGood + "metadata: text"),
            "line 4: 'metadata' must be pairs of texts; it is left out; ");
}

TEST(ParseSkill, OnlyWhatHasNoDescriptionOrCannotBeReadIsRefused) {
  EXPECT_EQ(parse_skill("---\nname: x\n---\n", "x").error().what, "'description' is missing");
  EXPECT_EQ(parse_skill("---\nname: x\ndescription: ' '\n---\n", "x").error().what,
            "'description' is missing");
  EXPECT_EQ(parse_skill("no fields", "x").error().code, Errc::invalid);
  EXPECT_EQ(parse_skill(std::string(kFileBytesMax + 1, 'x'), "x").error().code, Errc::too_large);
  EXPECT_EQ(parse_skill("---\ndescription: x\n---\n", "a b").error().what,
            "it has no name it could be called by");
}

TEST(ParseSkill, ANameThatIsAPathOrMarkupIsNotTaken) {
  for (const auto* bad : {"../x", "a/b", "<x>", "'a b'", "\"a\\nb\"", ".hidden"})
    EXPECT_EQ(parse(std::string("name: ") + bad + "\ndescription: x").name, "check-feeds") << bad;
  EXPECT_EQ(parse("name: \"x\"\ndescription: \"a\\nb\\e[31m\"").description.find('\n'),
            std::string::npos);
}

TEST(ParseSkill, BytesThatAreNoTextAreReplaced) {
  using namespace std::string_literals;
  const auto skill =
      test::value_of(parse_skill("---\nname: x\ndescription: a\xff\xfe\0b\n---\n"s, "x"));
  EXPECT_EQ(skill.warnings.size(), 1U);
}

TEST(AllowedTools, NamesAreComparedWithoutCase) {
  const std::vector<std::string> allowed = {"Read", "grep"};
  EXPECT_TRUE(allows(allowed, "read", {}));
  EXPECT_TRUE(allows(allowed, "grep", {}));
  EXPECT_FALSE(allows(allowed, "bash", {}));
  EXPECT_TRUE(allows({}, "bash", {})) << "nothing is said: everything";
}

TEST(AllowedTools, ACommandMustBeginAsDemandedAndBeOneSimpleCommand) {
  const std::vector<std::string> allowed = {"Bash(git log:*)", "bash(ls)"};
  const auto may = [&](const char* command) {
    return allows(allowed, "bash", {{"command", command}});
  };
  for (const auto* good : {"git log", "git log -1 --stat", "  git  log -1", "ls"})
    EXPECT_TRUE(may(good)) << good;
  for (const auto* bad :
       {"", "git", "git logs", "git push", "ls -l", "git log; rm x", "git log && rm x",
        "git log | tee x", "git log > x", "git log $(rm x)", "git log `rm x`", "git log\nrm x"})
    EXPECT_FALSE(may(bad)) << bad;
  EXPECT_FALSE(allows(allowed, "bash", {}));
  EXPECT_TRUE(allows(std::vector<std::string>{"bash(*)"}, "bash", {{"command", "a; b"}}));
}

TEST(AllowedTools, ASenselessItemLetsNothingThroughAndCausesAWarning) {
  EXPECT_EQ(warnings(kGood + "allowed-tools: Read(src/*)"),
            "line 4: 'allowed-tools' has 'Read(src/*)': only bash may have something in brackets; "
            "this lets nothing through; ");
  EXPECT_FALSE(allows(std::vector<std::string>{"Read(src/*)"}, "read", {}));
  EXPECT_FALSE(allows(std::vector<std::string>{"bash(git"}, "bash", {{"command", "git"}}));
  const auto skill = parse(kGood + "allowed-tools:\n  read: yes");
  EXPECT_FALSE(allows(skill.allowed_tools, "read", {})) << "a bad restriction is still one";
}

}  // namespace
}  // namespace reef::skills
