#include "hooks/delegate/delegate_hook.h"

#include <filesystem>

#include <boost/asio/this_coro.hpp>
#include <gtest/gtest.h>

#include "bus/done_hook.h"
#include "hooks/ask_user/ask_user_hook.h"
#include "runtime/stage.h"
#include "store/fs/fs_documents.h"
#include "support/temp_dir.h"

namespace reef::hooks {
namespace {

using runtime::Agent;
using runtime::PermissionMode;

// Does what the last user message says: {"tool": {...}} calls tools, `fail` fails, `hang` hangs,
// anything else is answered with "did ...", and a tool result with "got ...".
class Puppet final : public model::Provider {
 public:
  std::string_view api() const override { return "puppet"; }
  Task<model::Outcome> stream(const model::Request& request, const model::DeltaSink& sink) override;

  std::vector<model::Request> requests;
};

Task<model::Outcome> Puppet::stream(const model::Request& request, const model::DeltaSink& sink) {
  requests.push_back(request);
  model::Reply reply;
  std::string last_user, last;
  bool answered = false;
  for (const auto& message : request.messages) {
    last = session::text_of(*message);
    answered = session::role_of(*message) != "user";
    if (!answered) last_user = last;
  }
  const auto parsed = json::parse(last_user);
  std::string text;
  if (!answered && parsed && parsed->is_object()) {
    for (const auto& [name, arguments] : parsed->get_object())
      reply.message.content.push_back(session::ToolCallBlock{
          "call-" + std::string(name), std::string(name), arguments.get_object()});
    reply.message.stop_reason = session::StopReason::tool_use;
    co_return reply;
  }
  if (last_user == "fail")
    co_return model::Failure{model::Failure::Kind::auth, "bad key", 401, {}, false};
  if (last_user == "hang") {
    Notify never(co_await boost::asio::this_coro::executor);
    for (;;) co_await never.wait();
  }
  text = answered ? "got " + last : "did " + last;
  sink(model::Delta{model::Delta::Kind::text, text});
  reply.message.content.push_back(session::TextBlock{text});
  co_return reply;
}

class DelegateHookTest : public runtime::Stage {
 protected:
  DelegateHookTest() {
    runtime.hooks().add(delegate);
    runtime.hooks().add(std::make_shared<AskUserHook>());
    runtime.hooks().add(std::make_shared<bus::DoneHook>(bus));
    auto setup = std::make_shared<runtime::Setup>();
    setup->providers.add("s", puppet);
    for (const auto* name : {"reef", "scout"}) {
      Agent agent;
      agent.name = name;
      agent.model = "s/x";
      agent.description = std::string("The ") + name;
      setup->agents[name] = agent;
    }
    runtime.configure(std::move(setup));
    has_threads = true;
  }
  ~DelegateHookTest() override {
    hook->release();
    test::run(io, runtime.drain(std::chrono::milliseconds(0)));
    test::run(io, delegate->stop());
    test::run(io, bus.stop());
  }

  static json::object tasks(json::array list, bool background = false) {
    json::object out{{"tasks", std::move(list)}};
    if (background) out["background"] = true;
    return out;
  }
  static std::string order(json::object arguments) {
    return json::write(json::object{{"delegate", std::move(arguments)}});
  }
  // The result of the one delegate call of the user's conversation.
  json::value result() {
    for (const auto& message : kept())
      if (const auto* found = std::get_if<session::ToolResultMessage>(&message);
          found && found->tool_name == "delegate") {
        last_failed = found->is_error;
        const auto text = session::text_of(message);
        auto parsed = json::parse(text);
        return parsed ? *parsed : json::value(text);
      }
    return nullptr;
  }
  json::value call(json::object arguments) {
    told(say(order(std::move(arguments))));
    return result();
  }
  const session::Row* row_of(const json::value& one) {
    const auto id = session::SessionId::parse(*json::find_string(one.get_object(), "session"));
    return sessions.find(*id);
  }
  Task<void> wait_until_idle() {
    // Work that the end of a turn starts begins a few rounds of the loop later.
    for (int calm = 0; calm < 50; ++calm) {
      if (runtime.active() > 0) calm = 0;
      co_await yield_to_loop();
    }
  }

  Pool pool{2};
  PosixFiles files;
  test::TempDir dir;
  std::shared_ptr<Puppet> puppet = std::make_shared<Puppet>();
  store::FsDocuments documents{files, dir.path()};
  bus::Bus bus{io.get_executor(), documents, pool, runtime};
  std::shared_ptr<DelegateHook> delegate = std::make_shared<DelegateHook>(
      DelegateHook::Needs{io.get_executor(), pool, runtime, sessions, bus, random});
  bool last_failed = false;
};

TEST_F(DelegateHookTest, TasksRunSideBySideAndAnswerInTheirOrder) {
  const auto got = call(tasks(
      {json::object{{"message", "one"}}, json::object{{"agent", "scout"}, {"message", "two"}}}));
  ASSERT_EQ(got.as_array().size(), 2U);
  EXPECT_EQ(got.at(0).at("agent"), "worker");
  EXPECT_EQ(got.at(0).at("result"), "did one");
  EXPECT_EQ(got.at(1).at("agent"), "scout");
  EXPECT_EQ(got.at(1).at("result"), "did two");
  EXPECT_FALSE(last_failed);
}

TEST_F(DelegateHookTest, ChildrenAreLinkedToTheirParentAndKnowNothingOfIt) {
  const auto got = call(tasks({json::object{{"agent", "scout"}, {"message", "one"}}}));
  const auto* row = row_of(got.at(0));
  ASSERT_TRUE(row);
  const auto parent = sessions.current(*session::Key::of_pair("reef", "user"));
  EXPECT_EQ(row->text("parentSession"), parent->text());
  EXPECT_EQ(row->text("parentCall"), "call-delegate");
  EXPECT_EQ(row->agent(), "scout");
  ASSERT_EQ(puppet->requests.size(), 3U);
  EXPECT_EQ(puppet->requests[1].messages.size(), 1U) << "nothing but the task";
}

TEST_F(DelegateHookTest, C8_EveryTaskHasAFreshConversation) {
  const auto first =
      call(tasks({json::object{{"message", "one"}}, json::object{{"message", "two"}}}));
  EXPECT_NE(first.at(0).at("session"), first.at(1).at("session"));
  EXPECT_NE(row_of(first.at(0))->text("key"), row_of(first.at(1))->text("key"));
  for (const auto& request : puppet->requests)
    if (request.messages.size() == 1) {
      const auto text = session::text_of(*request.messages[0]);
      EXPECT_TRUE(text == "one" || text == "two" || text.starts_with("{")) << text;
    }
}

TEST_F(DelegateHookTest, W4_AWorkerHasTheCallersModelAndItsFailuresAreErrors) {
  const auto got = call(tasks({json::object{{"message", "one"}, {"system_prompt", "Be brief."}},
                               json::object{{"message", "fail"}}}));
  EXPECT_EQ(got.at(0).at("result"), "did one");
  EXPECT_FALSE(got.at(1).as_object().contains("result"));
  EXPECT_NE(std::string(got.at(1).at("error").as_string()).find("bad key"), std::string::npos);
  EXPECT_FALSE(last_failed) << "one of them worked";
  EXPECT_TRUE(puppet->requests[1].system.starts_with("Be brief."));
}

TEST_F(DelegateHookTest, WhenAllFailTheCallFailed) {
  call(tasks(
      {json::object{{"message", "fail"}}, json::object{{"agent", "nobody"}, {"message", "x"}}}));
  EXPECT_TRUE(last_failed);
}

TEST_F(DelegateHookTest, NonsenseIsAnsweredWithTextForTheModel) {
  EXPECT_EQ(call({}), "invalid arguments: 'tasks' must be a list of objects");
  EXPECT_TRUE(last_failed);
}

TEST_F(DelegateHookTest, W5_EachTaskWorksInAFolderOfItsOwn) {
  std::filesystem::create_directories(dir / "sub");
  const auto got = call(
      tasks({json::object{
                 {"agent", "scout"}, {"message", R"({"echo":{"text":"x"}})"}, {"cwd", dir / "sub"}},
             json::object{{"message", "x"}, {"cwd", dir / "none"}}}));
  ASSERT_EQ(hook->callers.size(), 1U);
  EXPECT_EQ(hook->callers[0].cwd, std::filesystem::canonical(dir / "sub").string());
  EXPECT_NE(std::string(got.at(1).at("error").as_string()).find("is no folder"), std::string::npos);
}

TEST_F(DelegateHookTest, ASenderBehindAGatewayStaysInTheFolder) {
  std::filesystem::create_directories(dir / "in/sub");
  EXPECT_TRUE(where_to_work(dir / "in", "sub", false));
  EXPECT_EQ(where_to_work(dir / "in", "..", false).error().code, Errc::denied);
  EXPECT_EQ(where_to_work(dir / "in", "/", false).error().code, Errc::denied);
  EXPECT_EQ(where_to_work("", "/", false).error().code, Errc::denied);
  EXPECT_TRUE(where_to_work(dir / "in", "/", true));
  EXPECT_EQ(where_to_work("", "relative", true).error().code, Errc::invalid);
}

TEST_F(DelegateHookTest, C15_DepthAndWidthAreLimited) {
  DelegateLimits limits;
  limits.depth_max = 1;
  limits.width_max = 2;
  delegate->configure(limits);
  const auto inner = order(tasks({json::object{{"message", "deep"}}}));
  const auto got = call(tasks({json::object{{"message", inner}}}));
  EXPECT_NE(std::string(got.at(0).at("result").as_string()).find("1 deep already"),
            std::string::npos);
}

TEST_F(DelegateHookTest, TooManyTasksAreRefusedAtOnce) {
  DelegateLimits limits;
  limits.width_max = 1;
  delegate->configure(limits);
  EXPECT_EQ(call(tasks({json::object{{"message", "a"}}, json::object{{"message", "b"}}})),
            "2 tasks are more than the 1 one call may have");
}

TEST_F(DelegateHookTest, AKillOfTheParentReachesTheChildren) {
  const auto run = say(order(tasks(
      {json::object{{"message", "hang"}}, json::object{{"agent", "scout"}, {"message", "hang"}}})));
  test::run(io, [](auto& self) -> Task<void> {
    while (self.runtime.active() < 3 || self.puppet->requests.size() < 3) co_await yield_to_loop();
  }(*this));
  ASSERT_TRUE(runtime.kill("reef", "user"));
  EXPECT_NE(told(run).find("error(interrupted)"), std::string::npos);
  test::run(io, wait_until_idle());
}

TEST_F(DelegateHookTest, TheParentsStreamShowsTheChildren) {
  const auto text = told(say(
      order(tasks({json::object{{"agent", "scout"}, {"message", R"({"echo":{"text":"x"}})"}}}))));
  EXPECT_NE(text.find("] started"), std::string::npos) << text;
  EXPECT_NE(text.find("] calls echo"), std::string::npos);
  EXPECT_NE(text.find("] got x"), std::string::npos);
  EXPECT_NE(text.find("] done"), std::string::npos);
}

TEST_F(DelegateHookTest, AChildsModeIsNeverWiderThanItsParents) {
  auto setup = std::make_shared<runtime::Setup>(runtime.setup());
  setup->agents["reef"].permission_mode = PermissionMode::safe;
  setup->agents["scout"].permission_mode = PermissionMode::allow_all;
  runtime.configure(setup);
  const auto got = call(tasks({json::object{{"agent", "scout"}, {"message", "one"}}}));
  EXPECT_EQ(row_of(got.at(0))->text("permissionMode"), "safe");
}

TEST_F(DelegateHookTest, AChildKeepsItsOwnNarrowerMode) {
  auto setup = std::make_shared<runtime::Setup>(runtime.setup());
  setup->agents["reef"].permission_mode = PermissionMode::allow_all;
  setup->agents["scout"].permission_mode = PermissionMode::safe;
  runtime.configure(setup);
  const auto got = call(tasks({json::object{{"agent", "scout"}, {"message", "one"}}}));
  EXPECT_EQ(row_of(got.at(0))->text("permissionMode"), "safe");
}

TEST_F(DelegateHookTest, AChildIsToldAndOfferedTheToolsBothMayUse) {
  auto setup = std::make_shared<runtime::Setup>(runtime.setup());
  setup->agents["reef"].tools = {"delegate", "echo"};
  setup->agents["scout"].tools = {"echo", "ask_user"};
  setup->agents["scout"].skills = {"check-feeds"};
  runtime.configure(setup);
  call(tasks({json::object{{"agent", "scout"}, {"message", "one"}}}));
  ASSERT_EQ(puppet->requests.size(), 3U);
  const auto& asked = puppet->requests[1];
  ASSERT_EQ(asked.tools.size(), 1U);
  EXPECT_EQ(asked.tools[0].name, "echo");
  EXPECT_NE(asked.system.find("<scope>\ntools: echo\nskills: check-feeds\n</scope>"),
            std::string::npos)
      << asked.system;
}

TEST_F(DelegateHookTest, WithoutCommonToolsNothingIsOffered) {
  auto setup = std::make_shared<runtime::Setup>(runtime.setup());
  setup->agents["reef"].tools = {"delegate"};
  setup->agents["scout"].tools = {"echo"};
  runtime.configure(setup);
  call(tasks({json::object{{"agent", "scout"}, {"message", R"({"echo":{"text":"x"}})"}}}));
  EXPECT_TRUE(puppet->requests[1].tools.empty());
  EXPECT_NE(puppet->requests[1].system.find("tools: none"), std::string::npos);
  EXPECT_TRUE(hook->callers.empty());
}

TEST_F(DelegateHookTest, TheOtherRightsOfAChildAreBoundedToo) {
  Agent parent, child;
  parent.tools = {"delegate", "read"};
  parent.skills = {"a"};
  parent.pass_env = {"LANGUAGE", "TOKEN"};
  parent.within = {runtime::Scope{{"read", "ls"}, {}}};
  child.sight = Agent::Sight::all;
  child.remote_bash = true;
  child.pass_env = {"TOKEN", "SECRET"};
  const auto out = runtime::narrowed(child, parent);
  EXPECT_EQ(out.sight, Agent::Sight::own);
  EXPECT_FALSE(out.remote_bash);
  EXPECT_EQ(out.pass_env, std::vector<std::string>{"TOKEN"});
  EXPECT_TRUE(runtime::may_call(out, "read"));
  EXPECT_FALSE(runtime::may_call(out, "ls")) << "the parent's own list";
  EXPECT_FALSE(runtime::may_call(out, "delegate")) << "the list of who delegated to the parent";
  EXPECT_TRUE(runtime::may_use_skill(out, "a"));
  EXPECT_FALSE(runtime::may_use_skill(out, "b"));
}

TEST_F(DelegateHookTest, AChildsQuestionReachesTheParentsUser) {
  const auto run = say(order(tasks({json::object{
      {"agent", "scout"}, {"message", R"({"ask_user":{"questions":[{"question":"Which?"}]}})"}}})));
  test::run(io, [](auto& self) -> Task<void> {
    while (self.runtime.questions().list().empty()) co_await yield_to_loop();
  }(*this));
  const auto* pending = runtime.questions().list().at(0);
  EXPECT_EQ(pending->origin.key.text(), "agent:reef:user");
  EXPECT_EQ(pending->ask.questions.at(0).text, "scout asks: Which?");
  ASSERT_TRUE(runtime.questions().answer(pending->id, "the blue one"));
  told(run);
  EXPECT_EQ(result().at(0).at("result"), "got the blue one");
}

TEST_F(DelegateHookTest, ABackgroundCallReturnsIdsAtOnceAndTheResultComesByTheBus) {
  ASSERT_TRUE(test::run(io, bus.subscribe("delegate:*:done", "scout", false)));
  const auto got = call(tasks({json::object{{"message", "one"}}}, true));
  ASSERT_EQ(got.as_array().size(), 1U);
  const std::string id(got.at(0).at("task_id").as_string());
  test::run(io, wait_until_idle());
  EXPECT_TRUE(sessions.current(*session::Key::of_pair("scout", "event:delegate:" + id + ":done")));
  EXPECT_NE(stored().find("user:<delegated task_id=\"" + id + "\" agent=\"worker\""),
            std::string::npos)
      << stored();
  EXPECT_NE(stored().find("did one\n</delegated>"), std::string::npos);
}

TEST_F(DelegateHookTest, NobodyIsAskedFromTheBackground) {
  call(tasks({json::object{{"agent", "scout"},
                           {"message", R"({"ask_user":{"questions":[{"question":"Which?"}]}})"}}},
             true));
  test::run(io, wait_until_idle());
  EXPECT_NE(stored().find("nobody can be asked"), std::string::npos) << stored();
}

TEST_F(DelegateHookTest, AKillOfTheParentReachesAlsoTheBackgroundAndStartsNothing) {
  call(tasks({json::object{{"message", "hang"}}}, true));
  ASSERT_EQ(runtime.active(), 1U);
  const auto before = stored();
  ASSERT_TRUE(runtime.kill("reef", "user"));
  test::run(io, wait_until_idle());
  EXPECT_EQ(stored(), before);
}

TEST_F(DelegateHookTest, AnAgentThatWaitsForTheBackgroundIsNotRenamed) {
  call(tasks({json::object{{"agent", "scout"}, {"message", "hang"}}}, true));
  EXPECT_EQ(runtime.hold("reef").error().code, Errc::busy);
  ASSERT_TRUE(runtime.kill("reef", "user"));
  test::run(io, wait_until_idle());
  EXPECT_TRUE(runtime.hold("reef"));
}

TEST_F(DelegateHookTest, TheBackgroundIsBounded) {
  DelegateLimits limits;
  limits.background_max = 1;
  delegate->configure(limits);
  call(tasks({json::object{{"message", "hang"}}, json::object{{"message", "hang"}}}, true));
  EXPECT_TRUE(last_failed);
  EXPECT_EQ(runtime.active(), 0U);
}

TEST_F(DelegateHookTest, TheBackgroundIsBoundedForCallsMadeTogetherToo) {
  DelegateLimits limits;
  limits.background_max = 2;
  delegate->configure(limits);
  runtime::Caller caller{runtime.setup().agents.at("reef"), "user",
                         test::value_of(session::SessionId::parse("260101-a-b")), ""};
  caller.key = "agent:reef:user";
  caller.progress = [](std::string) {};
  std::vector<bool> refused;
  const auto ask = [](DelegateHook& at, runtime::Caller who,
                      std::vector<bool>& into) -> Task<void> {
    co_await yield_to_loop();
    auto arguments =
        tasks({json::object{{"message", "hang"}}, json::object{{"message", "hang"}}}, true);
    const auto answer = co_await at.call("delegate", std::move(arguments), std::move(who));
    into.push_back(answer.is_error);
  };
  TaskGroup both(io.get_executor(), "both");
  both.spawn(ask(*delegate, caller, refused));
  both.spawn(ask(*delegate, caller, refused));
  test::run(io, both.join());
  EXPECT_EQ(refused.size(), 2U);
  EXPECT_EQ(std::count(refused.begin(), refused.end(), true), 1);
  EXPECT_EQ(runtime.active(), 2U);
}

TEST_F(DelegateHookTest, C10_TheOthersAreToldInOneOrderWhoeverCameFirst) {
  Agent reef = runtime.setup().agents.at("reef");
  EXPECT_EQ(delegate->prompt(reef),
            "<agents>\nWho tasks can be delegated to, beside workers:\n- scout: The scout\n"
            "</agents>");
}

}  // namespace
}  // namespace reef::hooks
