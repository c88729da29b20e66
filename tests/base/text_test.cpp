#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "base/result.h"
#include "base/utf8.h"
#include "base/visible.h"

namespace reef {
namespace {

TEST(Result, ErrorsGainContextFromTheOutside) {
  const Result<int> failed = Error(Errc::io, "disk full").with("append").with("session x");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, "session x: append: disk full");
}

TEST(Result, EveryCodeHasAWireCodeThatLeadsBack) {
  for (int i = 0; i <= int(Errc::internal); ++i) {
    const auto code = static_cast<Errc>(i);
    const auto wire = traits(code).wire_code;
    EXPECT_GE(wire, 400U) << traits(code).name;
    EXPECT_EQ(traits(errc_from_wire(wire)).wire_code, wire) << traits(code).name;
    EXPECT_EQ(traits(code).exit_code, 1) << traits(code).name;
  }
}

TEST(Utf8, SanitizeReplacesOnlyWhatIsInvalid) {
  EXPECT_EQ(utf8::sanitize("grün 漢字 🙂"), "grün 漢字 🙂");
  EXPECT_EQ(utf8::sanitize("a\xFF"
                           "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(utf8::sanitize("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(utf8::sanitize("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(utf8::sanitize("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(utf8::sanitize("\xF4\x90\x80\x80").size(), 12U);
}

TEST(Utf8, SanitizedTextIsAlwaysValid) {
  SeededRandom random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (auto left = random.below(40); left > 0; --left)
      bytes.push_back(static_cast<char>(random.below(256)));
    const auto clean = utf8::sanitize(bytes);
    EXPECT_TRUE(utf8::valid(clean));
    EXPECT_EQ(utf8::valid(bytes), clean == bytes);
    EXPECT_TRUE(utf8::valid(utf8::prefix(clean, bytes.size() / 2)));
  }
}

TEST(Utf8, PrintableTakesAwayWhatCouldDriveATerminal) {
  EXPECT_EQ(utf8::printable("a\x1b[31mb\x07\r\n\tc\x7f"), "a[31mb\n\tc");
  EXPECT_EQ(utf8::printable("\xC2\x9B"
                            "31m"),
            "31m");
  EXPECT_EQ(utf8::printable("é"), "é");
  EXPECT_EQ(utf8::printable("a\u202Eb\u2066c\u2069"), "abc");
}

TEST(Visible, ShowsWhatCouldDriveATerminalOrHide) {
  const std::pair<std::string, std::string> cases[] = {
      {"plain é 漢字 \t x\n", "plain é 漢字 \t x\n"},
      {"a\x1b[31mb\x07", "a\u241B[31mb\u2407"},
      {"\x1b]0;title\x1b\\", "\u241B]0;title\u241B\\"},
      {"\xC2\x9B"
       "2J\x7f",
       "<U+009B>2J\u2421"},
      {"a\r\nb\rc", "a\nb\u240Dc"},
      {std::string("nul\0", 4), "nul\u2400"},
      {"\xff\xc3", "\uFFFD\uFFFD"},
      {"ls \u202Egpj.exe\u202C", "ls <U+202E>gpj.exe<U+202C>"},
      {"\u2066\u2067\u2068\u2069\u200E\u200F\u061C",
       "<U+2066><U+2067><U+2068><U+2069><U+200E><U+200F><U+061C>"},
      {"a\u2028b\u2029c", "a<U+2028>b<U+2029>c"},
      {"r\u200Bm \u2060\uFEFF\u00AD\u3164", "r<U+200B>m <U+2060><U+FEFF><U+00AD><U+3164>"},
      {"r\u200Dm a\u200C", "r<U+200D>m a<U+200C>"},
      {"x\U000E0041\U000E007F", "x<U+E0041><U+E007F>"},
      // A family, a heart on fire, a key, Persian: these are drawn wrongly without their joiners.
      {"\U0001F468\u200D\U0001F469\u200D\U0001F467", "\U0001F468\u200D\U0001F469\u200D\U0001F467"},
      {"\u2764\uFE0F\u200D\U0001F525", "\u2764\uFE0F\u200D\U0001F525"},
      {"1\uFE0F\u20E3", "1\uFE0F\u20E3"},
      {"\u0645\u06CC\u200C\u062E", "\u0645\u06CC\u200C\u062E"},
      {"é\u200D\u200D\u200D", "é<U+200D><U+200D><U+200D>"},
      {"a\uFE0Fb", "a<U+FE0F>b"},
      {"1\uFE0F\u200D\U0001F525", "1<U+FE0F><U+200D>\U0001F525"},
  };
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(utf8::visible(text), shown);
    EXPECT_EQ(utf8::visible(shown), shown);
    // The result is the same wherever the text is cut into two pieces.
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      utf8::VisibleText pieces;
      auto said = pieces.take(std::string_view(text).substr(0, cut));
      said += pieces.take(std::string_view(text).substr(cut));
      said += pieces.end();
      EXPECT_EQ(said.find('\x1b'), std::string::npos);
      EXPECT_EQ(said.find("\u202E"), std::string::npos);
      if (text.find("\u200D") == std::string::npos && text.find("\uFE0F") == std::string::npos &&
          text.find("\u200C") == std::string::npos)
        EXPECT_EQ(said, shown) << "cut at " << cut;
    }
  }
}

TEST(Visible, JsonSaysTheSameInEscapes) {
  EXPECT_EQ(utf8::escape_unseen("{\"é\u202Ea\u009B\x7f\U000E0041\"}"),
            "{\"é\\u202ea\\u009b\\u007f\\udb40\\udc41\"}");
}

TEST(Utf8, PrefixNeverCutsACharacter) {
  EXPECT_EQ(utf8::prefix("aé", 2), "a");
  EXPECT_EQ(utf8::prefix("aé", 3), "aé");
  EXPECT_EQ(utf8::prefix_chars("漢字かな", 2), "漢字");
}

TEST(Json, SaysWhereAndWhyTextIsNotJson) {
  const auto failed = json::parse("{\"a\":1,}");
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().what.find("byte 7"), std::string::npos) << failed.error().what;
  EXPECT_FALSE(json::parse(""));
  EXPECT_FALSE(json::parse("{} {}"));
  EXPECT_FALSE(json::parse(std::string(10'000, '[')));
}

TEST(Json, LenientReadsHalfSurrogatesAndInvalidUtf8) {
  const auto half = json::parse_lenient(R"({"a":"x\ud83d","b":"\ud83d\ude42"})");
  ASSERT_TRUE(half) << half.error().what;
  EXPECT_EQ(half->at("a").as_string(), "x\xEF\xBF\xBD");
  EXPECT_EQ(half->at("b").as_string(), "🙂");
  const auto bytes = json::parse_lenient("{\"a\":\"\xFF\"}");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->at("a").as_string(), "\xEF\xBF\xBD");
  // An escaped backslash before u is not an escape.
  const auto plain = json::parse_lenient("{\"a\":\"\\\\ud83d \xFF\"}");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->at("a").as_string(), "\\ud83d \xEF\xBF\xBD");
}

TEST(Json, FractionsKeepTheirLastBit) {
  for (const double exact : {0.0048000000000000004, 0.0012000000000000001, 1e-7, 123456.789e20,
                             2.2250738585072014e-308, 0.1, 5e-324}) {
    const auto once = json::parse(json::write(json::value(exact)));
    ASSERT_TRUE(once);
    EXPECT_EQ(once->as_double(), exact);
  }
  EXPECT_EQ(json::parse("0.0048000000000000004")->as_double(), 0.0048000000000000004);
  EXPECT_EQ(json::parse(R"({"a":[0.0048000000000000004]})")->at("a").at(0).as_double(),
            0.0048000000000000004);
}

TEST(Json, WritesWhatItReads) {
  std::string every;
  for (int c = 0; c < 0x80; ++c) every.push_back(static_cast<char>(c));
  const json::value odd{{"text", every + "ä🙂"},
                        {every, json::array{}},
                        {"", json::object{}},
                        {"numbers", {0, -1, INT64_MIN, UINT64_MAX, 0.5, 1.0, -0.0, 1e300, 3e-9}},
                        {"words", {true, false, nullptr}}};
  const auto text = json::write(odd);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  // Another reader and writer agree; a whole fraction stays one.
  EXPECT_EQ(boost::json::parse(text), odd);
  EXPECT_EQ(json::write(*json::parse(text)), text);
  auto without_numbers = odd.get_object();
  without_numbers.erase("numbers");
  EXPECT_EQ(json::write(without_numbers), boost::json::serialize(without_numbers));
  EXPECT_EQ(json::write(json::value{0.0042, 2.0, 1e22}), "[0.0042,2.0,1e+22]");
}

TEST(Json, MergePatchFollowsRfc7396) {
  auto target = json::parse(R"({"a":1,"b":{"c":2,"d":3},"e":4})")->as_object();
  json::merge_patch(target, json::parse(R"({"a":5,"b":{"c":null,"x":[1]},"e":null})")->as_object());
  EXPECT_EQ(json::write(target), R"({"a":5,"b":{"d":3,"x":[1]}})");
}

TEST(Clock, IsoRoundTripsAndReadsWhatOthersWrite) {
  const TimePoint time(std::chrono::milliseconds(1767323045678));
  EXPECT_EQ(format_iso(time), "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(parse_iso("2026-01-02T03:04:05.678Z"), time);
  EXPECT_EQ(parse_iso("2026-01-02T03:04:05.678912345+00:00"), time);
  EXPECT_EQ(parse_iso("2026-01-02T05:04:05.678+02:00"), time);
  EXPECT_EQ(parse_iso("2026-01-02T03:04:05Z"), TimePoint(std::chrono::milliseconds(1767323045000)));
  for (const auto* bad : {"", "2026", "2026-13-02T03:04:05Z", "2026-01-02T25:04:05Z",
                          "2026-01-02T03:04:05", "2026-01-02T03:04:05Zx", "2026-02-30T03:04:05Z"})
    EXPECT_FALSE(parse_iso(bad)) << bad;
}

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  SeededRandom a(1);
  SeededRandom b(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.below(10), b.below(10));
  SystemRandom system;
  EXPECT_NE(system.hex(32), system.hex(32));
  EXPECT_EQ(system.hex(7).size(), 7U);
}

}  // namespace
}  // namespace reef
