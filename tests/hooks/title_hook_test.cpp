#include "hooks/title/title_hook.h"

#include <gtest/gtest.h>

#include "runtime/title.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"

namespace reef::hooks {
namespace {

TEST(Title, HasThreeToSixWords) {
  EXPECT_EQ(*runtime::title_from("Deploy keys of the harbour"), "Deploy keys of the harbour");
  EXPECT_EQ(*runtime::title_from("  \"Deploy  keys\n today\" "), "Deploy keys today");
  EXPECT_EQ(*runtime::title_from("部署密钥放在哪里"), "部署密钥放在哪里");
  for (const auto* bad : {"", " ", "Deploy keys", "one two three four five six seven"})
    EXPECT_FALSE(runtime::title_from(bad)) << bad;
  EXPECT_EQ(runtime::title_from("two words").error().what,
            "a title has three to six words, this one 2");
  EXPECT_FALSE(runtime::title_from("a b " + std::string(10'000, 'x')));
  const auto clean = runtime::title_from("Deploy\x1b[31m keys \x07 today");
  ASSERT_TRUE(clean);
  EXPECT_EQ(clean->find('\x1b'), std::string::npos);
}

class TitleHookTest : public testing::Test {
 protected:
  ~TitleHookTest() override { test::run(io, sessions.stop()); }

  runtime::ToolAnswer call(const session::SessionId& id, json::object arguments) {
    runtime::Caller caller{{}, "user", id, ""};
    return test::run(io, hook.call("set_title", std::move(arguments), caller));
  }

  boost::asio::io_context io{1};
  SystemClock clock;
  SeededRandom random{1};
  store::MemTranscripts store;
  store::MemJournal catalog;
  session::Sessions sessions{io.get_executor(), store, catalog, clock, random};
  TitleHook hook{sessions};
};

TEST_F(TitleHookTest, NamesTheSessionItIsCalledInOnce) {
  const auto session = test::value_of(test::run(io, sessions.create({{}, "reef", "user", "", {}})));
  const auto id = session->id();
  EXPECT_EQ(call(id, {{"title", "Where keys are kept"}}).text, "title: Where keys are kept");
  EXPECT_EQ(sessions.find(id)->name(), "Where keys are kept");
  const auto bytes = session->bytes();
  EXPECT_FALSE(call(id, {{"title", "Where keys are kept"}}).is_error);
  EXPECT_EQ(session->bytes(), bytes) << "the same again is not written";
}

TEST_F(TitleHookTest, AMistakeIsTextForTheModelAndChangesNothing) {
  const auto session = test::value_of(test::run(io, sessions.create({{}, "reef", "user", "", {}})));
  const auto id = session->id();
  EXPECT_EQ(call(id, {}).text, "invalid arguments: 'title' must be a text");
  EXPECT_TRUE(call(id, {{"title", "x"}}).is_error);
  EXPECT_EQ(sessions.find(id)->name(), "");
  const auto gone = test::value_of(session::SessionId::parse("260101-a-b"));
  EXPECT_TRUE(call(gone, {{"title", "Where keys are kept"}}).is_error);
}

TEST_F(TitleHookTest, IsHarmlessAndSaysWhenToBeCalled) {
  const auto id = test::value_of(session::SessionId::parse("260101-a-b"));
  EXPECT_EQ(hook.intent("set_title", {}, {{}, "user", id, ""}).effect,
            runtime::Intent::Effect::reads);
  EXPECT_NE(hook.prompt({}).find("set_title"), std::string::npos);
  EXPECT_EQ(hook.tools({}).at(0).name, "set_title");
}

}  // namespace
}  // namespace reef::hooks
