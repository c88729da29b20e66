#include "exchange/crabtalk/crabtalk.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exchange/crabtalk/cron.h"
#include "memory/crmem.h"
#include "session/context.h"
#include "support/exchange.h"
#include "support/memory_files.h"
#include "support/run.h"

namespace reef::exchange {
namespace {

using test::MemoryFiles;
using test::MemoryIntake;
using test::value_of;

using Lines = std::vector<std::string>;

constexpr std::string_view kRoot = "/h/.crabtalk";
constexpr std::string_view kMeta =
    R"({"agent":"crab","created_by":"alice","created_at":"2026-04-29T08:01:02.123456789+00:00","title":"","updated_at":"2026-04-29T08:05:00.5+00:00","message_count":6})";

class CrabTalk : public testing::Test {
 protected:
  void put(const std::string& path, std::string_view bytes) {
    files_.put(fmt::format("{}/{}", kRoot, path), std::string(bytes));
  }
  // Writes the session as a folder with one file for each step.
  void put_steps(const std::string& slug, const Lines& lines, std::string_view meta = kMeta) {
    put("sessions/" + slug + "/meta", meta);
    for (std::size_t i = 0; i < lines.size(); ++i)
      put(fmt::format("sessions/{}/step-{:06}", slug, i + 1), lines[i]);
  }
  void put_jsonl(const std::string& name, const Lines& lines) {
    std::string bytes;
    for (const auto& line : lines) bytes += line + "\n";
    put("sessions/" + name, bytes);
  }
  void put_archive(const std::string& name, const std::string& content) {
    memory::Contents contents;
    contents.entries.push_back(std::make_shared<memory::Entry>(
        memory::Entry{1, 1'777'000'000, memory::Kind::archive, name, content, {"old-name"}}));
    contents.entries.push_back(std::make_shared<memory::Entry>(
        memory::Entry{2, 1'777'000'000, memory::Kind::note, "a-note", "mine", {}}));
    contents.next_id = 3;
    put("memory.db", value_of(memory::serialize(contents)));
  }
  void read(std::string_view inside = "") {
    value_of(read_crabtalk(files_, fmt::format("{}{}", kRoot, inside), intake_));
  }
  const MemoryIntake::Session& only() {
    EXPECT_EQ(intake_.sessions().size(), 1U);
    return intake_.sessions().at(0);
  }
  const Definition* definition(Definition::Kind kind, std::string_view name) {
    for (const auto& one : intake_.definitions())
      if (one.kind == kind && one.name == name) return &one;
    return nullptr;
  }

  MemoryFiles files_;
  MemoryIntake intake_{files_};
};

TEST_F(CrabTalk, AFolderOfStepsBecomesASession) {
  put_steps(
      "crab_alice_1",
      {
          R"({"message":{"role":"user","content":"list files"}})",
          R"({"message":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}})",
          R"({"message":{"role":"tool","content":"a\n","tool_call_id":"call_1","name":"bash"}})",
          R"({"message":{"role":"assistant","content":"Sure. 🦀","reasoning_content":"user wants ls"}})",
          R"({"event":"tool_start","calls":[],"ts":"2026-04-29T08:02:00Z"})",
          R"({"event":"done","model":"gpt-x","iterations":2,"stop_reason":"text_response","usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_cache_hit_tokens":4},"ts":"2026-04-29T08:03:00Z"})",
      });
  read();
  EXPECT_TRUE(intake_.problems().empty());
  const auto& session = only();
  EXPECT_EQ(session.said(), (Lines{"user: list files", R"(call bash {"command":"ls"})",
                                   "result bash: a\n", "assistant: Sure. 🦀"}));
  EXPECT_EQ(session.head.origin, "crabtalk:crab_alice_1@2026-04-29T08:01:02.123Z");
  EXPECT_EQ(session.head.id, "crab_alice_1");
  EXPECT_EQ(json::write(session.meta),
            R"({"agent":"crab","sender":"alice","key":"agent:crab:alice"})");
  EXPECT_TRUE(session.ended);

  const auto reply = session::message_of(session.entries[3]);
  const auto& message = std::get<session::AssistantMessage>(*reply);
  EXPECT_EQ(std::get<session::ThinkingBlock>(message.content[0]).thinking, "user wants ls");
  EXPECT_EQ(message.model, "gpt-x");
  EXPECT_EQ(format_iso(session.entries[3].time), "2026-04-29T08:03:00.000Z");
  EXPECT_EQ(session.entries[4].type, "custom");
  const auto row = session.row();
  EXPECT_EQ(row.usage.input, 6);
  EXPECT_EQ(row.usage.cache_read, 4);
  EXPECT_EQ(row.usage.output, 5);
  EXPECT_EQ(row.message_count, 4U);
}

TEST_F(CrabTalk, OldFilesWithFlatMessagesAndUptimeAreRead) {
  put_jsonl(
      "crab_alice_2_old-title.jsonl",
      {R"({"agent":"crab","created_by":"alice","created_at":"2026-03-01T10:00:00Z","title":"Old title","uptime_secs":90})",
       R"({"role":"user","content":"hi"})", R"({"role":"assistant","content":"hello"})",
       R"({"compact":"They greeted.","title":"They greeted.","archived_at":"2026-03-01T10:00:30Z"})",
       R"({"role":"user","content":"again"})"});
  read();
  EXPECT_TRUE(intake_.problems().empty());
  const auto& session = only();
  EXPECT_EQ(session.said(),
            (Lines{"user: hi", "assistant: hello", "compaction: They greeted.", "user: again"}));
  EXPECT_EQ(session.head.origin, "crabtalk:crab_alice_2.jsonl@2026-03-01T10:00:00.000Z");
  EXPECT_EQ(session.row().name(), "Old title");
  EXPECT_EQ(session.row().uptime_secs(), 90);
  EXPECT_EQ(format_iso(session.row().updated), "2026-03-01T10:01:30.000Z");
  // Nothing before the marker is given to a model.
  EXPECT_EQ(session::build_context(session.transcript().branch()).items.size(), 2U);
}

TEST_F(CrabTalk, CompactMarkersFindTheirArchive) {
  put_archive("crab-alice-1-1", "We chose Rust.");
  put_steps("crab_alice_1",
            {R"({"message":{"role":"user","content":"before"}})",
             R"({"archive_name":"crab-alice-1-1","archived_at":"2026-04-29T08:04:00+00:00"})",
             R"({"message":{"role":"user","content":"after"}})"});
  read();
  EXPECT_TRUE(intake_.problems().empty());
  EXPECT_EQ(only().said(), (Lines{"user: before", "compaction: We chose Rust.", "user: after"}));
  const auto* archive = definition(Definition::Kind::archive, "crab-alice-1-1");
  ASSERT_TRUE(archive);
  EXPECT_EQ(archive->text, "We chose Rust.");
  EXPECT_EQ(intake_.definitions().size(), 2U);  // the archive and a note

  MemoryIntake one(files_);
  value_of(read_crabtalk(files_, "/h/.crabtalk/sessions/crab_alice_1", one));
  EXPECT_EQ(one.sessions().at(0).said(), only().said());
}

TEST_F(CrabTalk, AMarkerWithoutItsArchiveHidesNothing) {
  put_steps("crab_alice_1", {R"({"message":{"role":"user","content":"before"}})",
                             R"({"archive_name":"gone","archived_at":"2026-04-29T08:04:00Z"})",
                             R"({"message":{"role":"user","content":"after"}})"});
  read();
  ASSERT_EQ(intake_.problems().size(), 1U);
  EXPECT_EQ(intake_.problems()[0].path, "/h/.crabtalk/sessions/crab_alice_1/step-000002");
  EXPECT_EQ(only().said(), (Lines{"user: before", "user: after"}));
  EXPECT_EQ(session::build_context(only().transcript().branch()).items.size(), 2U);
}

TEST_F(CrabTalk, ABrokenMemoryIsNamedAndTheRestIsRead) {
  put("memory.db", "CRMEM\0garbage");
  put_steps("crab_alice_1", {R"({"message":{"role":"user","content":"hi"}})"});
  read();
  ASSERT_EQ(intake_.problems().size(), 1U);
  EXPECT_EQ(intake_.problems()[0].path, "/h/.crabtalk/memory.db");
  EXPECT_EQ(only().said(), Lines{"user: hi"});
}

TEST_F(CrabTalk, GuestsKeepTheirName) {
  put_steps("crab_alice_1",
            {R"({"agent":"reviewer","message":{"role":"assistant","content":"I disagree."}})",
             R"({"agent":"","message":{"role":"assistant","content":"Noted."}})"});
  read();
  EXPECT_EQ(json::find_string(only().entries[0].body, "agent"), "reviewer");
  EXPECT_FALSE(only().entries[1].body.contains("agent"));
}

TEST_F(CrabTalk, UnknownFieldsAndLinesAreKept) {
  put_steps(
      "crab_alice_1",
      {R"({"message":{"role":"user","content":"hi","mood":"good"},"colour":"red"})",
       R"({"what":"ever"})"},
      R"({"agent":"crab","created_by":"alice","created_at":"2026-04-29T08:01:02Z","topic":"boats"})");
  read();
  const auto& session = only();
  EXPECT_EQ(json::write(*session.entries[0].body.if_contains("data")), R"({"topic":"boats"})");
  EXPECT_EQ(json::write(*session.entries[1].body.if_contains("crabtalk")),
            R"({"colour":"red","message":{"mood":"good"}})");
  EXPECT_EQ(json::write(*session.entries[2].body.if_contains("data")), R"({"what":"ever"})");
  EXPECT_EQ(intake_.problems().size(), 1U);
}

TEST_F(CrabTalk, TornAndWrongLinesAreNamedAndTheRestIsRead) {
  put("sessions/crab_alice_3.jsonl",
      "\xEF\xBB\xBF" + std::string(kMeta) +
          "\r\n"
          "{\"role\":\"user\",\"content\":\"one\"}\r\n"
          "not json\r\n"
          "[1,2]\r\n"
          "\r\n"
          "{\"role\":7,\"message\":{\"role\":\"user\",\"content\":{\"odd\":true}}}\r\n"
          "{\"role\":\"assistant\",\"content\":\"two\",\"tool_calls\":\"x\"}\r\n"
          "{\"role\":\"assistant\",\"cont");
  read();
  EXPECT_EQ(only().said(), (Lines{"user: one", R"(user: {"odd":true})", "assistant: two"}));
  ASSERT_EQ(intake_.problems().size(), 3U);
  EXPECT_EQ(intake_.problems()[0].line, 3U);
  EXPECT_EQ(intake_.problems()[1].line, 4U);
  EXPECT_EQ(intake_.problems()[2].line, 8U);
  EXPECT_EQ(intake_.problems()[2].why, "the last line is cut short");
}

TEST_F(CrabTalk, StepsGoByNumberAndTemporaryOnesCountOnlyWhereTheirStepIsMissing) {
  put("sessions/crab_alice_1/meta", kMeta);
  const auto step = [&](const std::string& name, const std::string& text) {
    put("sessions/crab_alice_1/" + name,
        fmt::format(R"({{"message":{{"role":"user","content":"{}"}}}})", text));
  };
  step("step-1000000", "last");
  step("step-999999", "before");
  step("step-000001", "first");
  step("step-000001.tmp.7.8", "half of first");
  step("step-000002.tmp.7.9", "saved");
  read();
  EXPECT_EQ(only().said(), (Lines{"user: first", "user: saved", "user: before", "user: last"}));
}

TEST_F(CrabTalk, ASessionWithoutMetaGoesByItsName) {
  put("sessions/crab_tg-12_4/step-000001", R"({"message":{"role":"user","content":"hi"}})");
  put("sessions/crab_bob_1.jsonl", R"({"role":"user","content":"yo"})"
                                   "\n");
  put("sessions/empty_folder_1/other", "");
  put("sessions/crab_eve_1.jsonl", "");
  read();
  ASSERT_EQ(intake_.sessions().size(), 2U);
  EXPECT_EQ(intake_.sessions()[0].meta.at("agent"), "crab");
  EXPECT_EQ(intake_.sessions()[0].meta.at("sender"), "bob");
  EXPECT_EQ(intake_.sessions()[0].said(), Lines{"user: yo"});
  EXPECT_EQ(intake_.sessions()[1].meta.at("sender"), "tg-12");
  EXPECT_EQ(intake_.problems().size(), 4U);
}

TEST_F(CrabTalk, OnlyTheNewestOfAPairHasItsKey) {
  for (const auto* slug : {"crab_alice_9", "crab_alice_10"})
    put_steps(slug, {R"({"message":{"role":"user","content":"hi"}})"});
  put_jsonl("crab_alice_77.jsonl", {std::string(kMeta), R"({"role":"user","content":"old"})"});
  read("/sessions");
  ASSERT_EQ(intake_.sessions().size(), 3U);
  for (const auto& session : intake_.sessions())
    EXPECT_EQ(session.meta.contains("key"), session.head.id == "crab_alice_10");
}

TEST_F(CrabTalk, WrongClocksDoNotPinASession) {
  put_jsonl(
      "crab_alice_1.jsonl",
      {R"({"agent":"crab","created_by":"a","created_at":"0000-00-00","updated_at":253370764800000})",
       R"({"role":"user","content":"hi"})", R"({"event":"done","model":"m","ts":-1})",
       R"({"role":"user","content":"there"})"});
  read();
  EXPECT_EQ(format_iso(only().row().updated),
            "2026-01-02T03:04:05.000Z");  // when the file was last changed
}

TEST_F(CrabTalk, TheSameIdsAtEveryImportAndNoneTwice) {
  const Lines lines = {R"({"message":{"role":"user","content":"same"}})",
                       R"({"message":{"role":"user","content":"same"}})"};
  put_steps("crab_alice_1", lines);
  read();
  auto longer = lines;
  longer.push_back(R"({"message":{"role":"user","content":"new"}})");
  put_steps("crab_alice_1", longer);
  MemoryIntake again(files_);
  value_of(read_crabtalk(files_, std::string(kRoot), again));
  const auto& before = only().entries;
  const auto& after = again.sessions().at(0).entries;
  ASSERT_EQ(after.size(), 3U);
  EXPECT_EQ(before[0].id, after[0].id);
  EXPECT_EQ(before[1].id, after[1].id);
  EXPECT_NE(only().head.mark, again.sessions()[0].head.mark);

  MemoryIntake unchanged(files_);
  unchanged.know(again.sessions()[0].head);
  value_of(read_crabtalk(files_, std::string(kRoot), unchanged));
  EXPECT_TRUE(unchanged.sessions().empty());
}

TEST_F(CrabTalk, AgentsSubscriptionsAndCronsAreDefined) {
  put("local/settings.toml", R"([agents.crab]
id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
model = "gpt-x"
skills = ["a"]
[agents.evil]
id = "../../../../../etc/passwd"
)");
  put("agents/01ARZ3NDEKTSV4RRFFQ69G5FAV/prompt.md", "You are a crab.");
  put("events/subscriptions.toml", R"([[subscription]]
id = 1
source = "agent:scout:done"
target_agent = "crab"
once = false
)");
  put("config/crons.toml", R"([[cron]]
id = 7
schedule = "0 0 9 * * *"
skill = "news"
agent = "crab"
sender = "cron"
)");
  read();
  EXPECT_TRUE(intake_.problems().empty());
  const auto* crab = definition(Definition::Kind::agent, "crab");
  ASSERT_TRUE(crab);
  EXPECT_EQ(crab->text, "You are a crab.");
  EXPECT_EQ(crab->body.at("model"), "gpt-x");
  const auto* evil = definition(Definition::Kind::agent, "evil");
  ASSERT_TRUE(evil);
  EXPECT_TRUE(evil->text.empty());
  ASSERT_TRUE(definition(Definition::Kind::subscription, "1"));
  const auto* job = definition(Definition::Kind::cron, "7");
  ASSERT_TRUE(job);
  EXPECT_EQ(json::write(job->body),
            R"({"schedule":"UTC 0 9 * * *","agent":"crab","message":"/news","sender":"cron"})");
}

TEST_F(CrabTalk, AScopedAgentStaysScoped) {
  put("local/settings.toml", R"(
[agents.open]
model = "m"
[agents.skilled]
skills = ["news"]
max_iterations = 4
[agents.wired]
[[agents.wired.mcps]]
name = "git"
command = "touch"
args = ["OWNED"]
[agents.quiet]
[agents.quiet.hooks.bash]
disabled = true
)");
  read();
  const auto has = [&](const char* agent, const char* tool) {
    const auto* one = definition(Definition::Kind::agent, agent);
    const auto* tools = one ? json::find_array(one->body, "tools") : nullptr;
    return tools && std::find(tools->begin(), tools->end(), json::value(tool)) != tools->end();
  };
  EXPECT_FALSE(definition(Definition::Kind::agent, "open")->body.contains("tools"));
  const auto& skilled = definition(Definition::Kind::agent, "skilled")->body;
  EXPECT_EQ(json::write(skilled.at("skills")), R"(["news"])");
  EXPECT_TRUE(has("skilled", "bash") && has("skilled", "skill") && has("skilled", "recall"));
  EXPECT_FALSE(has("skilled", "write") || has("skilled", "mcp"));
  EXPECT_TRUE(has("wired", "read") && !has("wired", "skill"));
  // An imported server would run a program, so it is left out.
  EXPECT_TRUE(definition(Definition::Kind::agent, "wired")->body.contains("left_out"));
  EXPECT_TRUE(has("quiet", "read") && has("quiet", "skill") && !has("quiet", "bash"));
}

TEST_F(CrabTalk, ServersThatOldFilesOnlyNameComeByValue) {
  put("local/settings.toml", R"(
[mcps.git]
command = "git-mcp"
env = { TOKEN = "t" }
[agents.wired]
mcps = ["git", "web", "gone"]
)");
  put("config.toml", "[system.wired]\ncompact_threshold = 50000\n");
  put("local/CrabTalk.toml", "[mcps.web]\nurl = \"http://127.0.0.1:9/mcp\"\n");
  read();
  const auto* wired = definition(Definition::Kind::agent, "wired");
  ASSERT_TRUE(wired);
  EXPECT_EQ(json::write(wired->body.at("mcps")),
            R"([{"command":"git-mcp","env":{"TOKEN":"t"},"name":"git"},)"
            R"({"url":"http://127.0.0.1:9/mcp","name":"web"},"gone"])");
  EXPECT_TRUE(wired->body.contains("tools")) << "it stays scoped";
  EXPECT_EQ(wired->body.at("compact_threshold"), 50'000);
  ASSERT_EQ(intake_.problems().size(), 1U);
  EXPECT_NE(intake_.problems()[0].why.find("'gone'"), std::string::npos);
}

TEST_F(CrabTalk, EachAgentGetsTheNotesOfTheOneMemory) {
  put("local/settings.toml", "[agents.crab]\n[agents.scout]\n");
  put_archive("x", "an archive stays with its session");
  read();
  std::vector<std::string> found;
  for (const auto& one : intake_.definitions())
    if (one.kind == Definition::Kind::note)
      found.push_back(std::string(one.body.at("agent").get_string()) + ":" + one.name + ":" +
                      one.text);
  EXPECT_EQ(found, (std::vector<std::string>{"crab:a-note:mine", "scout:a-note:mine"}));
}

TEST_F(CrabTalk, SkillsAndInstructionsComeAlong) {
  put("local/skills/news/SKILL.md", "---\nname: news\n---\nRead them.");
  put("local/skills/none/README.md", "no skill");
  put("Crab.md", "Be brief.");
  read();
  const auto* skill = definition(Definition::Kind::skill, "news");
  ASSERT_TRUE(skill);
  EXPECT_EQ(skill->text, "---\nname: news\n---\nRead them.");
  EXPECT_EQ(skill->body.at("folder"), "/h/.crabtalk/local/skills/news");
  EXPECT_FALSE(definition(Definition::Kind::skill, "none"));
  EXPECT_EQ(definition(Definition::Kind::instructions, "Crab.md")->text, "Be brief.");
}

TEST(CrabTalkSchedule, IsUtcAndCountsSundayAsZero) {
  for (const auto& [theirs, ours] : {std::pair{"0 0 9 * * *", "UTC 0 9 * * *"},
                                     {"0 */5 9-17 * * 2-6", "UTC */5 9-17 * * 1-5"},
                                     {"30 15 4 1 JAN,MAR SUN *", "UTC 15 4 1 1,3 0"},
                                     {"0 0 0 ? * Mon-Fri/2", "UTC 0 0 * * 1-5/2"}})
    EXPECT_EQ(value_of(crabtalk_schedule(theirs)), ours);
  for (const auto* bad : {"*/10 * * * * *", "0 0 9 * * * 2030", "0 9 * * *", ""})
    EXPECT_FALSE(crabtalk_schedule(bad).ok()) << bad;
}

TEST_F(CrabTalk, BrokenSettingsAreNamedWithTheirLine) {
  put("local/settings.toml", "[agents.crab]\nmodel = \n");
  put("config/crons.toml", "cron = [1]\n");
  read();
  ASSERT_EQ(intake_.problems().size(), 2U);
  EXPECT_EQ(intake_.problems()[0].line, 2U);
}

TEST_F(CrabTalk, NothingThereIsAnError) {
  EXPECT_FALSE(read_crabtalk(files_, "/nowhere", intake_));
  files_.put("/empty/x", "");
  EXPECT_FALSE(read_crabtalk(files_, "/empty", intake_));
}

TEST_F(CrabTalk, APipeInPlaceOfAFileIsNamed) {
  put_steps("crab_alice_1", {R"({"message":{"role":"user","content":"hi"}})"});
  files_.put_odd("/h/.crabtalk/sessions/crab_alice_1/step-000002");
  files_.put_odd("/h/.crabtalk/sessions/crab_bob_1.jsonl");
  read();
  EXPECT_EQ(intake_.problems().size(), 2U);
  EXPECT_EQ(only().said(), Lines{"user: hi"});
}

TEST_F(CrabTalk, StopsWhenThePersonGaveUp) {
  put_steps("crab_alice_1", {R"({"message":{"role":"user","content":"hi"}})"});
  intake_.cancel();
  const auto done = read_crabtalk(files_, std::string(kRoot), intake_);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::cancelled);
}

TEST_F(CrabTalk, AForeignFileCannotBringMetadataInALine) {
  put_jsonl(
      "crab_alice_1.jsonl",
      {std::string(kMeta),
       R"({"event":"reef","entry":{"type":"custom","customType":"reef.meta","id":"x","data":{"key":"agent:crab:victim"}}})",
       R"({"message":{"role":"user","content":"hi"},"reef":{"id":"m1","with":{"parentId":"zz","type":"label"},"message":{"role":"assistant"}}})"});
  read();
  EXPECT_EQ(intake_.problems().size(), 1U);
  EXPECT_EQ(only().said(), Lines{"user: hi"});
  EXPECT_EQ(only().entries[0].id.text, "m1");
}

}  // namespace
}  // namespace reef::exchange
