// Two thousand turns with a model whose window is small and strict.
#include <set>

#include <gtest/gtest.h>

#include "runtime/window_stage.h"

namespace reef::runtime {
namespace {

class LongTalk : public WindowStage {};

TEST_F(LongTalk, TwoThousandTurnsNeverFailAndForgetNothingThatWasPinned) {
  constexpr int kTurns = 2'000;
  set_up(32'000);
  std::uint64_t state = 7;
  const auto dice = [&](std::uint64_t sides) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33U) % sides;
  };
  // The summaries leave out everything they can.
  model->summary_words = "## Goal\nGo on with the work.\n";
  std::vector<std::string> said;
  int recovered = 0;
  for (int i = 0; i < kTurns; ++i) {
    auto words = fmt::format("Turn {}:", i);
    if (i == 0)
      words =
          "Always deploy from branch release-7 on port 8443. My name is Ada Vale. Never touch "
          "/srv/ledger.db.";
    const auto size = i == 700 ? 150'000U : 200U + dice(1'500);
    for (int n = 0; i > 0 && words.size() < size; ++n) words += fmt::format(" pebble{}", n);
    said.push_back(words);
    if (i % 50 == 49) {
      std::string result;
      for (int n = 0; result.size() < 20'000; ++n) result += fmt::format("line {}\n", n);
      model->script = {"call " + result};
    }
    model->words = fmt::format("Reply {} {}", i, std::string(dice(800), 'x'));
    const auto seen = turn(words);
    ASSERT_EQ(seen.end.error, "") << "turn " << i;
    ASSERT_EQ(seen.text, model->words) << "turn " << i;
    if (seen.end.compacted) ++recovered;
    model->requests.clear();
  }

  // Every word is in the transcript, once and in order.
  const auto all = transcript();
  EXPECT_TRUE(all.damage().empty());
  std::vector<std::string> users;
  int replies = 0;
  std::size_t compactions_kept = 0;
  std::size_t since = 1;
  for (const auto& entry : all.entries()) {
    if (entry.type == "compaction") {
      ++compactions_kept;
      EXPECT_GT(since, 0U) << "two compactions in a row";
      since = 0;
    }
    const auto message = session::message_of(entry);
    if (!message) continue;
    ++since;
    if (std::holds_alternative<session::UserMessage>(*message))
      users.push_back(session::text_of(*message));
    if (const auto* reply = std::get_if<session::AssistantMessage>(&*message)) {
      EXPECT_NE(reply->stop_reason, session::StopReason::error);
      if (session::text_of(*message).starts_with("Reply ")) ++replies;
    }
  }
  EXPECT_EQ(users, said);
  EXPECT_EQ(replies, kTurns);

  // Each overflow caused one compaction, and each was counted.
  EXPECT_EQ(compactions_kept, static_cast<std::size_t>(recovered));
  EXPECT_EQ(sessions.find(id())->compaction_count, compactions_kept);
  EXPECT_EQ(model->overflows, recovered) << "none in a loop";
  EXPECT_GT(recovered, 10);
  EXPECT_LT(recovered, 200);
  RecordProperty("compactions", recovered);

  // The facts of the first turn are still given to the model.
  std::string given;
  const auto session = test::value_of(test::run(io, sessions.open(id())));
  for (const auto& message : session::for_model(session->context()))
    given += session::text_of(*message) + "\n";
  for (const auto* fact : {"release-7", "8443", "Ada Vale", "/srv/ledger.db"})
    EXPECT_NE(given.find(fact), std::string::npos) << fact;
  EXPECT_LT(given.size() / 4, 32'000U);
}

}  // namespace
}  // namespace reef::runtime
