#include "hooks/skill/skill_hook.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "model/scripted/scripted.h"
#include "runtime/runtime.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::hooks {
namespace {

using runtime::Agent;
using runtime::ToolAnswer;

// A hook whose tools a skill can forbid.
class Tools final : public runtime::Hook {
 public:
  std::vector<model::Tool> tools(const Agent&) const override {
    return {{"read", "", {{"type", "object"}}}, {"bash", "", {{"type", "object"}}}};
  }
  runtime::Intent intent(const std::string&, const json::object&,
                         const runtime::Caller&) const override {
    return {runtime::Intent::Effect::reads};
  }
  Task<ToolAnswer> call(std::string tool, json::object, runtime::Caller) override {
    co_return ToolAnswer{tool + " was called"};
  }
};

class SkillHookTest : public testing::Test {
 protected:
  SkillHookTest() {
    runtime.hooks().add(hook);
    runtime.hooks().add(std::make_shared<Tools>());
    put("feeds", "Looks at feeds.", "Fetch them.");
    put("strict", "Reads only.", "Only read.", "allowed-tools: Read\n");
  }
  ~SkillHookTest() override {
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
    test::run(io, sessions.stop());
  }

  void put(const std::string& name, const std::string& description, const std::string& body,
           const std::string& more = "") {
    const auto folder = dir / ("skills/" + name);
    std::filesystem::create_directories(folder);
    test::write_file(folder + "/SKILL.md", "---\nname: " + name + "\ndescription: " + description +
                                               "\n" + more + "---\n" + body + "\n");
  }
  void configure(const std::string& script, std::vector<std::string> skills = {}) {
    auto setup = std::make_shared<runtime::Setup>();
    setup->providers.add("s",
                         std::make_shared<model::ScriptedProvider>(*model::parse_script(script)));
    Agent agent;
    agent.name = "reef";
    agent.model = "s/x";
    agent.skills = std::move(skills);
    setup->agents["reef"] = agent;
    runtime.configure(std::move(setup));
  }
  // Sends the words and returns all of the conversation as "role:text;".
  std::string say(const std::string& words) {
    const auto run = test::value_of(runtime.submit({"reef", "user", words, ""}));
    test::run(io, finish(run));
    return said();
  }
  Task<void> finish(std::shared_ptr<runtime::Run> run) {
    runtime::EventLog::Place place;
    for (;;) {
      const auto event = co_await run->events().next(place);
      if (!event || !*event) co_return;
    }
  }
  std::string said() {
    std::string out;
    const auto id = sessions.current(*session::Key::of_pair("reef", "user"));
    const session::Transcript transcript(session::read_transcript(store.raw().at(*id)));
    for (const auto& entry : transcript.entries()) {
      if (const auto message = session::message_of(entry))
        out += std::string(session::role_of(*message)) + ":" + session::text_of(*message) + ";";
      if (entry.type == "custom_message")
        out += "beside:" + std::string(*json::find_string(entry.body, "content")) + ";";
    }
    return out;
  }
  ToolAnswer call(json::object arguments, std::vector<std::string> skills = {}) {
    Agent agent;
    agent.name = "reef";
    agent.skills = std::move(skills);
    runtime::Caller caller{agent, "user", test::value_of(session::SessionId::parse("260101-a-b")),
                           ""};
    caller.key = "agent:reef:user";
    return test::run(io, hook->call("skill", std::move(arguments), caller));
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  PosixFiles files;
  Pool pool{2};
  test::TempDir dir;
  store::MemTranscripts store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  skills::Library library{files, pool, dir / "skills"};
  std::shared_ptr<SkillHook> hook = std::make_shared<SkillHook>(library);
  runtime::Runtime runtime{io.get_executor(), sessions, clock};
};

TEST_F(SkillHookTest, W1_TheToolIsCalledAsItIsNamed) {
  EXPECT_EQ(hook->tools({}).at(0).name, "skill");
  configure(
      R"({"replies":[{"calls":[{"name":"skill","arguments":{"name":"feeds"}}]},{"text":"so"}]})");
  const auto all = say("go");
  EXPECT_NE(all.find("toolResult:<skill name=\"feeds\""), std::string::npos) << all;
  EXPECT_NE(all.find("Fetch them."), std::string::npos);
}

TEST_F(SkillHookTest, ExactNamesLoadFreshOthersAreLookedForAndNothingListsAll) {
  EXPECT_NE(call({{"name", "feeds"}}).text.find("Fetch them."), std::string::npos);
  put("feeds", "Looks at feeds.", "Now otherwise.");
  EXPECT_NE(call({{"name", "feeds"}}).text.find("Now otherwise."), std::string::npos);
  EXPECT_EQ(call({}).text, "feeds: Looks at feeds.\nstrict: Reads only.");
  EXPECT_EQ(call({{"name", "FEED"}}).text, "feeds: Looks at feeds.");
  EXPECT_EQ(call({{"name", "reads"}}).text, "strict: Reads only.");
  EXPECT_EQ(call({{"name", "zebra"}}).text, "no skills found");
  EXPECT_EQ(call({{"name", 3}}).text, "invalid arguments: 'name' must be a text");
}

TEST_F(SkillHookTest, BundledFilesAreReadAndNothingBeyondThem) {
  test::write_file(dir / "skills/feeds/list.txt", "a feed");
  test::write_file(dir / "secret", "no");
  EXPECT_NE(call({{"name", "feeds"}}).text.find("skill(name, file): list.txt"), std::string::npos);
  EXPECT_EQ(call({{"name", "feeds"}, {"file", "list.txt"}}).text, "a feed");
  for (const auto* out : {"../../secret", "/etc/passwd", "../strict/SKILL.md"}) {
    const auto answer = call({{"name", "feeds"}, {"file", out}});
    EXPECT_TRUE(answer.is_error) << out;
    EXPECT_NE(answer.text.find("leads out of its folder"), std::string::npos) << answer.text;
  }
  EXPECT_TRUE(call({{"file", "list.txt"}}).is_error);
  EXPECT_TRUE(call({{"name", "nothing"}, {"file", "x"}}).is_error);
}

TEST_F(SkillHookTest, ScopeHoldsForLoadListPromptAndSlash) {
  EXPECT_EQ(call({}, {"strict"}).text, "strict: Reads only.");
  EXPECT_EQ(call({{"name", "feeds"}}, {"strict"}).text, "no skills found");
  Agent agent;
  agent.skills = {"strict"};
  const auto prompt = test::run(io, hook->instructions(agent, runtime::Place{}));
  EXPECT_EQ(prompt.find("feeds"), std::string::npos);
  EXPECT_NE(prompt.find("strict: Reads only."), std::string::npos);
  configure(
      R"({"replies":[{"calls":[{"name":"skill","arguments":{"name":"feeds"}}]},{"text":"so"}]})",
      {"strict"});
  const auto all = say("/feeds now");
  EXPECT_EQ(all.find("beside:"), std::string::npos) << all;
  EXPECT_NE(all.find("user:/feeds now;"), std::string::npos);
  EXPECT_NE(all.find("toolResult:skill not available: feeds"), std::string::npos);
}

TEST_F(SkillHookTest, WordsFindOnlyWhatIsInTheScope) {
  configure(
      R"({"replies":[{"calls":[{"name":"skill","arguments":{"name":"strict reads"}},
        {"name":"skill","arguments":{"name":"feeds fetch"}}]},{"text":"so"}]})",
      {"strict"});
  const auto all = say("go");
  EXPECT_NE(all.find("toolResult:strict: Reads only.;"), std::string::npos) << all;
  EXPECT_NE(all.find("toolResult:no skills found;"), std::string::npos) << all;
}

TEST_F(SkillHookTest, AnAgentWithoutTheToolIsToldOfNoSkill) {
  Agent agent;
  agent.tools = {"read"};
  EXPECT_EQ(test::run(io, hook->instructions(agent, runtime::Place{})), "");
}

TEST_F(SkillHookTest, ASlashPutsTheSkillBesideTheUsersOwnWords) {
  configure(R"({"replies":[{"text":"so"}]})");
  const auto all = say("  /feeds of today");
  EXPECT_TRUE(all.starts_with("user:  /feeds of today;beside:<skill name=\"feeds\"")) << all;
  EXPECT_NE(all.find("Fetch them."), std::string::npos);
}

TEST_F(SkillHookTest, ASlashThatNamesNoSkillIsLeftAsItIs) {
  configure(R"({"replies":[{"text":"so"}]})");
  EXPECT_EQ(say("/nothing here"), "user:/nothing here;assistant:so;");
  EXPECT_EQ(say("/etc/passwd ../x").find("beside"), std::string::npos);
  EXPECT_EQ(say("/ feeds").find("beside"), std::string::npos);
  EXPECT_EQ(say("say /feeds").find("beside"), std::string::npos);
}

TEST_F(SkillHookTest, AllowedToolsBindFromTheLoadToTheEndOfTheTurn) {
  configure(R"({"replies":[
    {"calls":[{"name":"bash"}]},
    {"calls":[{"name":"skill","arguments":{"name":"strict"}}]},
    {"calls":[{"name":"bash"},{"name":"read"}]},
    {"text":"so"},
    {"calls":[{"name":"bash"}]}, {"text":"again"}]})");
  const auto all = say("go");
  EXPECT_NE(all.find("toolResult:bash was called;assistant:;toolResult:<skill"), std::string::npos);
  EXPECT_NE(all.find("toolResult:tool not available: bash: the skill 'strict' is active"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("toolResult:read was called"), std::string::npos);
  const auto later = say("more").substr(all.size());
  EXPECT_NE(later.find("toolResult:bash was called"), std::string::npos) << later;
}

TEST_F(SkillHookTest, AllowedToolsBindAlsoWhenASlashLoadedIt) {
  configure(R"({"replies":[{"text":"-"},{"calls":[{"name":"bash"}]},{"text":"so"}]})");
  const auto all = say("/strict please");
  EXPECT_NE(all.find("toolResult:tool not available: bash"), std::string::npos) << all;
}

TEST_F(SkillHookTest, EachOfSeveralActiveSkillsBinds) {
  put("other", "x", "y", "allowed-tools: bash\n");
  configure(R"({"replies":[
    {"calls":[{"name":"skill","arguments":{"name":"strict"}}]},
    {"calls":[{"name":"skill","arguments":{"name":"other"}}]},
    {"calls":[{"name":"bash"},{"name":"read"}]}, {"text":"so"}]})");
  const auto all = say("go");
  EXPECT_EQ(all.find("was called"), std::string::npos) << "a skill cannot free itself by another";
}

}  // namespace
}  // namespace reef::hooks
