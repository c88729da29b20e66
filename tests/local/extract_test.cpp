#include "local/extract.h"

#include <gtest/gtest.h>

namespace reef::local {
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

TEST(Extract, ATitleIsFilledUpToThreeWordsWhereThereAreThree) {
  const std::pair<std::string, std::string> cases[] = {
      {"I like tea. You hate it.", "I like tea"},
      {"please help me", "Please help me"},
      {"Tea. Milk. Sugar.", "Tea. Milk. Sugar"},
      {"yes; no; maybe; so", "Yes; no; maybe"},
      {"what is this about", "What is this about"},
      {"Error: E0382!", "Error: E0382"},
      {"the key", "The key"},
      {"foo.bar.baz", "foo.bar.baz"},
      {"What is in /etc/hosts.allow?", "What is in /etc/hosts.allow"},
      {"Tea\n\n- milk\n- sugar", "Tea milk sugar"},
      {"The \"blue vault\" (harbour)", "Blue vault harbour"},
      {"数据库索引怎么设计", "数据库索引怎么设计"},
      {"数据库，索引", "数据库，索引"},
      {"修复LoginController里的错误", "修复LoginController里的错误"},
      {"foo，数据库索引怎么设计", "Foo，数据库索引怎么设计"},
      {"漢字の題名を付けてくださいお願いします", "漢字の題名を付けてくださ"},
      {"데이터베이스 인덱스를 만들다", "데이터베이스 인덱스를 만들다"},
  };
  for (const auto& [text, title] : cases) EXPECT_EQ(title_of(talk({text})), title) << text;
}

TEST(Extract, ATitleIsNotCutInsideALetterAndItsSigns) {
  const std::pair<std::string, std::string> cases[] = {
      {"ฉันอยากไปเที่ยวทะเล", "ฉันอยากไป"},  // no cut after a vowel sign or before a tone mark
      {"สวัสดีชาวโลกทุกคน", "สวัสดีชาวโลก"},  // fits as it is
      {"ខ្ញុំចង់ទៅសមុទ្រថ្ងៃនេះ", "ខ្ញុំចង់ទៅស"},   // stacked consonants
      {"漢字の題名を付けてくれた\u3099さい", "漢字の題名を付けてくれ"},  // a mark by itself
  };
  for (const auto& [text, title] : cases) EXPECT_EQ(title_of(talk({text})), title) << text;
  const std::string signs = [] {
    std::string out = "ก";
    for (int i = 0; i < 30; ++i) out += "่";
    return out;
  }();
  EXPECT_FALSE(title_of(talk({signs})).empty());
}

TEST(Extract, ATitleHasThreeToSixWordsWhateverTheMessage) {
  const std::string words[] = {"the", "tea",  "of.", "src/io/bar.cpp", "is", "Milk;", "and",
                               "-",   "what", "(a)", "sugar!",         "I",  "x"};
  // Tries messages that walk through the words with every step width.
  for (std::size_t step = 1; step < std::size(words); ++step)
    for (std::size_t count = 4; count < 20; ++count) {
      std::string text;
      for (std::size_t i = 0; i < count; ++i) text += words[i * step % std::size(words)] + " ";
      const auto title = title_of(talk({text}));
      EXPECT_GE(words_in(title), 3U) << text << ": " << title;
      EXPECT_LE(words_in(title), 6U) << text << ": " << title;
    }
}

}  // namespace
}  // namespace reef::local
