#include "hooks/memory/memory_hook.h"

#include <gtest/gtest.h>

#include "store/fs/fs_documents.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::hooks {
namespace {

class MemoryHookTest : public testing::Test {
 protected:
  runtime::ToolAnswer call(const std::string& tool, const std::string& arguments,
                           const std::string& agent = "reef", const std::string& sender = "user",
                           runtime::Agent::Sight sight = runtime::Agent::Sight::own) {
    runtime::Caller caller{{}, sender, test::value_of(session::SessionId::parse("260101-a-b")), ""};
    caller.agent.name = agent;
    caller.agent.sight = sight;
    const auto parsed = test::value_of(json::parse(arguments));
    return test::run(io, hook.call(tool, parsed.as_object(), caller));
  }
  void expect_failed(const std::string& tool, const std::string& arguments,
                     const std::string& text) {
    const auto answer = call(tool, arguments);
    EXPECT_TRUE(answer.is_error) << answer.text;
    EXPECT_EQ(answer.text, text);
  }

  ~MemoryHookTest() override { test::run(io, sessions.stop()); }
  // Adds the archive that a compaction of this conversation would leave in reef's memory.
  std::string archive(const std::string& agent, const std::string& sender,
                      const std::string& content) {
    const auto session =
        test::value_of(test::run(io, sessions.create({{}, agent, sender, "", {}})));
    const auto name = session->id().text() + "-1";
    keep(name, content);
    return name;
  }
  void keep(const std::string& name, const std::string& content) {
    const auto memory = test::value_of(memories.of("reef"));
    const auto kept =
        test::run(io, memory->apply(memory::Add{name, content, {}, memory::Kind::archive}));
    ASSERT_TRUE(kept) << kept.error().what;
  }
  // Returns those of the words that a recall finds.
  std::vector<std::string> recalled(const std::string& sender, runtime::Agent::Sight sight,
                                    const std::vector<std::string>& words) {
    const auto text =
        call("recall", R"({"query":"walnut","limit":20})", "reef", sender, sight).text;
    std::vector<std::string> out;
    std::copy_if(words.begin(), words.end(), std::back_inserter(out),
                 [&](const auto& word) { return text.find(word) != std::string::npos; });
    return out;
  }

  test::TempDir folder;
  boost::asio::io_context io{1};
  PosixFiles files;
  Pool pool{1};
  SystemClock clock;
  store::FsDocuments documents{files, folder.path()};
  memory::Memories memories{io.get_executor(), documents, pool, clock};
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  MemoryHook hook{memories, sessions};
};

TEST_F(MemoryHookTest, AnAgentRemembersRecallsAndForgets) {
  EXPECT_EQ(call("recall", R"({"query":"vault"})").text, "no memories found");
  EXPECT_EQ(call("remember",
                 R"({"name":"deploy","content":"key: blue vault","aliases":["ship"],"extra":1})")
                .text,
            "remembered: deploy");
  EXPECT_EQ(call("remember", R"({"name":"door","content":"the vault's door sticks"})").text,
            "remembered: door");
  const auto found = call("recall", R"({"query":"blue vault","limit":null})");
  EXPECT_FALSE(found.is_error);
  EXPECT_EQ(found.text, "## deploy\nkey: blue vault\n---\n## door\nthe vault's door sticks");
  EXPECT_EQ(call("recall", R"({"query":"blue vault","limit":1})").text,
            "## deploy\nkey: blue vault");
  EXPECT_EQ(call("remember", R"({"name":"ship","content":"key: red vault"})").text,
            "remembered: deploy");
  EXPECT_EQ(call("forget", R"({"name":"ship"})").text, "forgot: ship");
  expect_failed("forget", R"({"name":"ship"})", "no entry named: ship");
}

TEST_F(MemoryHookTest, MistakesAreToldToTheModel) {
  expect_failed("remember", R"({"content":"x"})", "invalid arguments: 'name' must be a text");
  expect_failed("remember", R"({"name":1,"content":"x"})",
                "invalid arguments: 'name' must be a text");
  expect_failed("remember", R"({"name":"a","content":"x","aliases":["b",2]})",
                "invalid arguments: 'aliases' must be a list of texts");
  expect_failed("remember", R"({"name":"a\nb","content":"x"})",
                "name 'a b' must not hold control characters");
  expect_failed("recall", R"({"query":"x","limit":"many"})",
                "invalid arguments: 'limit' must be a whole number");
  expect_failed("recall", R"({"query":"x","limit":-1})",
                "invalid arguments: 'limit' must be a whole number");
}

TEST_F(MemoryHookTest, AnArchiveIsRecalledAndNotTouched) {
  const auto memory = test::value_of(memories.of("reef"));
  ASSERT_TRUE(test::run(
      io, memory->apply(memory::Add{"week", "talked of vaults", {}, memory::Kind::archive})));
  EXPECT_TRUE(call("remember", R"({"name":"week","content":"x"})").is_error);
  EXPECT_TRUE(call("forget", R"({"name":"week"})").is_error);
  EXPECT_EQ(call("recall", R"({"query":"talked"})").text, "## week\ntalked of vaults");
}

TEST_F(MemoryHookTest, ArchivesAreSeenByThoseWhoMaySeeTheConversation) {
  using Sight = runtime::Agent::Sight;
  using Words = std::vector<std::string>;
  archive("reef", "user", "walnut of the user");
  archive("reef", "zed", "walnut of zed");
  archive("scribe", "zed", "walnut of another agent");
  keep("crab-alice-1-1", "walnut of nobody knows whom");
  const Words all{"of the user", "of zed", "another agent", "nobody knows"};
  EXPECT_EQ(recalled("user", Sight::own, all), (Words{"of the user", "nobody knows"}));
  EXPECT_EQ(recalled("zed", Sight::own, all), (Words{"of zed"}));
  EXPECT_EQ(recalled("telegram:mallory", Sight::own, all), Words());
  EXPECT_EQ(recalled("telegram:mallory", Sight::agent, all),
            (Words{"of the user", "of zed", "nobody knows"}));
  EXPECT_EQ(recalled("telegram:mallory", Sight::all, all), all);
  EXPECT_EQ(call("recall", R"({"query":"walnut"})", "reef", "telegram:mallory").text,
            "no memories found");
}

TEST_F(MemoryHookTest, AnArchiveOfAnotherNameIsStillOfItsConversation) {
  const auto name = archive("reef", "zed", "walnut of zed");
  const auto memory = test::value_of(memories.of("reef"));
  ASSERT_TRUE(test::run(io, memory->apply(memory::Rename{name, "first week"})));
  using Sight = runtime::Agent::Sight;
  EXPECT_TRUE(recalled("user", Sight::own, {"of zed"}).empty());
  EXPECT_FALSE(recalled("zed", Sight::own, {"of zed"}).empty());
}

TEST_F(MemoryHookTest, AnArchiveOfATrashedConversationIsNobodysButThoseWhoSeeAll) {
  using Sight = runtime::Agent::Sight;
  const auto memory = test::value_of(memories.of("reef"));
  for (const bool renamed : {false, true}) {
    const std::string said = renamed ? "walnut second" : "walnut first";
    const auto name = archive("reef", "zed", said);
    if (renamed) ASSERT_TRUE(test::run(io, memory->apply(memory::Rename{name, "a week"})));
    const auto id = test::value_of(session::SessionId::parse(name.substr(0, name.rfind('-'))));
    ASSERT_TRUE(test::run(io, sessions.trash(id)));
    for (const auto* sender : {"user", "zed", "ann"})
      EXPECT_TRUE(recalled(sender, Sight::own, {said}).empty()) << sender << said;
    EXPECT_FALSE(recalled("user", Sight::agent, {said}).empty());
    EXPECT_FALSE(recalled("ann", Sight::all, {said}).empty());
    ASSERT_TRUE(test::run(io, sessions.restore(id)));
    EXPECT_TRUE(recalled("user", Sight::own, {said}).empty());
    EXPECT_FALSE(recalled("zed", Sight::own, {said}).empty());
  }
}

TEST_F(MemoryHookTest, OnlyNamesOfSessionsOfOursAreOfOnesThatAreGone) {
  using Sight = runtime::Agent::Sight;
  for (const auto* name : {"260101-swift-river-1", "260101-swift-river-2-10", "260301-talk-0-1",
                           "0198f0aa-1b2c-7d3e-8f40-0123456789ab-3"}) {
    keep(name, "walnut gone");
    EXPECT_TRUE(recalled("user", Sight::own, {"gone"}).empty()) << name;
  }
  for (const auto* name : {"crab-alice-1-1", "week-1", "260101", "260101-1", "260101-swift-river",
                           "2601-x-1", "first week", "260101-swift-river-", "-1"}) {
    const auto said = "theirs " + std::string(name) + ".";
    keep(name, "walnut " + said);
    EXPECT_FALSE(recalled("user", Sight::own, {said}).empty()) << name;
    EXPECT_TRUE(recalled("ann", Sight::own, {said}).empty()) << name;
  }
}

TEST_F(MemoryHookTest, EntriesThatMayNotBeSeenTakeNoPlaceInTheResult) {
  for (int i = 0; i < 30; ++i)
    archive("reef", "zed", "walnut walnut walnut number " + std::to_string(i));
  call("remember", R"({"name":"tree","content":"a walnut among many other words of a note"})");
  EXPECT_EQ(call("recall", R"({"query":"walnut","limit":1})", "reef", "ann").text,
            "## tree\na walnut among many other words of a note");
}

TEST_F(MemoryHookTest, ALongEntryDoesNotFillTheModelsContext) {
  const json::object note{{"name", "long"}, {"content", "word " + std::string(100'000, 'x')}};
  call("remember", json::write(note));
  const auto found = call("recall", R"({"query":"word"})");
  EXPECT_LT(found.text.size(), 20'000U);
  EXPECT_NE(found.text.find("[cut here; it has 100005 bytes]"), std::string::npos);
}

TEST_F(MemoryHookTest, AgentsDoNotSeeEachOthersMemories) {
  call("remember", R"({"name":"pin","content":"tulip"})", "ann");
  EXPECT_EQ(call("recall", R"({"query":"tulip"})", "bert").text, "no memories found");
  EXPECT_EQ(call("recall", R"({"query":"tulip"})", "ann").text, "## pin\ntulip");
}

TEST_F(MemoryHookTest, EveryToolHasASchemaOfItsArgumentsAndThePromptSaysWhen) {
  const auto all = hook.tools({});
  ASSERT_EQ(all.size(), 3U);
  for (const auto& tool : all) {
    EXPECT_FALSE(tool.description.empty());
    EXPECT_EQ(json::find_string(tool.parameters, "type"), "object");
    const auto* properties = json::find_object(tool.parameters, "properties");
    ASSERT_TRUE(properties);
    for (const auto& required : *json::find_array(tool.parameters, "required"))
      EXPECT_TRUE(properties->contains(required.as_string())) << tool.name;
    for (const auto& [name, schema] : *properties)
      EXPECT_TRUE(json::find_string(schema.as_object(), "description")) << tool.name << name;
    EXPECT_NE(hook.prompt({}).find(tool.name), std::string::npos);
  }
}

}  // namespace
}  // namespace reef::hooks
