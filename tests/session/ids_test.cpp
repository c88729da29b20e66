#include "session/ids.h"

#include <set>

#include <gtest/gtest.h>

namespace reef::session {
namespace {

TEST(SessionId, LooksLikeADayAndTwoWords) {
  const TimePoint now(std::chrono::milliseconds(1794779830302));  // 2026-11-15
  const auto id = make_session_id(now, 0, 1);
  EXPECT_TRUE(id.text().starts_with("261115-")) << id.text();
  EXPECT_EQ(std::count(id.text().begin(), id.text().end(), '-'), 2);
  EXPECT_EQ(make_session_id(now, 0, 2).text(), id.text() + "-2");
}

TEST(SessionId, HasEnoughChoicesADay) {
  EXPECT_GE(session_id_choices(), 20'000U);
  const TimePoint now{};
  std::set<std::string> seen;
  for (std::uint64_t choice = 0; choice < session_id_choices(); ++choice)
    seen.insert(make_session_id(now, choice, 1).text());
  EXPECT_EQ(seen.size(), session_id_choices());
}

TEST(SessionId, CanNeverLeaveItsDirectory) {
  for (const auto& bad :
       {"", ".", "..", "../x", "a/b", "/etc", ".hidden", "a\\b", "a b", "a\nb", "ä", "a:b", "a*"})
    EXPECT_FALSE(SessionId::parse(bad)) << bad;
  EXPECT_FALSE(SessionId::parse(std::string("a\0b", 3)));
  EXPECT_FALSE(SessionId::parse(std::string(10'000, 'a')));
  EXPECT_TRUE(SessionId::parse("261115-swift-river-2"));
  EXPECT_TRUE(SessionId::parse("018f0c1e-aaaa-7bbb-8ccc-0123456789ab"));
}

TEST(Key, TheExactStringDecides) {
  std::set<Key> keys;
  for (const std::string sender : {"tg:12", "tg-12", "TG 12", "tg12", "tg:12 "})
    keys.insert(*Key::of_pair("reef", sender));
  EXPECT_EQ(keys.size(), 5U);
  EXPECT_EQ(Key::of_pair("reef", "user")->text(), "agent:reef:user");
}

TEST(Key, HostileNamesAreRefusedWithAReason) {
  for (const auto& bad : {std::string(), std::string("a\0b", 3), std::string("a\nb"),
                          std::string("\x1b[31m"), std::string("\xFF"), std::string(10'000, 'a')}) {
    const auto key = Key::of_pair("reef", bad);
    ASSERT_FALSE(key) << bad;
    EXPECT_EQ(key.error().code, Errc::invalid);
    EXPECT_LT(key.error().what.size(), 300U);
    EXPECT_FALSE(Key::of_pair(bad, "user"));
  }
  for (const auto* bad : {"a:b", "..", "a/../b", "/", "a/b"})
    EXPECT_FALSE(Key::of_pair(bad, "user")) << bad;
}

TEST(Key, AnySenderAClientChoosesWorks) {
  for (const std::string sender :
       {"slack:T01/C02", "matrix:!room:server/thread", "..", "/", "../../etc/passwd", "Zoë 🐚"}) {
    const auto key = Key::of_pair("reef", sender);
    ASSERT_TRUE(key) << sender;
    EXPECT_EQ(Key::parse(key->text())->pair(),
              (std::pair<std::string, std::string>("reef", sender)));
    EXPECT_TRUE(Key::parse(sender)) << sender;
  }
}

TEST(Key, ParsesWhatOfPairMakes) {
  const auto pair = Key::of_pair("reef", "tg:12");
  EXPECT_EQ(Key::parse(pair->text())->text(), pair->text());
  EXPECT_TRUE(Key::of_pair("reef", std::string(400, 'x')));
  for (const std::string fine : {"tg:12", "tg-12", "TG 12", "cron:night", "agent:reef:a:b:c"})
    EXPECT_EQ(Key::parse(fine)->text(), fine);
  EXPECT_EQ(Key::parse("agent:reef:tg:12")->pair(),
            (std::pair<std::string, std::string>("reef", "tg:12")));
  EXPECT_FALSE(Key::parse("tg:12")->pair());
  for (const std::string bad : {"", "agent", "agent:", "agent::", "agent:x", "agent:x:", "agent::y",
                                "agent:../x:y", "agent:a/b:c"})
    EXPECT_FALSE(Key::parse(bad)) << bad;
}

}  // namespace
}  // namespace reef::session
