#include "runtime/title.h"

#include <gtest/gtest.h>

#include "local/local.h"
#include "runtime/window_stage.h"

namespace reef::runtime {
namespace {

class TitleTest : public WindowStage {
 protected:
  TitleTest() {
    set_up(0);
    setup->providers.add("local", std::make_shared<local::LocalProvider>());
    runtime.configure(setup);
    turn("Where do the deploy keys of the harbour live?");
  }
  Result<std::string> title(bool replace = false) {
    return test::run(io, make_title(sessions, {id(), setup->agents.at("reef"), setup, replace}));
  }
  std::string name() const { return std::string(sessions.find(id())->name()); }
};

TEST_F(TitleTest, AModelIsAskedAndItsAnswerCleaned) {
  model->words = "\"**Deploy keys of the harbour.**\"\nI hope you like it.";
  EXPECT_EQ(*title(), "Deploy keys of the harbour");
  EXPECT_EQ(name(), "Deploy keys of the harbour");
  EXPECT_EQ(entries_of("session_info"), 1U);
  const auto& asked = model->requests.back();
  EXPECT_NE(session::text_of(*asked.messages.at(0)).find("deploy keys"), std::string::npos);
  EXPECT_TRUE(asked.tools.empty());
}

TEST_F(TitleTest, AnExistingTitleStaysUnlessAsked) {
  model->words = "Keys of the harbour";
  ASSERT_TRUE(title());
  const auto asked = model->requests.size();
  model->words = "Something else than that";
  EXPECT_EQ(*title(), "Keys of the harbour");
  EXPECT_EQ(model->requests.size(), asked) << "nobody is asked for nothing";
  EXPECT_EQ(*title(true), "Something else than that");
}

TEST_F(TitleTest, ALongAnswerIsCutAndNonsenseIsReplaced) {
  model->words = "One two three four five six seven eight";
  EXPECT_EQ(*title(), "One two three four five six");
  model->words = "Keys";
  const auto extracted = title(true);
  ASSERT_TRUE(extracted);
  EXPECT_NE(extracted->find("keys"), std::string::npos) << *extracted;
  model->words = "部署密钥放在哪里";
  EXPECT_EQ(*title(true), "部署密钥放在哪里");
}

TEST_F(TitleTest, AModelThatFailsChangesNothing) {
  model->window = 1;
  const auto size = store.raw().at(id()).size();
  const auto failed = title();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().what.find("no title could be made"), std::string::npos);
  EXPECT_EQ(store.raw().at(id()).size(), size);
}

TEST_F(TitleTest, WithoutAModelTheMostTellingWordsAreTaken) {
  setup->agents["reef"].model = "local";
  const auto made = title();
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_NE(made->find("keys of the harbour"), std::string::npos) << *made;
  EXPECT_LE(std::count(made->begin(), made->end(), ' '), 5);
}

TEST_F(TitleTest, HiddenWordsNameNothing) {
  Message message{"reef", "robot", "Write the durable notes down", "/"};
  message.hidden = true;
  model->words = "NO_REPLY";
  turn(std::move(message));
  const auto other = *sessions.current(*session::Key::of_pair("reef", "robot"));
  const auto made =
      test::run(io, make_title(sessions, {other, setup->agents.at("reef"), setup, false}));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::unavailable);
}

}  // namespace
}  // namespace reef::runtime
