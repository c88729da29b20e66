// How full the window is, pruning, and what happens when a context is too long.
#include <gtest/gtest.h>

#include "runtime/window_stage.h"

namespace reef::runtime {
namespace {

class WindowTest : public WindowStage {};

std::string words_of(std::size_t bytes, std::string_view word = "wave ") {
  std::string out;
  while (out.size() < bytes) out += word;
  return out;
}

TEST_F(WindowTest, UsageIsToldAfterEveryStep) {
  set_up(0, 32'000);
  model->script = {"call look", "done"};
  const auto seen = turn("go");
  ASSERT_EQ(seen.usage.size(), 2U);
  for (const auto& usage : seen.usage) {
    EXPECT_EQ(usage.tokens, usage.usage.total()) << "the provider counted it";
    EXPECT_FALSE(usage.estimated);
    EXPECT_EQ(usage.window, 32'000);
    EXPECT_EQ(usage.reserve, 16'000);
    EXPECT_DOUBLE_EQ(usage.share, static_cast<double>(usage.tokens) / 16'000);
  }
  EXPECT_GT(seen.usage[1].tokens, seen.usage[0].tokens);
  ASSERT_TRUE(seen.end.context);
  EXPECT_EQ(seen.end.context->tokens, seen.usage[1].tokens);
}

TEST_F(WindowTest, WithoutReportsItIsEstimatedAndWithThemTheEstimateLearns) {
  set_up(0, 32'000);
  model->reports = false;
  auto seen = turn(words_of(40'000));
  ASSERT_EQ(seen.usage.size(), 1U);
  EXPECT_TRUE(seen.usage[0].estimated);
  EXPECT_GT(seen.usage[0].tokens, 5'000);
  EXPECT_FALSE(runtime.gauge().error("s/x"));

  model->reports = true;
  turn("and now?");
  ASSERT_TRUE(runtime.gauge().error("s/x"));
  const auto first = *runtime.gauge().error("s/x");
  for (int i = 0; i < 10; ++i) turn(words_of(2'000));
  EXPECT_LT(*runtime.gauge().error("s/x"), std::max(first, 0.02)) << "it has learnt";
  model->reports = false;
  // Tokens since the last report are estimated with the learnt calibration.
  seen = turn(words_of(40'000));
  EXPECT_TRUE(seen.usage[0].estimated);
  const auto counted = StrictModel::count(model->requests.back());
  EXPECT_NEAR(static_cast<double>(seen.usage[0].tokens), static_cast<double>(counted),
              static_cast<double>(counted) * 0.05);
}

TEST_F(WindowTest, AReportFromBeforeACompactionIsNotBelieved) {
  set_up(0, 32'000);
  for (int i = 0; i < 30; ++i) turn(words_of(4'000));
  const auto before = *turn("so?").end.context;
  EXPECT_GT(before.tokens, 30'000);
  ASSERT_TRUE(test::run(io, compactions.compact(request())));
  const auto report = test::value_of(test::run(io, runtime.window_of(id())));
  EXPECT_LT(report.usage.tokens, before.tokens / 2);
  EXPECT_TRUE(report.usage.estimated);
}

TEST_F(WindowTest, ContentsOfTheWindowAreCountedByKind) {
  set_up(0, 32'000);
  model->script = {"call " + words_of(1'000), "done"};
  turn("look at this");
  const auto report = test::value_of(test::run(io, runtime.window_of(id())));
  EXPECT_EQ(report.model, "s/x");
  std::map<std::string, WindowReport::Part> parts;
  std::int64_t sum = 0;
  for (const auto& part : report.parts) {
    parts[part.kind] = part;
    sum += part.tokens;
  }
  EXPECT_EQ(parts.at("tools").count, 6U);
  EXPECT_EQ(parts.at("user").count, 1U);
  EXPECT_EQ(parts.at("assistant").count, 2U);
  EXPECT_EQ(parts.at("tool_result").count, 1U);
  EXPECT_GT(parts.at("tool_result").tokens, 150);
  EXPECT_FALSE(parts.contains("images"));
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(report.usage.tokens),
              static_cast<double>(report.usage.tokens) * 0.2);
}

TEST_F(WindowTest, TooLongIsCompactedAndTheTurnAskedOnceMore) {
  set_up(8'000);
  turn("Always deploy from branch release-7 on port 8443.");
  bool compacted = false;
  int turns = 1;
  for (; turns < 40 && !compacted; ++turns) {
    const auto seen = turn(fmt::format("message {} {}", turns, words_of(2'000)));
    ASSERT_EQ(seen.end.error, "");
    EXPECT_EQ(seen.text, "well");
    compacted = seen.end.compacted;
  }
  ASSERT_TRUE(compacted);
  EXPECT_EQ(model->overflows, 1);
  EXPECT_EQ(entries_of("compaction"), 1U);
  const auto stored = kept();
  EXPECT_EQ(stored.size(), static_cast<std::size_t>(turns) * 2) << "no failed reply, nothing twice";
  const auto& last = session::text_of(*model->requests.back().messages.back());
  EXPECT_TRUE(last.starts_with(fmt::format("message {} ", turns - 1))) << last.substr(0, 80);
  EXPECT_NE(session::text_of(*model->requests.back().messages.front()).find("release-7"),
            std::string::npos);
}

TEST_F(WindowTest, AWindowNobodyKnowsIsFoundOutByTheOverflow) {
  set_up(8'000, 0);
  for (int i = 0; i < 60; ++i) {
    const auto seen = turn(fmt::format("message {} {}", i, words_of(2'000)));
    ASSERT_EQ(seen.end.error, "") << i;
  }
  EXPECT_GT(entries_of("compaction"), 1U);
}

TEST_F(WindowTest, AMessageLargerThanTheWindowIsAnsweredAllTheSame) {
  set_up(8'000);
  for (int i = 0; i < 4; ++i) turn(words_of(400));
  const auto seen = turn("this is long: " + words_of(80'000));
  EXPECT_EQ(seen.end.error, "");
  EXPECT_TRUE(seen.end.compacted);
  EXPECT_EQ(turn("and on").end.error, "");
}

TEST_F(WindowTest, ItMayBeTurnedOff) {
  set_up(2'000);
  setup->compaction.on_overflow = false;
  set_up(2'000);
  turn("hello");
  auto seen = turn(words_of(20'000));
  EXPECT_NE(seen.end.error.find("context_overflow"), std::string::npos) << seen.end.error;
  EXPECT_EQ(entries_of("compaction"), 0U);
  // The session's own setting counts more than the agent's.
  ASSERT_TRUE(test::run(io, sessions.patch(id(), {{"compactOnOverflow", true}})));
  seen = turn("once more");
  EXPECT_EQ(seen.end.error, "");
  EXPECT_TRUE(seen.end.compacted);
}

TEST_F(WindowTest, ACompactionThatFailsIsSaidAndNothingIsLost) {
  set_up(2'000);
  model->summary_words = std::nullopt;
  turn("hello");
  auto seen = turn(words_of(20'000));
  EXPECT_NE(seen.end.error.find("no summary today"), std::string::npos) << seen.end.error;
  EXPECT_EQ(seen.end.code, Errc::provider);
  EXPECT_FALSE(seen.end.compacted);
  EXPECT_EQ(entries_of("compaction"), 0U);
  const auto overflows = model->overflows;
  model->summary_words = "short";
  seen = turn("are you there?");
  EXPECT_EQ(seen.end.error, "");
  EXPECT_EQ(model->overflows, overflows + 1);
  int asked = 0;
  for (const auto& message : kept())
    if (session::text_of(message) == "are you there?") ++asked;
  EXPECT_EQ(asked, 1);
}

TEST_F(WindowTest, StillTooLongIsAnErrorAndNoLoop) {
  set_up(2'000);
  turn("hello");
  // The prompt alone is too long, so no compaction can help.
  setup->agents["reef"].prompt = words_of(20'000);
  runtime.configure(setup);
  const auto overflows = model->overflows;
  const auto seen = turn("again");
  EXPECT_NE(seen.end.error, "");
  EXPECT_LE(model->overflows, overflows + 30) << "one more try for the turn, a few for the summary";
  EXPECT_LE(entries_of("compaction"), 1U);
}

TEST_F(WindowTest, AKillWhileItIsCompactedEndsTheTurn) {
  set_up(2'000);
  turn("hello");
  model->hold_summaries = true;
  const auto run = say(words_of(20'000));
  while (model->summaries == 0) test::run_ready(io);
  ASSERT_TRUE(runtime.kill("reef", "user"));
  EXPECT_EQ(told(run), "start end(cancelled)") << "or as cancelled turns end";
  model->release();
  EXPECT_EQ(turn("still there?").end.error, "");
}

TEST_F(WindowTest, ANoteBehindTheLastWordIsNoRewind) {
  set_up(0, 8'000);
  turn("hello");
  model->words = words_of(80'000);
  turn("tell me all of it");
  ASSERT_TRUE(test::run(io, sessions.patch(id(), {{"isFlagged", true}})));
  const auto done = test::run(io, compactions.compact(request()));
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->messages, 4U) << "nothing is small enough to be kept";
}

TEST_F(WindowTest, MessagesDuringACompactionAreKept) {
  set_up(0, 32'000);
  for (int i = 0; i < 30; ++i) turn(words_of(4'000));
  model->hold_summaries = true;
  std::optional<Result<Compacted>> done;
  boost::asio::co_spawn(io, test::store_result(compactions.compact(request()), done),
                        [](std::exception_ptr) {});
  while (model->summaries == 0) test::run_ready(io);
  EXPECT_EQ(turn("meanwhile").end.error, "");
  model->release();
  while (!done) test::run_ready(io);
  ASSERT_TRUE(*done) << done->error().what;
  EXPECT_EQ(turn("after").end.error, "");
  const auto& messages = model->requests.back().messages;
  int meanwhile = 0;
  for (const auto& message : messages)
    if (session::text_of(*message) == "meanwhile") ++meanwhile;
  EXPECT_EQ(meanwhile, 1);
}

TEST_F(WindowTest, OldResultsArePrunedInRequestsAndTheBeginningStaysTheSame) {
  set_up(0, 20'000);
  std::size_t changes = 0;
  std::vector<std::string> before;
  for (int i = 0; i < 40; ++i) {
    model->script = {"call " + words_of(6'000), "done"};
    ASSERT_EQ(turn(fmt::format("look {}", i)).end.error, "");
    std::vector<std::string> now;
    for (const auto& message : model->requests.back().messages)
      now.push_back(session::text_of(*message));
    ASSERT_LE(before.size(), now.size());
    if (!std::equal(before.begin(), before.end(), now.begin())) ++changes;
    before = std::move(now);
  }
  const auto results = [](const auto& messages, const auto& at) {
    std::size_t bytes = 0;
    for (const auto& message : messages)
      if (std::holds_alternative<session::ToolResultMessage>(at(message)))
        bytes += session::text_of(at(message)).size();
    return bytes;
  };
  const auto all = results(kept(), [](const session::Message& m) { return m; });
  const auto given =
      results(model->requests.back().messages, [](const session::MessagePtr& m) { return *m; });
  EXPECT_GE(all, 240'000U);
  EXPECT_LT(given, all / 4);
  EXPECT_GT(changes, 0U);
  EXPECT_LT(changes, 20U) << "a cache of the beginning stays good most of the time";
  EXPECT_GT(test::value_of(test::run(io, runtime.window_of(id()))).prunable, 10'000);
}

TEST_F(WindowTest, ARewindMaySummariseThePartItLeaves) {
  set_up(0, 32'000);
  turn("first");
  const auto place = transcript().entries().back().id;
  turn("try the blue one");
  turn("no, the red one");
  model->summary_words = "Blue and red were tried.";
  const auto told = test::run(io, compactions.rewind(request(), place));
  ASSERT_TRUE(told) << told.error().what;
  EXPECT_EQ(*told, "Blue and red were tried.");
  turn("go on");
  std::string given;
  for (const auto& message : model->requests.back().messages)
    given += session::text_of(*message) + ";";
  EXPECT_NE(given.find("first;"), std::string::npos);
  EXPECT_NE(given.find("Blue and red were tried."), std::string::npos);
  EXPECT_EQ(given.find("the blue one"), std::string::npos);
  // Without a summary nothing is written at all.
  model->summary_words = std::nullopt;
  const auto size = store.raw().at(id()).size();
  EXPECT_FALSE(test::run(io, compactions.rewind(request(), place)));
  EXPECT_EQ(store.raw().at(id()).size(), size);
  EXPECT_EQ(test::run(io, compactions.rewind(request(), {"nothere0"})).error().code,
            Errc::not_found);
  // When no entries are left behind, it is a plain rewind.
  const auto leaf = transcript().entries().back().id;
  EXPECT_EQ(test::value_of(test::run(io, compactions.rewind(request(), leaf))), "");
}

}  // namespace
}  // namespace reef::runtime
