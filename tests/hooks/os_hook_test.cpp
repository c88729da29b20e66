// The hook around the tools: what it says a call would do, who may make the call, and in which
// folder the call starts.
#include "hooks/os/os_hook.h"

#include <filesystem>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "store/fs/fs_documents.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::hooks {
namespace {

namespace fs = std::filesystem;
using Effect = runtime::Intent::Effect;

class OsHookTest : public testing::Test {
 protected:
  OsHookTest() {
    for (const auto* name : {"work", "home", "reef", "reef/sessions"})
      ::mkdir((folder / name).c_str(), 0700);
    session::Sessions::New request{test::value_of(session::Key::parse("agent:reef:user")),
                                   "reef",
                                   "user",
                                   folder / "reef",
                                   {},
                                   folder / "work"};
    id = test::value_of(test::run(io, sessions.create(std::move(request))))->id();
    ::mkdir((folder / ("reef/sessions/" + id->text())).c_str(), 0700);
    hook = std::make_unique<OsHook>(
        OsHook::Needs{io.get_executor(), pool, documents, clock, sessions, folder / "reef",
                      folder / "home", 022, [this](const runtime::Caller&) { return window; }});
  }
  ~OsHookTest() override { test::run(io, sessions.stop()); }

  runtime::Caller caller() const {
    runtime::Caller out{{}, "user", *id, cwd};
    out.agent = agent;
    out.local = local;
    out.mode = mode;
    return out;
  }
  runtime::Intent intent(const std::string& tool, const json::object& arguments) const {
    return hook->intent(tool, arguments, caller());
  }
  runtime::ToolAnswer call(const std::string& tool, const json::object& arguments) {
    return test::run(io, hook->call(tool, arguments, caller()));
  }

  test::TempDir folder;
  boost::asio::io_context io{1};
  PosixFiles files;
  store::FsDocuments documents{files, folder / "reef"};
  Pool pool{2};
  SystemClock clock;
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  std::optional<session::SessionId> id;
  std::unique_ptr<OsHook> hook;
  runtime::Agent agent;
  std::string cwd;
  bool local = true;
  runtime::PermissionMode mode = runtime::PermissionMode::ask;
  std::int64_t window = 0;
};

TEST_F(OsHookTest, SaysWhatACallWouldDo) {
  for (const auto* tool : {"read", "ls", "glob", "grep", "submit_plan"})
    EXPECT_EQ(intent(tool, {}).effect, Effect::reads) << tool;
  EXPECT_EQ(intent("bash", {{"command", "ls -l"}}).effect, Effect::reads);
  EXPECT_EQ(intent("bash", {{"command", "touch a"}}).effect, Effect::changes);
  EXPECT_EQ(intent("bash", {{"command", "touch a"}}).shown, "touch a");
  EXPECT_EQ(intent("bash", {{"command", "rm -rf /"}}).effect, Effect::dangerous);
  EXPECT_EQ(intent("bash", {{"command", "ls && rm -rf ~"}}).effect, Effect::dangerous);
  EXPECT_EQ(intent("bash", {}).effect == Effect::dangerous, false);
  for (const auto* tool : {"write", "edit"}) {
    const auto said = intent(tool, {{"path", "a.txt"}});
    EXPECT_EQ(said.effect, Effect::changes);
    EXPECT_EQ(said.shown, folder / "work/a.txt");
    EXPECT_EQ(said.rule, folder / "work/**");
  }
}

TEST_F(OsHookTest, AlwaysCoversTheFolderAndNeverTooMuch) {
  fs::create_directories(folder / "work/sub");
  fs::create_directory_symlink(folder / "home", folder / "work/out");
  EXPECT_EQ(intent("edit", {{"path", "sub/a"}}).rule, folder / "work/**");
  EXPECT_EQ(intent("edit", {{"path", "out/a"}}).rule, folder / "home/*") << "a link leads out";
  EXPECT_EQ(intent("edit", {{"path", "/etc/hosts"}}).rule, "/etc/*");
  cwd = folder / "home";
  EXPECT_EQ(intent("edit", {{"path", "a"}}).rule, folder / "home/*");
  // The user's own programs read these files when they start, so no rule covers them.
  for (const auto* path : {".bashrc", ".ssh/config", ".config/x/y"})
    EXPECT_EQ(intent("edit", {{"path", path}}).rule, "") << path;
  cwd = folder / "work";
  EXPECT_EQ(intent("edit", {{"path", folder / "home/.bashrc"}}).rule, "");
  EXPECT_EQ(intent("edit", {{"path", ".bashrc"}}).rule, folder / "work/**") << "no home";
  cwd = folder.path();
  EXPECT_EQ(intent("edit", {{"path", "home/.bashrc"}}).rule, "");
  fs::create_directories(folder / "home/.config/x");
  cwd = folder / "home/.config/x";
  EXPECT_EQ(intent("edit", {{"path", "y"}}).rule, folder / "home/.config/x/**") << "worked in";
  EXPECT_EQ(intent("edit", {{"path", "../y"}}).rule, "");
  cwd = "/";
  EXPECT_EQ(intent("edit", {{"path", "etc/hosts"}}).rule, "/etc/*");
}

TEST_F(OsHookTest, PlansMayBeWrittenInAnyMode) {
  const auto plan = folder / ("reef/sessions/" + id->text() + "/plans/a.md");
  EXPECT_EQ(intent("write", {{"path", plan}}).effect, Effect::reads);
  EXPECT_FALSE(call("write", {{"path", plan}, {"content", "# plan"}}).is_error);
  EXPECT_EQ(intent("edit", {{"path", plan}}).effect, Effect::reads);
  EXPECT_EQ(intent("write", {{"path", folder / "work/plans/a.md"}}).effect, Effect::changes);
}

TEST_F(OsHookTest, WorksWhereTheRunIsOrTheSessionOrAtHome) {
  EXPECT_EQ(call("bash", {{"command", "pwd"}}).text, folder / "work\n");
  cwd = folder / "home";
  EXPECT_EQ(call("bash", {{"command", "pwd"}}).text, folder / "home\n");
  cwd.clear();
  fs::remove_all(folder / "work");
  EXPECT_EQ(call("bash", {{"command", "pwd"}}).text, folder / "home\n") << "it is gone";
  ASSERT_TRUE(test::run(io, sessions.patch(*id, {{"workingDirectory", folder / "reef/.."}})));
  EXPECT_EQ(call("bash", {{"command", "pwd"}}).text, folder.path() + "\n");
}

TEST_F(OsHookTest, TheModelIsToldOfTheMachine) {
  const auto told = [&](runtime::Place place) {
    return test::run(io, hook->instructions(agent, place));
  };
  const auto block = told({folder / "work"});
  EXPECT_NE(block.find("os: linux"), std::string::npos) << block;
  EXPECT_NE(block.find("shell: bash"), std::string::npos);
  EXPECT_NE(block.find("working directory: " + (folder / "work") + "\n"), std::string::npos);
  EXPECT_NE(block.find("date: " + format_iso(clock.now()).substr(0, 7)), std::string::npos)
      << block;
  EXPECT_NE(told({}).find("working directory: " + (folder / "home") + "\n"), std::string::npos);
  EXPECT_NE(told({"", false}).find("of this conversation's own"), std::string::npos)
      << "who is behind a gateway does not work in the user's home";
  // A newline in a folder's name must not break out of the block.
  ::mkdir((folder / "a\nb").c_str(), 0700);
  EXPECT_EQ(told({folder / "a\nb"}).find("\nb"), std::string::npos);
}

TEST_F(OsHookTest, KeysOfTheDaemonDoNotReachCommands) {
  ::setenv("SOME_API_KEY", "sk-secret", 1);
  ::setenv("WANTED", "yes", 1);
  mode = runtime::PermissionMode::allow_all;
  auto text = call("bash", {{"command", "env"}}).text;
  EXPECT_EQ(text.find("sk-secret"), std::string::npos);
  EXPECT_EQ(text.find("WANTED"), std::string::npos);
  EXPECT_NE(text.find("TERM=dumb"), std::string::npos);
  ::setenv("BASH_ENV", "/tmp/evil", 1);
  agent.pass_env = {"WANTED", "NOT_THERE", "BASH_ENV"};
  text = call("bash", {{"command", "env"}}).text;
  EXPECT_NE(text.find("WANTED=yes"), std::string::npos);
  EXPECT_EQ(text.find("evil"), std::string::npos)
      << "what changes the meaning of commands stays out";
  ::unsetenv("BASH_ENV");
  ::unsetenv("SOME_API_KEY");
  ::unsetenv("WANTED");
}

TEST_F(OsHookTest, SendersFromOutsideHaveNoBashAndStayInTheFolder) {
  local = false;
  cwd = folder / "work";
  test::write_file(folder / "work/a", "x");
  const auto answer = call("bash", {{"command", "ls"}});
  EXPECT_TRUE(answer.is_error);
  EXPECT_NE(answer.text.find("not for senders from outside"), std::string::npos);
  EXPECT_EQ(intent("bash", {{"command", "rm -rf /"}}).effect, Effect::reads)
      << "nobody is asked in vain";
  EXPECT_FALSE(call("read", {{"path", "a"}}).is_error);
  EXPECT_TRUE(call("read", {{"path", "/etc/passwd"}}).is_error);
  cwd.clear();
  ASSERT_TRUE(test::run(io, sessions.patch(*id, {{"workingDirectory", "/nowhere"}})));
  fs::remove_all(folder / "work");
  EXPECT_TRUE(call("ls", {{"path", folder / "home"}}).is_error)
      << "without a folder, the session's";
  agent.remote_bash = true;
  EXPECT_FALSE(call("bash", {{"command", "true"}}).is_error);
  EXPECT_FALSE(call("ls", {{"path", folder / "home"}}).is_error);
}

TEST_F(OsHookTest, CallsWithoutAQuestionAreSandboxed) {
  EXPECT_EQ(call("bash", {{"command", "ls"}}).details.if_contains("sandboxed") != nullptr, true);
  EXPECT_EQ(call("bash", {{"command", "touch b"}}).details.if_contains("sandboxed") != nullptr,
            false);
  mode = runtime::PermissionMode::allow_all;
  EXPECT_EQ(call("bash", {{"command", "ls"}}).details.if_contains("sandboxed") != nullptr, false);
}

TEST_F(OsHookTest, TheModelsWindowBoundsTheShownOutput) {
  const auto shown = [&](std::int64_t tokens) {
    window = tokens;
    return call("bash", {{"command", "seq 1 100000"}}).text.size();
  };
  EXPECT_NEAR(static_cast<double>(shown(0)), 48'000, 1000);
  EXPECT_NEAR(static_cast<double>(shown(8'000)), 8'000, 1000);
  EXPECT_NEAR(static_cast<double>(shown(50'000)), 20'000, 1000);
  EXPECT_NEAR(static_cast<double>(shown(2'000'000)), 48'000, 1000);
}

TEST_F(OsHookTest, EveryToolHasASchemaOfItsArguments) {
  const auto all = hook->tools({});
  ASSERT_EQ(all.size(), 8U);
  for (const auto& tool : all) {
    EXPECT_FALSE(tool.description.empty());
    const auto* properties = json::find_object(tool.parameters, "properties");
    ASSERT_TRUE(properties);
    for (const auto& [name, schema] : *properties)
      EXPECT_FALSE(json::find_string(schema.as_object(), "description").value_or("").empty())
          << tool.name << "." << name;
  }
}

}  // namespace
}  // namespace reef::hooks
