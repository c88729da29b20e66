// Whether a call may be made: modes, questions, and remembered answers.
#include "runtime/permission.h"

#include <gtest/gtest.h>

#include "base/task_group.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"

namespace reef::runtime {
namespace {

using Effect = Intent::Effect;

class IntentHook final : public Hook {
 public:
  std::vector<model::Tool> tools(const Agent&) const override {
    return {{"bash", "", {{"type", "object"}}}, {"new", "", {{"type", "object"}}}};
  }
  std::string prompt(const Agent&) const override { return ""; }
  Intent intent(const std::string& tool, const json::object& arguments,
                const Caller& caller) const override {
    return tool == "new" ? Hook::intent(tool, arguments, caller) : said;
  }
  Task<ToolAnswer> call(std::string, json::object, Caller) override {
    co_return ToolAnswer{"done"};
  }

  Intent said{Effect::changes, "git push", "git push", "'git push' changes a remote"};
};

class PermissionTest : public testing::Test {
 protected:
  PermissionTest() {
    hooks.add(hook);
    toolbox = hooks.toolbox({});
    make("agent:reef:user", "user");
  }
  ~PermissionTest() override { test::run(io, sessions.stop()); }

  void make(const std::string& key, const std::string& sender) {
    session::Sessions::New request{
        test::value_of(session::Key::parse(key)), "reef", sender, "", {}};
    id = test::value_of(test::run(io, sessions.create(std::move(request))))->id();
    caller = std::make_unique<Caller>(Caller{Agent{}, sender, *id, ""});
    caller->agent.name = "reef";
    caller->ask = [this](Ask ask) { return answer_next(std::move(ask)); };
  }
  Task<Result<std::vector<UserAnswer>>> answer_next(Ask ask) {
    asked.push_back(ask);
    while (hold) co_await yield_to_loop();
    if (!reply) co_return reply.error();
    co_return std::vector<UserAnswer>{*reply};
  }
  void set_mode(const char* mode) {
    EXPECT_TRUE(test::run(io, sessions.patch(*id, {{"permissionMode", mode}})));
  }
  // Returns "" when the call may be made, else what the model is told.
  std::string refusal(const std::string& tool = "bash") {
    session::ToolCallBlock call{"c1", tool, {}};
    permissions.look_up(*caller);
    const auto refused = test::run(io, permissions.refusal(toolbox, call, *caller));
    if (refused) EXPECT_TRUE(refused->is_error);
    return refused ? refused->text : "";
  }
  std::string labels(const Ask& ask) const {
    std::string out;
    for (const auto& option : ask.questions.at(0).options) out += option.label + ";";
    return out;
  }
  std::string grants() const {
    std::string out;
    for (const auto& grant : grants_of(*sessions.find(*id)))
      out += grant.tool + ":" + grant.rule + ";";
    return out;
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  Permissions permissions{io.get_executor(), sessions, clock};
  std::shared_ptr<IntentHook> hook = std::make_shared<IntentHook>();
  Hooks hooks;
  Toolbox toolbox;
  std::optional<session::SessionId> id;
  std::unique_ptr<Caller> caller;
  Result<UserAnswer> reply = UserAnswer{"Allow once"};
  bool hold = false;
  std::vector<Ask> asked;
};

TEST_F(PermissionTest, CallsThatOnlyLookPassInEveryMode) {
  hook->said = {Effect::reads, "ls", "", ""};
  for (const auto* mode : {"safe", "ask", "allow-all"}) {
    set_mode(mode);
    EXPECT_EQ(refusal(), "") << mode;
  }
  EXPECT_TRUE(asked.empty());
}

TEST_F(PermissionTest, SafeModeRefusesWithoutAskingAndSaysWhy) {
  set_mode("safe");
  EXPECT_NE(refusal().find("safe mode"), std::string::npos);
  EXPECT_NE(refusal().find("'git push' changes a remote"), std::string::npos);
  hook->said.effect = Effect::dangerous;
  EXPECT_NE(refusal().find("safe mode"), std::string::npos);
  EXPECT_NE(refusal("new").find("new may change something"), std::string::npos);
  EXPECT_TRUE(asked.empty());
}

TEST_F(PermissionTest, AskModeAsksAndOnceIsOnce) {
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(refusal(), "");
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].kind, Ask::Kind::permission);
  EXPECT_EQ(labels(asked[0]), "Allow once;Always allow;Deny;");
  EXPECT_EQ(asked[0].questions[0].text, "reef wants to use bash:\ngit push");
  EXPECT_EQ(asked[0].questions[0].options[1].description, "bash: git push, in this session");
}

TEST_F(PermissionTest, AlwaysIsRememberedInTheTranscriptForThatRuleAlone) {
  reply = UserAnswer{"Always allow"};
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(grants(), "bash:git push;");
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(asked.size(), 1U);
  hook->said.rule = "git push --tags";
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(asked.size(), 2U) << "another rule";
  hook->said.rule = "git push";
  test::run(io, sessions.stop());
  session::Sessions again(io.get_executor(), store, catalog, clock, random);
  ASSERT_TRUE(test::run(io, again.load()));
  EXPECT_EQ(grants_of(*again.find(*id)).size(), 2U) << "it survives a restart";
  test::run(io, again.stop());
}

TEST_F(PermissionTest, AnAlwaysCanBeTakenBack) {
  reply = UserAnswer{"Always allow"};
  refusal();
  hook->said.rule = "make";
  refusal();
  EXPECT_EQ(grants(), "bash:git push;bash:make;");
  EXPECT_TRUE(test::run(io, permissions.revoke(*id, "", "make")));
  EXPECT_EQ(grants(), "bash:git push;");
  EXPECT_EQ(test::run(io, permissions.revoke(*id, "bash", "make")).error().code, Errc::not_found);
  EXPECT_EQ(test::run(io, permissions.revoke(*id, "edit", "")).error().code, Errc::not_found);
  EXPECT_TRUE(test::run(io, permissions.revoke(*id, "", "")));
  EXPECT_EQ(grants(), "");
  const auto before = asked.size();
  refusal();
  EXPECT_EQ(asked.size(), before + 1);
}

TEST_F(PermissionTest, DangerIsAskedAboutInEveryModeAndNeverForGood) {
  reply = UserAnswer{"Always allow"};
  refusal();
  hook->said.effect = Effect::dangerous;
  hook->said.reason = "'rm -rf' removes folders";
  for (const auto* mode : {"ask", "allow-all"}) {
    set_mode(mode);
    asked.clear();
    reply = UserAnswer{"Allow once"};
    EXPECT_EQ(refusal(), "");
    ASSERT_EQ(asked.size(), 1U) << mode << ": a grant does not cover it";
    EXPECT_EQ(labels(asked[0]), "Allow once;Deny;");
    EXPECT_NE(asked[0].questions[0].text.find("destroy"), std::string::npos);
    EXPECT_NE(asked[0].questions[0].text.find("'rm -rf' removes folders"), std::string::npos);
  }
}

TEST_F(PermissionTest, AllowAllAsksAboutNothingElse) {
  set_mode("allow-all");
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(refusal("new"), "");
  EXPECT_TRUE(asked.empty());
}

TEST_F(PermissionTest, AToolNobodyKnowsIsAskedAbout) {
  EXPECT_EQ(refusal("new"), "");
  EXPECT_EQ(asked.size(), 1U);
  EXPECT_EQ(refusal("unheard-of"), "") << "the toolbox says that it is not there";
  EXPECT_EQ(asked.size(), 1U);
}

TEST_F(PermissionTest, ADenialMayHaveWords) {
  reply = UserAnswer{"Deny"};
  EXPECT_EQ(refusal(), "The user denied this call. Do not try it another way.");
  reply = UserAnswer{"push to the fork instead"};
  EXPECT_EQ(refusal(), "The user denied this call and says: push to the fork instead");
  reply = UserAnswer{};
  EXPECT_EQ(refusal(), "The user denied this call. Do not try it another way.");
  reply = UserAnswer{"Allow once", "Always allow"};
  EXPECT_NE(refusal(), "") << "an answer must be clear";
  reply = Error(Errc::timeout, "nobody answered within 5 minutes");
  EXPECT_NE(refusal().find("nobody answered within 5 minutes"), std::string::npos);
  caller->ask = {};
  EXPECT_NE(refusal().find("nobody who could be asked"), std::string::npos);
  EXPECT_EQ(grants(), "");
}

TEST_F(PermissionTest, WithoutARuleNothingIsForGood) {
  hook->said.rule = "";
  reply = UserAnswer{"Always allow"};
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(labels(asked[0]), "Allow once;Deny;");
  EXPECT_EQ(grants(), "");
}

TEST_F(PermissionTest, NothingOfACommandIsHidden) {
  const auto question = [&](std::string shown) {
    hook->said.shown = std::move(shown);
    EXPECT_EQ(refusal(), "");
    return asked.back().questions[0].text;
  };
  std::string middle = "echo " + std::string(60'000, 'x') + "; rm a; " + std::string(30'000, 'y');
  EXPECT_EQ(question(middle), "reef wants to use bash, one line of 90013 bytes:\n" + middle);
  EXPECT_EQ(question("rm b\x1b[2K\rls \u202Ecod.sl\u202C"),
            "reef wants to use bash:\nrm b\u241B[2K\u240Dls <U+202E>cod.sl<U+202C>");
  std::string many = "echo 1";
  for (int i = 2; i <= 300; ++i) many += i == 150 ? "\nrm c" : "\necho " + std::to_string(i);
  const auto text = question(many + "\n\n");
  EXPECT_EQ(text.substr(0, text.find('\n')), "reef wants to use bash, 300 lines:");
  EXPECT_NE(text.find("\n  1 | echo 1\n  2 | echo 2\n"), std::string::npos);
  EXPECT_NE(text.find("\n149 | echo 149\n150 | rm c\n151 | echo 151\n"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\n300 | echo 300"));
}

// A line of a command cannot look like the end of the question.
TEST_F(PermissionTest, LinesOfACommandStandBehindTheirNumbers) {
  hook->said.shown = "rm a\n\n  1. Allow once - harmless";
  refusal();
  EXPECT_EQ(asked.at(0).questions[0].text,
            "reef wants to use bash, 3 lines:\n1 | rm a\n2 | \n3 |   1. Allow once - harmless");
}

TEST_F(PermissionTest, ACallTooLongToBeShownIsNotAskedAbout) {
  hook->said.shown = std::string(200'000, 'x');
  EXPECT_NE(refusal().find("shown whole: it has 200000 bytes"), std::string::npos);
  EXPECT_TRUE(asked.empty());
  set_mode("allow-all");
  EXPECT_EQ(refusal(), "");
}

Task<void> ask_for(Permissions& permissions, const Toolbox& toolbox, Caller caller, int& allowed) {
  co_await yield_to_loop();
  session::ToolCallBlock call{"c", "bash", {}};
  if (!co_await permissions.refusal(toolbox, call, caller)) ++allowed;
}

TEST_F(PermissionTest, TheSameIsNotAskedTwiceAtOnce) {
  hold = true;
  reply = UserAnswer{"Always allow"};
  int allowed = 0;
  TaskGroup tasks(io.get_executor(), "calls");
  for (int i = 0; i < 10; ++i) tasks.spawn(ask_for(permissions, toolbox, *caller, allowed));
  for (int i = 0; i < 100; ++i) io.poll_one();
  EXPECT_EQ(asked.size(), 1U);
  hold = false;
  test::run(io, tasks.join());
  EXPECT_EQ(allowed, 10);
  EXPECT_EQ(asked.size(), 1U);
}

TEST_F(PermissionTest, ASenderBehindAGatewayIsInSafeModeUnlessConfigured) {
  EXPECT_TRUE(is_local("user", "agent:reef:user"));
  EXPECT_TRUE(is_local("ci", ""));
  EXPECT_FALSE(is_local("telegram:7", "agent:reef:telegram:7"));
  EXPECT_FALSE(is_local("bob", "agent:reef:telegram:group:7"));
  EXPECT_FALSE(is_local("user", "cron:daily"));
  make("agent:reef:telegram:7", "telegram:7");
  permissions.look_up(*caller);
  EXPECT_FALSE(caller->local);
  EXPECT_EQ(caller->mode, PermissionMode::safe);
  caller->agent.remote_permission_mode = PermissionMode::ask;
  caller->agent.permission_mode = PermissionMode::allow_all;
  permissions.look_up(*caller);
  EXPECT_EQ(caller->mode, PermissionMode::ask);
  set_mode("allow-all");
  permissions.look_up(*caller);
  EXPECT_EQ(caller->mode, PermissionMode::allow_all) << "what was set for the session counts";
}

}  // namespace
}  // namespace reef::runtime
