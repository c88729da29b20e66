// Guest turns, scope and the life of hooks in the runtime: what the model is given, what is kept,
// and what readers are told.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/notify.h"
#include "mcp/spec.h"
#include "runtime/runtime.h"
#include "runtime/scope.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"

namespace reef::runtime {
namespace {

// A provider that says what it is told to and remembers its requests.
class NotingProvider final : public model::Provider {
 public:
  explicit NotingProvider(Executor loop) : go_on_(std::move(loop)) {}

  std::string_view api() const override { return "test"; }
  Task<model::Outcome> stream(const model::Request& request,
                              const model::DeltaSink& sink) override {
    requests.push_back(request);
    for (const auto& message : request.messages)
      if (const auto* reply = std::get_if<session::AssistantMessage>(&*message))
        if (const auto* text = std::get_if<session::TextBlock>(&reply->content.at(0)))
          seen.push_back(text->text);
    sink({model::Delta::Kind::text, words});
    while (hang) co_await go_on_.wait();
    model::Reply reply;
    if (!words.empty()) reply.message.content.push_back(session::TextBlock{words});
    for (const auto& name : std::exchange(calls, {}))
      reply.message.content.push_back(session::ToolCallBlock{"c1", name, {}});
    if (reply.message.content.size() > 1 || words.empty())
      reply.message.stop_reason = session::StopReason::tool_use;
    co_return reply;
  }

  std::string words = "well";
  std::vector<std::string> calls;
  bool hang = false;
  std::vector<model::Request> requests;
  std::vector<std::string> seen;

 private:
  Notify go_on_;
};

// A hook with the tools `look` and `skill` that writes down what it hears.
class NotingHook final : public Hook {
 public:
  std::vector<model::Tool> tools(const Agent&) const override {
    return {{"look", "", {{"type", "object"}}}, {"skill", "", {{"type", "object"}}}};
  }
  Scoped scoped_tools(const Agent& agent) const override {
    auto all = Hook::scoped_tools(agent);
    if (agent.description == "no skills") all.names.pop_back();
    all.line = line;
    return all;
  }
  std::string prompt(const Agent&) const override { return "use look"; }
  Intent intent(const std::string&, const json::object&, const Caller&) const override {
    return Intent{Intent::Effect::reads};
  }
  Task<std::string> instructions(const Agent& agent, const Place& place) const override {
    co_return fmt::format("{} works in {}", agent.name, place.cwd);
  }
  Agent on_build_agent(Agent agent) const override {
    agent.prompt += " built";
    return agent;
  }
  void on_register_agent(const Agent& agent) override { heard += "+" + agent.name + " "; }
  void on_unregister_agent(const std::string& name) override { heard += "-" + name + " "; }
  Task<void> preprocess(const Agent&, const std::string&, Words& words) override {
    if (words.text.starts_with("/big ")) words.text = "BIG " + words.text.substr(5);
    co_return;
  }
  void on_event(const Scene& scene, const Event& event) override {
    if (std::holds_alternative<Start>(event))
      heard += fmt::format("start({},{},{}) ", scene.agent, scene.key, scene.guest);
    if (std::holds_alternative<End>(event)) heard += "end ";
  }
  Task<ToolAnswer> call(std::string tool, json::object, Caller) override {
    ++called;
    co_return ToolAnswer{tool + " done"};
  }

  std::string line;
  std::string heard;
  int called = 0;
};

class GuestTest : public testing::Test {
 protected:
  GuestTest() {
    runtime.hooks().add(hook);
    configure();
  }
  ~GuestTest() override {
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
    test::run(io, sessions.stop());
  }

  void configure(std::vector<std::string> tools = {}, std::vector<std::string> skills = {}) {
    auto setup = std::make_shared<runtime::Setup>();
    setup->providers.add("p", provider);
    for (const auto* name : {"reef", "critic", "poet"}) {
      Agent agent;
      agent.name = name;
      agent.model = "p";
      agent.prompt = fmt::format("You are {}.", name);
      agent.tools = tools;
      agent.skills = skills;
      setup->agents[name] = agent;
    }
    runtime.configure(std::move(setup));
  }

  Task<std::vector<Event>> read(std::shared_ptr<runtime::Run> run) {
    std::vector<Event> out;
    EventLog::Place place;
    for (;;) {
      auto event = co_await run->events().next(place);
      if (!event || !*event) co_return out;
      out.push_back(std::move(**event));
    }
  }
  std::shared_ptr<runtime::Run> submit(const std::string& words, const std::string& guest = "",
                                       const std::string& cwd = "/work") {
    Message message{"reef", "user", words, cwd};
    message.guest = guest;
    return test::value_of(runtime.submit(std::move(message)));
  }
  End say(const std::string& words, const std::string& guest = "",
          const std::string& cwd = "/work") {
    const auto events = test::run(io, read(submit(words, guest, cwd)));
    EXPECT_FALSE(events.empty());
    return events.empty() ? End{} : std::get<End>(events.back());
  }
  session::Transcript transcript() {
    const auto id = sessions.current(*session::Key::of_pair("reef", "user"));
    EXPECT_TRUE(id);
    return session::Transcript(session::read_transcript(store.raw().at(*id)));
  }
  // The transcript as "user:hi;assistant:well;assistant[critic]:no;".
  std::string stored() {
    std::string out;
    const auto whole = transcript();
    for (const auto& entry : whole.entries())
      if (const auto message = session::message_of(entry)) {
        out += session::role_of(*message);
        if (const auto agent = json::find_string(entry.body, "agent"))
          out += fmt::format("[{}]", *agent);
        out += ":" + session::text_of(*message) + ";";
      }
    return out;
  }
  const model::Request& last() { return provider->requests.back(); }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  std::shared_ptr<NotingProvider> provider = std::make_shared<NotingProvider>(io.get_executor());
  std::shared_ptr<NotingHook> hook = std::make_shared<NotingHook>();
  std::string told;  // the words heard last
  Runtime runtime{io.get_executor(), sessions, clock,
                  Runtime::Needs{.on_words = [this](const session::SessionId&,
                                                    const std::string& words) { told = words; }}};
};

TEST_F(GuestTest, AGuestSpeaksInTheConversationOfAnother) {
  say("one");
  provider->words = "I disagree";
  const auto end = say("what does the critic say?", "critic");
  EXPECT_EQ(end.agent, "critic");
  EXPECT_EQ(end.error, "");
  EXPECT_EQ(stored(),
            "user:one;assistant:well;user:what does the critic say?;"
            "assistant[critic]:I disagree;");
  EXPECT_TRUE(last().tools.empty()) << "text only";
  EXPECT_TRUE(last().system.starts_with("You are critic. built\n\n")) << last().system;
  EXPECT_NE(last().system.find("led by the agent 'reef'"), std::string::npos);
  EXPECT_NE(last().system.find("critic works in /work"), std::string::npos);
  EXPECT_EQ(last().system.find("use look"), std::string::npos) << "it has no tools to use";
  ASSERT_EQ(last().messages.size(), 3U) << "the framing is not a message";
  EXPECT_EQ(sessions.size(), 1U);
}

TEST_F(GuestTest, AGuestsWordsAreTaggedForAllAndTheHostIsToldWhy) {
  provider->words = "I disagree";
  say("one", "critic");
  provider->words = "well";
  say("two");
  EXPECT_EQ(provider->seen.back(), "<from agent=\"critic\">\nI disagree\n</from>");
  EXPECT_NE(last().system.find("of guests"), std::string::npos);
  EXPECT_FALSE(last().tools.empty());
  say("three", "poet");
  EXPECT_EQ(provider->seen.at(provider->seen.size() - 2),
            "<from agent=\"critic\">\nI disagree\n</from>");
  EXPECT_EQ(provider->seen.back(), "well") << "the host's words carry no tag";
}

TEST_F(GuestTest, TheHostIsNotToldOfGuestsThatWereNeverThere) {
  say("one");
  EXPECT_EQ(last().system.find("guests"), std::string::npos);
}

// CrabTalk lost the user's line of a turn when it injected fewer framing entries than before.
TEST_F(GuestTest, C2_NoUserLineIsLostWhenTheFramingChanges) {
  std::string wanted;
  int number = 0;
  for (const auto* guest : {"", "critic", "", "critic", "critic", "", "poet", ""}) {
    const auto words = fmt::format("line {}", ++number);
    // The turns also go in and out of a folder with instructions.
    say(words, guest, number % 2 == 0 ? "/work" : "");
    wanted += fmt::format("user:{};assistant{}:well;", words,
                          *guest ? fmt::format("[{}]", guest) : std::string());
  }
  EXPECT_EQ(stored(), wanted);
  for (const auto& [id, bytes] : store.raw()) {
    EXPECT_EQ(bytes.find("<conversation>"), std::string::npos);
    EXPECT_EQ(bytes.find("works in"), std::string::npos);
    EXPECT_EQ(bytes.find("<from"), std::string::npos);
  }
}

TEST_F(GuestTest, AKilledGuestLeavesTheUsersWordsAndNothingElse) {
  provider->hang = true;
  const auto run = submit("one", "critic");
  test::run_ready(io);
  ASSERT_EQ(provider->requests.size(), 1U);
  ASSERT_TRUE(runtime.kill("reef", "user")) << "the conversation is addressed, whoever speaks";
  const auto events = test::run(io, read(run));
  EXPECT_EQ(std::get<End>(events.back()).code, Errc::cancelled);
  EXPECT_EQ(stored(), "user:one;");
  provider->hang = false;
  say("two");
  EXPECT_EQ(stored(), "user:one;user:two;assistant:well;");
}

TEST_F(GuestTest, AGuestsCallsAreRejected) {
  provider->calls = {"look"};
  EXPECT_EQ(say("one", "critic").error, "") << "its words count";
  provider->calls = {"look"};
  provider->words = "";
  EXPECT_EQ(say("two", "critic").error,
            "guest 'critic' wanted to call tools, which guests do not have");
  EXPECT_EQ(hook->called, 0);
  EXPECT_EQ(stored(), "user:one;assistant[critic]:well;user:two;");
  for (const auto& [id, bytes] : store.raw()) EXPECT_EQ(bytes.find("toolCall"), std::string::npos);
}

TEST_F(GuestTest, UnknownGuestsAreRefusedAndTheHostIsNoGuest) {
  Message message{"reef", "user", "x", ""};
  message.guest = "nobody";
  const auto run = runtime.submit(message);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Errc::not_found);
  EXPECT_EQ(run.error().what, "guest agent 'nobody' not registered");
  EXPECT_EQ(sessions.size(), 0U);
  say("one", "reef");
  EXPECT_EQ(stored(), "user:one;assistant:well;");
  EXPECT_FALSE(last().tools.empty());
}

TEST_F(GuestTest, AGuestMayBeginAConversationWhichIsStillTheHosts) {
  say("one", "critic");
  const auto id = sessions.current(*session::Key::of_pair("reef", "user"));
  ASSERT_TRUE(id);
  EXPECT_EQ(sessions.find(*id)->agent(), "reef");
}

TEST_F(GuestTest, AReloadInTheMiddleChangesNothingForTheTurn) {
  provider->hang = true;
  const auto run = submit("one", "critic");
  test::run_ready(io);
  runtime.configure(std::make_shared<runtime::Setup>());
  provider->hang = false;
  provider->requests.clear();
  ASSERT_TRUE(runtime.kill("reef", "user"));
  EXPECT_FALSE(test::run(io, read(run)).empty());
  configure();
}

// ---- scope ----

TEST_F(GuestTest, WhatIsOutsideTheScopeIsNotOfferedAndNotDispatched) {
  configure({"skill"}, {"summarise"});
  provider->calls = {"look", "skill"};
  provider->words = "";
  const auto run = submit("go");
  test::run_ready(io);
  provider->words = "well";
  std::string results;
  for (const auto& event : test::run(io, read(run)))
    if (const auto* result = std::get_if<ToolResult>(&event))
      results += fmt::format("{}:{};", result->output, result->is_error);
  EXPECT_NE(results.find("tool not available: look:true;"), std::string::npos) << results;
  EXPECT_NE(results.find("skill done:false;"), std::string::npos) << results;
  EXPECT_EQ(hook->called, 1);
  ASSERT_EQ(last().tools.size(), 1U);
  EXPECT_EQ(last().tools[0].name, "skill");
  EXPECT_NE(last().system.find("<scope>\ntools: skill\nskills: summarise\n</scope>"),
            std::string::npos)
      << last().system;
}

TEST(Scope, StarsStandForAnyRunOfCharacters) {
  for (const auto& [pattern, name] :
       {std::pair("bash", "bash"), std::pair("*", ""), std::pair("*", "bash"),
        std::pair("files__*", "files__read"), std::pair("*_list", "mcp_list"),
        std::pair("a*b*c", "a-b-b-c"), std::pair("**", "x")})
    EXPECT_TRUE(fits(pattern, name)) << pattern << " " << name;
  for (const auto& [pattern, name] :
       {std::pair("bash", "bas"), std::pair("files__*", "files_read"), std::pair("", "x"),
        std::pair("a*b", "acbd"), std::pair("?ash", "bash")})
    EXPECT_FALSE(fits(pattern, name)) << pattern << " " << name;
  // No pattern may take long.
  EXPECT_FALSE(fits(std::string(200, '*') + "b", std::string(20'000, 'a')));
}

TEST(Scope, DeclaredSkillsAndServersBelongToTheScope) {
  Agent agent;
  EXPECT_TRUE(may_call(agent, "anything")) << "without a whitelist everything";
  agent.tools = {"read", "g*"};
  for (const auto* no : {"bash", "skill", "recall", "files__read", "mcp_list"})
    EXPECT_FALSE(may_call(agent, no)) << no;
  for (const auto* yes : {"read", "grep", "glob"}) EXPECT_TRUE(may_call(agent, yes)) << yes;
  agent.skills = {"web-*"};
  EXPECT_TRUE(may_call(agent, "skill"));
  EXPECT_TRUE(may_use_skill(agent, "web-search"));
  EXPECT_FALSE(may_use_skill(agent, "deploy"));
  mcp::Spec server;
  server.name = "my.files";
  agent.servers = std::vector{server};
  for (const auto* yes : {"my_files__read", "mcp_list", "mcp_read", "mcp_prompt"})
    EXPECT_TRUE(may_call(agent, yes)) << yes;
  EXPECT_FALSE(may_call(agent, "other__read"));
  agent.tools.push_back("memory");
  for (const auto* yes : {"recall", "remember", "forget"}) EXPECT_TRUE(may_call(agent, yes)) << yes;
  // An agent that works for it can do what it can, and no more.
  const auto child = narrowed(Agent(), agent);
  for (const auto* yes : {"read", "recall", "skill", "my_files__read"})
    EXPECT_TRUE(may_call(child, yes)) << yes;
  EXPECT_FALSE(may_call(child, "bash"));
  EXPECT_FALSE(may_use_skill(child, "deploy"));
}

TEST(Scope, WorkIsHandedOnlyToAgentsTheConfigurationNames) {
  Agent boss, scout;
  boss.tools = {"delegate"};
  scout.name = "web-scout";
  scout.tools = {"grep"};
  EXPECT_FALSE(may_call(narrowed(scout, boss), "grep"));
  boss.delegate_to = {"web-*"};
  EXPECT_TRUE(may_call(narrowed(scout, boss), "grep"));
  EXPECT_FALSE(may_call(narrowed(scout, boss), "bash")) << "its own list holds";
  scout.name = "other";
  EXPECT_FALSE(may_call(narrowed(scout, boss), "grep"));
  // The bounds of the agent that delegates hold for the other as well.
  Agent top;
  top.tools = {"delegate", "read"};
  scout.name = "web-scout";
  EXPECT_FALSE(may_call(narrowed(scout, narrowed(boss, top)), "grep"));
}

TEST(Scope, NamesThatMeanNothingAreNamed) {
  Agent agent;
  agent.tools = {"read", "raed", "g*", "x*", "memory", "files__anything", "other__*"};
  mcp::Spec server;
  server.name = "files";
  agent.servers = std::vector{server};
  EXPECT_EQ(tools_that_mean_nothing(agent, {"read", "grep", "recall"}),
            (std::vector<std::string>{"raed", "x*", "other__*"}));
}

TEST(Scope, SkillsAreAWhitelistTooAndUnknownToolsAreNoViolation) {
  Agent agent;
  agent.name = "a";
  EXPECT_FALSE(find_violation(agent, {"1", "anything", {}}));
  EXPECT_EQ(scope_block(agent, {}), "");
  agent.skills = {"feeds"};
  EXPECT_FALSE(find_violation(agent, {"1", "skill", {{"name", "feeds"}}}));
  EXPECT_FALSE(find_violation(agent, {"1", "skill", {}}));
  const auto found = find_violation(agent, {"1", "skill", {{"name", "rm\nall"}}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, "skill");
  EXPECT_EQ(found->text, "skill not available: rm all");
  agent.mcps = {"files"};
  EXPECT_EQ(scope_block(agent, {"bash: read only"}),
            "<scope>\nskills: feeds\nmcp servers: files\nbash: read only\n</scope>");
  EXPECT_EQ(security_line(*found, "a", "tg:7", "260101-a-b"),
            "security {\"event\":\"scope_violation\",\"agent\":\"a\",\"sender\":\"tg:7\","
            "\"session\":\"260101-a-b\",\"kind\":\"skill\",\"name\":\"rm all\"}");
}

TEST_F(GuestTest, AHookDecidesWhatAnAgentsConfigurationGrants) {
  hook->line = "look: at your own things only";
  Agent agent;
  agent.name = "reef";
  agent.description = "no skills";
  const auto box = runtime.hooks().toolbox(agent);
  ASSERT_EQ(box.tools().size(), 1U);
  EXPECT_EQ(box.tools()[0].name, "look");
  const Caller caller{agent, "user", test::value_of(session::SessionId::parse("260101-a-b")), ""};
  EXPECT_EQ(test::run(io, box.call({"1", "skill", {}}, caller)).text, "tool not available: skill");
  EXPECT_EQ(test::run(io, box.call({"1", "nothing", {}}, caller)).text,
            "tool not registered: nothing");
  EXPECT_EQ(hook->called, 0);
  EXPECT_NE(runtime.hooks().prompt(agent).find("<scope>\nlook: at your own things only\n</scope>"),
            std::string::npos);
}

TEST_F(GuestTest, AHookWhoseToolsAreAllOutOfReachSaysNothing) {
  Agent agent;
  agent.tools = {"other"};
  EXPECT_EQ(runtime.hooks().prompt(agent).find("use look"), std::string::npos);
}

// ---- the life of hooks ----

TEST_F(GuestTest, HooksHearWhoComesChangesAndGoes) {
  EXPECT_EQ(hook->heard, "+critic +poet +reef ");
  hook->heard.clear();
  configure();
  EXPECT_EQ(hook->heard, "") << "nothing changed";
  auto setup = std::make_shared<runtime::Setup>();
  setup->providers.add("p", provider);
  setup->agents["reef"].name = "reef";
  setup->agents["reef"].model = "p";
  runtime.configure(setup);
  EXPECT_EQ(hook->heard, "-critic -poet -reef +reef ");
  hook->heard.clear();
  say("x");
  EXPECT_EQ(hook->heard, "start(reef,agent:reef:user,false) end ");
}

TEST_F(GuestTest, HooksMakeAgentsAndPrepareWords) {
  EXPECT_EQ(runtime.setup().agents.at("poet").prompt, "You are poet. built");
  say("/big words");
  EXPECT_EQ(stored(), "user:BIG words;assistant:well;");
  EXPECT_EQ(told, "/big words") << "rules look at what the user wrote";
}

TEST(EmptyHook, DoesNothing) {
  boost::asio::io_context io{1};
  Hook hook;
  Agent agent;
  EXPECT_TRUE(hook.tools(agent).empty());
  EXPECT_TRUE(hook.scoped_tools(agent).names.empty());
  EXPECT_EQ(hook.prompt(agent), "");
  EXPECT_EQ(test::run(io, hook.instructions(agent, Place{"/"})), "");
  Words words{"x"};
  test::run(io, hook.preprocess(agent, "agent:reef:user", words));
  EXPECT_EQ(words.text, "x");
  EXPECT_TRUE(words.beside.empty());
  EXPECT_EQ(hook.on_build_agent(agent), agent);
  const Caller caller{agent, "user", test::value_of(session::SessionId::parse("260101-a-b")), ""};
  EXPECT_TRUE(test::run(io, hook.call("x", {}, caller)).is_error);
}

// ---- names ----

TEST_F(GuestTest, AnAgentThatIsBeingRenamedTakesNoMessages) {
  provider->hang = true;
  const auto run = submit("one");
  test::run_ready(io);
  const auto held = runtime.hold("reef");
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Errc::busy);
  provider->hang = false;
  ASSERT_TRUE(runtime.kill("reef", "user"));
  test::run(io, read(run));
  test::run_ready(io);
  ASSERT_TRUE(runtime.hold("reef"));
  EXPECT_EQ(runtime.submit(Message{"reef", "user", "x", ""}).error().code, Errc::busy);
  EXPECT_TRUE(runtime.submit(Message{"poet", "user", "x", ""}));
  runtime.release("reef");
  EXPECT_EQ(say("two").error, "");
}

}  // namespace
}  // namespace reef::runtime
