#include "session/row.h"

#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "session/catalog.h"
#include "support/run.h"

namespace reef::session {
namespace {

SessionId an_id() {
  return *SessionId::parse("261115-swift-river");
}

Entry reply(std::string_view time, std::string model, std::int64_t input, double cost) {
  AssistantMessage message;
  message.provider = "p";
  message.model = std::move(model);
  message.usage.input = input;
  message.usage.output = 1;
  message.usage.cost.total = cost;
  return make_entry(draft_message(message), EntryId{"e"}, std::nullopt, *parse_iso(time));
}

Row empty_row() {
  return start_row(an_id(), Header{});
}

TEST(Row, CountsUsageByModelAndUtcDay) {
  auto row = empty_row();
  fold(row, reply("2026-01-01T23:59:59.999Z", "a", 10, 0.5));
  fold(row, reply("2026-01-02T00:00:00.000Z", "a", 20, 0.25));
  fold(row, reply("2026-01-02T01:00:00.000+02:00", "a", 5, 0));  // still the first, in UTC
  fold(row, reply("2026-01-02T10:00:00.000Z", "b", 7, 0));
  ASSERT_EQ(row.usage_by_model.size(), 2U);
  const auto& days = row.usage_by_model.at("p/a");
  ASSERT_EQ(days.size(), 2U);
  EXPECT_EQ(days[0].day, 20454);
  EXPECT_EQ(days[0].totals.input, 15);
  EXPECT_EQ(days[0].totals.replies, 2);
  EXPECT_DOUBLE_EQ(days[0].totals.cost, 0.5);
  EXPECT_EQ(days[1].day, 20455);
  EXPECT_EQ(days[1].totals.input, 20);
  EXPECT_EQ(sum(days).replies, 3);
  EXPECT_EQ(row.usage.input, 42);
  EXPECT_EQ(row.usage.replies, 4);
  EXPECT_EQ(row.usage.tokens(), 46);
}

TEST(Row, AFailedReplyIsNoReply) {
  auto row = empty_row();
  AssistantMessage failed;
  failed.stop_reason = StopReason::error;
  fold(row, make_entry(draft_message(failed), EntryId{"e"}, std::nullopt, TimePoint()));
  EXPECT_EQ(row.usage.replies, 0);
  EXPECT_TRUE(row.usage_by_model.empty());
}

TEST(Row, ManyDaysAndModelsStayBoundedAndKeepTheirTotals) {
  auto row = empty_row();
  const auto start = *parse_iso("2020-01-01T00:00:00Z");
  const auto one = [&](std::string model, int day) {
    auto entry = reply("2020-01-01T00:00:00Z", std::move(model), 1, 0);
    entry.time = start + std::chrono::days(day);
    fold(row, entry);
  };
  constexpr int kDays = 2 * static_cast<int>(Row::kUsageDaysMax);
  for (int i = 0; i < kDays; ++i) one("a", i);
  EXPECT_EQ(row.usage_by_model.at("p/a").size(), Row::kUsageDaysMax);
  EXPECT_EQ(row.usage_by_model.at("p/a").front().totals.input,
            kDays - static_cast<int>(Row::kUsageDaysMax) + 1);
  EXPECT_EQ(sum(row.usage_by_model.at("p/a")).input, kDays);
  for (int i = 0; i < 100; ++i) one(fmt::format("m{}", i), 0);
  EXPECT_EQ(row.usage_by_model.size(), Row::kUsageModelsMax + 1);
  std::int64_t input = 0;
  for (const auto& [model, days] : row.usage_by_model) input += sum(days).input;
  EXPECT_EQ(input, kDays + 100);
}

TEST(Row, HugeNumbersStopAtTheLargest) {
  auto row = empty_row();
  for (int i = 0; i < 2000; ++i)
    fold(row, reply("2020-01-01T00:00:00Z", "a", 9'000'000'000'000'000, 1e308));
  EXPECT_EQ(row.usage.input, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(row.usage.tokens(), std::numeric_limits<std::int64_t>::max());
  EXPECT_DOUBLE_EQ(row.usage.cost, 1e308);
}

TEST(Row, DetailsAreDerivedUnlessTheyWereSet) {
  auto row = empty_row();
  fold(row, reply("2026-01-01T10:00:00.000Z", "a", 10, 0.5));
  row.preview = "said \"so\"\n";
  row.meta = {{"key", "agent:reef:user"},
              {"labels", {"a", "b"}},
              {"isFlagged", true},
              {"preview", 7},
              {"sessionStatus", "blocked"},
              {"boundAt", 5},
              {"lastUsedAt", 6},
              {"originMark", "hidden"},
              {"subject", "s"}};
  const auto parsed = json::parse(details_of(row, "todo"));
  ASSERT_TRUE(parsed.ok());
  const auto& details = parsed->as_object();
  EXPECT_EQ(details.at("id"), "261115-swift-river");
  EXPECT_EQ(details.at("key"), "agent:reef:user");
  EXPECT_EQ(details.at("agent"), "");
  EXPECT_EQ(details.at("preview"), 7);
  EXPECT_EQ(details.at("messageCount"), 1);
  EXPECT_EQ(details.at("updatedAt"), "2026-01-01T10:00:00.000Z");
  EXPECT_EQ(details.at("labels"), json::value({"a", "b"}));
  EXPECT_EQ(details.at("isFlagged"), true);
  EXPECT_EQ(details.at("isArchived"), false);
  EXPECT_EQ(details.at("tokenUsage").at("byModel").at("p/a").at("costUsd"), 0.5);
  EXPECT_EQ(details.at("tokenUsage").at("totalTokens"), 11);
  EXPECT_NE(details.at("lastUsedAt"), 6);
  EXPECT_EQ(details.at("subject"), "s");
  EXPECT_EQ(details.at("sessionStatus"), "todo");
  EXPECT_EQ(details.at("storedStatus"), "blocked");
  EXPECT_FALSE(details.contains("boundAt") || details.contains("originMark"));

  row.meta = {{"labels", json::array()}};
  const auto plain = json::parse(details_of(row, "done"));
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->at("preview"), "said \"so\"\n");
  EXPECT_FALSE(plain->as_object().contains("storedStatus"));
}

TEST(Row, SurvivesTheCatalog) {
  auto row = empty_row();
  fold(row, reply("2026-01-01T00:00:00Z", "a", 10, 0.1));
  fold(row, reply("2026-01-02T00:00:00Z", "a", 20, 0.2));
  fold(row, reply("2026-01-02T00:00:00Z", "b", 1, 0));
  const auto record = catalog_record(row);
  const auto reading = test::value_of(read_catalog(source_of(record)));
  ASSERT_FALSE(reading.damaged);
  const auto& again = reading.rows.at(an_id());
  EXPECT_EQ(catalog_record(again), catalog_record(row));
  EXPECT_EQ(again.usage_by_model.at("p/a").at(1).totals.input, 20);
}

TEST(Row, ARowOfAnotherVersionIsNotRead) {
  auto record = to_json(empty_row());
  EXPECT_TRUE(read_record(json::write(record)));
  record["v"] = 1;
  EXPECT_FALSE(read_record(json::write(record)));
  record.erase("v");
  EXPECT_FALSE(read_record(json::write(record)));
}

TEST(Row, SurvivesTheCatalogWhateverItsTextsHold) {
  auto row = empty_row();
  row.bytes = 9'007'199'254'740'993;
  row.last_role = "user";
  row.preview = "\"quoted\" \\ tab\t line\n null\x01 \u00fc \U0001F980 \xE2\x80\xA8";
  row.cwd = "/home/\u00e9t\u00e9/{a,b}[c]";
  row.parent_session = "/tmp/x.jsonl";
  row.usage.cost = 1.25e-7;
  row.usage_by_model["p/\u6771\"x"] = {DayUsage{-1, row.usage}};
  row.meta = json::parse(R"({"a":{"b":[1,null,"}"]},"name":"\ud83e\udd80"})")->as_object();
  const auto read = read_record(json::write(to_json(row)));
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->gone);
  EXPECT_EQ(json::write(to_json(read->row)), json::write(to_json(row)));
}

TEST(Row, RecordsThatAreInvalidAreNotRead) {
  const auto good = json::write(to_json(empty_row()));
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_FALSE(read_record(good.substr(0, cut))) << cut;
  EXPECT_FALSE(read_record(good + "x"));
  const auto with = [](std::string_view name, json::value value) {
    auto record = to_json(empty_row());
    record[name] = std::move(value);
    return json::write(record);
  };
  EXPECT_FALSE(read_record(with("id", "../x")));
  EXPECT_FALSE(read_record(with("bytes", -1)));
  EXPECT_FALSE(read_record(with("bytes", "7")));
  EXPECT_FALSE(read_record(with("damage", 1LL << 40)));
  EXPECT_FALSE(read_record(with("usage", json::array{1, 2, 3})));
  EXPECT_FALSE(read_record(with("byModel", json::array{})));
  EXPECT_FALSE(read_record(with("meta", nullptr)));
  EXPECT_TRUE(read_record(with("later", json::array{1, "x"})));
  auto not_utf8 = good;
  not_utf8.replace(not_utf8.find("\"cwd\":\"") + 7, 0, "\xFF");
  EXPECT_FALSE(read_record(not_utf8));
}

// The catalog is large enough for several threads; ids are removed, come back or change in parts
// of the file that other threads read.
TEST(Row, TheNewestRecordOfALargeCatalogCounts) {
  const auto id = [](int n) { return *SessionId::parse("s" + std::to_string(n)); };
  constexpr int kRows = 4000;
  std::string bytes;
  for (int round = 0; round < 3; ++round)
    for (int n = 0; n < kRows; ++n) {
      Row row(id(n));
      row.preview = std::string(200, 'x');
      row.bytes = static_cast<std::uint64_t>(round);
      if (round == 1 && n % 3 == 0)
        bytes += catalog_removal(row.id);
      else if (round == 0 || n % 2 == 0)
        bytes += catalog_record(row);
    }
  ASSERT_GT(bytes.size(), 3U << 20);
  bytes += catalog_removal(id(8));
  const auto reading = test::value_of(read_catalog(source_of(bytes)));
  EXPECT_FALSE(reading.damaged);
  for (int n = 0; n < kRows; ++n) {
    const auto found = reading.rows.find(id(n));
    const bool gone = n == 8 || (n % 3 == 0 && n % 2 == 1);
    ASSERT_EQ(found == reading.rows.end(), gone) << n;
    if (!gone) {
      EXPECT_EQ(found->second.bytes, n % 2 == 0 ? 2U : 0U) << n;
    }
  }
  const auto cut =
      test::value_of(read_catalog(source_of(std::string_view(bytes).substr(0, bytes.size() - 3))));
  EXPECT_TRUE(cut.damaged);
  EXPECT_TRUE(cut.rows.contains(id(8)));
}

}  // namespace
}  // namespace reef::session
