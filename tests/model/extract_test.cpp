#include "model/local/extract.h"

#include <gtest/gtest.h>

namespace reef::model {
namespace {

std::vector<session::MessagePtr> talk(const std::vector<std::string>& texts) {
  std::vector<session::MessagePtr> out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    session::Message message;
    if (i % 2 == 0) {
      session::UserMessage user;
      user.content.push_back(session::TextBlock{texts[i]});
      message = user;
    } else {
      session::AssistantMessage assistant;
      assistant.content.push_back(session::TextBlock{texts[i]});
      message = assistant;
    }
    out.push_back(std::make_shared<const session::Message>(std::move(message)));
  }
  return out;
}

std::size_t words_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), ' ')) + 1;
}

const std::vector<std::string> kRelease = {
    "We need to plan the database migration for the spring release.", "Sure. What is the deadline?",
    "The deadline is the first of April. We decided to keep PostgreSQL because the team knows it. "
    "Nice weather today by the way.",
    "Understood: PostgreSQL stays and the database migration is done by the first of April."};

TEST(Extract, ASummaryKeepsWhatWasSettledInItsOrderAndFits) {
  const auto all = summarise(talk(kRelease), 10'000);
  EXPECT_LT(all.find("plan the database migration"), all.find("decided to keep PostgreSQL")) << all;
  const auto some = summarise(talk(kRelease), 200);
  EXPECT_LE(some.size(), 200U);
  EXPECT_NE(some.find("migration"), std::string::npos) << some;
  EXPECT_EQ(some.find("weather"), std::string::npos) << some;
  EXPECT_EQ(summarise({}, 100), "");
  EXPECT_EQ(summarise(talk({"hm", "ok"}), 100), "");
}

TEST(Extract, ATitleIsThreeToSixWordsOfTheUsers) {
  const auto title = title_of(talk(kRelease));
  EXPECT_GE(words_in(title), 3U) << title;
  EXPECT_LE(words_in(title), 6U) << title;
  EXPECT_NE(title.find("atabase migration"), std::string::npos) << title;
  EXPECT_EQ(title_of({}), "");
  EXPECT_EQ(title_of(talk({"hi"})), "Hi");
  for (const std::string text : {"\xFF\xFE", "???", "漢字の題名を付けてください", "🙂"})
    EXPECT_EQ(title_of(talk({text})), title_of(talk({text})));
  EXPECT_FALSE(title_of(talk({"漢字の題名"})).empty());
}

}  // namespace
}  // namespace reef::model
