// The places where compactions cut, and how much they cut.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "context/context.h"
#include "session/transcript.h"

namespace reef::context {
namespace {

using session::Entry;

// A branch under construction. Every unit of `tokens` is four characters.
class Branch {
 public:
  Branch& message(const session::Message& message) { return add(session::draft_message(message)); }
  Branch& add(session::Draft draft) {
    const auto id = fmt::format("e{}", entries_.size());
    entries_.push_back(std::make_unique<Entry>(
        session::make_entry(std::move(draft), session::EntryId{id}, std::nullopt, TimePoint())));
    return *this;
  }
  Branch& user(std::size_t tokens) {
    session::UserMessage message;
    message.content.push_back(session::TextBlock{std::string(tokens * 4, 'u')});
    return this->message(message);
  }
  Branch& agent(std::size_t tokens, std::vector<std::string> calls = {}) {
    session::AssistantMessage message;
    message.content.push_back(session::TextBlock{std::string(tokens * 4, 'a')});
    for (auto& id : calls) message.content.push_back(session::ToolCallBlock{id, "read", {}, {}});
    return this->message(message);
  }
  Branch& result(const std::string& id, std::size_t tokens) {
    session::ToolResultMessage message;
    message.tool_call_id = id;
    message.tool_name = "read";
    message.content.push_back(session::TextBlock{std::string(tokens * 4, 'r')});
    return this->message(message);
  }
  Branch& compaction(const std::string& first_kept) {
    return add({"compaction", {{"summary", "s"}, {"firstKeptEntryId", first_kept}}});
  }
  Branch& setting() { return add({"thinking_level_change", {{"thinkingLevel", "high"}}}); }

  std::optional<Cut> cut(std::int64_t keep, std::int64_t keep_max = INT64_MAX) const {
    std::vector<const Entry*> branch;
    for (const auto& entry : entries_) branch.push_back(entry.get());
    return choose_cut(branch, {keep, keep_max});
  }

 private:
  std::vector<std::unique_ptr<Entry>> entries_;
};

TEST(Cut, KeepsAboutTheWantedTokensFromTheEnd) {
  const auto cut = Branch().user(100).agent(100).user(100).agent(100).cut(150);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->begin, 0U);
  EXPECT_EQ(cut->first_kept, 2U);
  EXPECT_EQ(cut->turn_start, cut->first_kept);
}

TEST(Cut, ThroughATurnIsSaid) {
  const auto cut = Branch().user(100).agent(100).user(100).agent(100).agent(100).cut(150);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->first_kept, 3U);
  EXPECT_EQ(cut->turn_start, 2U);
}

TEST(Cut, NeverBetweenACallAndItsResult) {
  Branch branch;
  branch.user(10).agent(10, {"a", "b"}).result("a", 500).user(10).result("b", 500).agent(10);
  for (std::int64_t keep = 1; keep < 1200; keep += 7) {
    const auto cut = branch.cut(keep);
    if (!cut) continue;
    // The cut must be before the reply with the calls or after both of their results.
    EXPECT_TRUE(cut->first_kept == 1 || cut->first_kept == 5) << keep << ": " << cut->first_kept;
  }
}

TEST(Cut, NothingToReplaceIsNoCut) {
  EXPECT_FALSE(Branch().cut(100));
  EXPECT_FALSE(Branch().user(10).agent(10).cut(100));
  EXPECT_FALSE(Branch().setting().user(10).agent(10).cut(100));
}

TEST(Cut, StartsAtTheEntriesTheLastCompactionKept) {
  const auto cut =
      Branch().user(100).agent(100).user(100).agent(100).compaction("e2").user(100).agent(100).cut(
          150);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->begin, 2U) << "what was kept then is summarised now, not dropped";
  EXPECT_EQ(cut->first_kept, 5U);
}

TEST(Cut, SettingsBeforeTheKeptEntriesAreKept) {
  const auto cut = Branch().user(100).agent(100).setting().setting().user(100).agent(100).cut(150);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->first_kept, 2U);
}

TEST(Cut, AMessageLargerThanTheWindowIsNotKept) {
  const auto only = Branch().user(100'000).cut(20'000, 32'000);
  ASSERT_TRUE(only);
  EXPECT_EQ(only->first_kept, 1U) << "nothing is kept";
  const auto last = Branch().user(10).agent(10).user(100'000).agent(10).cut(20'000, 32'000);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->first_kept, 3U);
}

TEST(Cut, TrailingResultsBeyondTheBudgetDoNotKeepEverything) {
  const auto cut = Branch().user(10).agent(10).user(10).agent(10, {"a"}).result("a", 900).cut(500);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->first_kept, 5U) << "no place behind them: they go into the summary";
}

// REEF_PI_LARGE may name pi's large-session.jsonl. The figures are what pi 0.73.1 makes of it.
TEST(Cut, ARealSessionAsPiCutsIt) {
  const auto* path = std::getenv("REEF_PI_LARGE");
  if (!path) GTEST_SKIP() << "REEF_PI_LARGE does not name pi's large-session.jsonl";
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const session::Transcript transcript(session::read_transcript(bytes));
  const auto branch = transcript.branch();
  ASSERT_EQ(branch.size(), 1018U);

  const auto context = session::build_context(branch);
  EXPECT_EQ(context.items.size(), 914U);
  const auto tokens = count(context);
  EXPECT_EQ(tokens.total, 177'657);
  EXPECT_EQ(tokens.reported_at, 913U);
  std::int64_t sum = 0;
  for (const auto& item : context.items) sum += estimate(*item.message);
  EXPECT_EQ(sum, 124'661);

  const auto cut = choose_cut(branch, {});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->first_kept, 837U);
  EXPECT_EQ(cut->turn_start, 834U);
  const auto messages = [&](std::size_t from, std::size_t to) {
    return std::count_if(branch.begin() + static_cast<std::ptrdiff_t>(from),
                         branch.begin() + static_cast<std::ptrdiff_t>(to),
                         [](const Entry* entry) { return entry->type == "message"; });
  };
  EXPECT_EQ(messages(cut->begin, cut->turn_start), 730);
  EXPECT_EQ(messages(cut->turn_start, cut->first_kept), 3);
  const auto files = files_of(std::span(branch).subspan(0, cut->first_kept));
  EXPECT_EQ(files.read.size(), 21U);
  EXPECT_EQ(files.written.size(), 3U);
  EXPECT_EQ(files.edited.size(), 20U);
}

TEST(Estimate, CountsUtf16UnitsByFour) {
  const auto of = [](const std::string& text) {
    session::UserMessage message;
    message.content.push_back(session::TextBlock{text});
    return estimate(session::Message(message));
  };
  EXPECT_EQ(of(""), 0);
  EXPECT_EQ(of("abcd"), 1);
  EXPECT_EQ(of("abcde"), 2);
  EXPECT_EQ(of("日本語字"), 1);
  EXPECT_EQ(of("🌊🌊"), 1) << "two units each";
  EXPECT_EQ(of("🌊🌊🌊"), 2);
}

TEST(Estimate, APictureCountsWhereAToolMadeIt) {
  const session::ImageBlock image{"AAAA", "image/png"};
  session::UserMessage user;
  user.content.push_back(image);
  EXPECT_EQ(estimate(session::Message(user)), 0);
  session::ToolResultMessage result;
  result.content.push_back(image);
  EXPECT_EQ(estimate(session::Message(result)), 1200);
}

TEST(Estimator, LearnsFromReports) {
  Estimator estimator;
  const std::string text(4000, 'x');
  const auto first = estimator.estimate(weigh(text));
  for (int i = 0; i < 20; ++i) estimator.learn(weigh(text), first * 2);
  EXPECT_NEAR(static_cast<double>(estimator.estimate(weigh(text))), static_cast<double>(first * 2),
              static_cast<double>(first) * 0.02);
  EXPECT_EQ(estimator.lessons(), 20);
  EXPECT_LT(estimator.error(), 0.1) << "only the first was far off";
}

TEST(Estimator, NonsenseReportsDoNotDriveItMad) {
  Estimator estimator;
  const std::string text(4000, 'x');
  const auto first = estimator.estimate(weigh(text));
  estimator.learn(weigh(text), 1'000'000'000);
  estimator.learn(weigh(text), -5);
  estimator.learn(weigh(""), 10);
  EXPECT_LE(estimator.estimate(weigh(text)), first * 4 + 1);
  EXPECT_EQ(estimator.lessons(), 1);
}

}  // namespace
}  // namespace reef::context
