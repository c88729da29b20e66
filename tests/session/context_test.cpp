// The context of a model, built forwards and backwards by pi's rules.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "session/tail.h"
#include "session/transcript.h"

namespace reef::session {
namespace {

const std::string kFirstLine =
    R"({"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/x"})"
    "\n";

std::string entry(const std::string& type, const std::string& id, const std::string& parent,
                  const std::string& fields) {
  return fmt::format(
      R"({{"type":"{}","id":"{}","parentId":{},"timestamp":"2026-01-02T03:04:06.000Z"{}}})"
      "\n",
      type, id, parent.empty() ? "null" : "\"" + parent + "\"", fields);
}

std::string user(const std::string& id, const std::string& parent, const std::string& text) {
  return entry("message", id, parent,
               fmt::format(R"(,"message":{{"role":"user","content":"{}","timestamp":1}})", text));
}

std::string compaction(const std::string& id, const std::string& parent, const std::string& kept) {
  return entry(
      "compaction", id, parent,
      fmt::format(R"(,"summary":"SUM {}","firstKeptEntryId":"{}","tokensBefore":9)", id, kept));
}

std::string words(const Context& context) {
  std::string out;
  for (const auto& item : context.items) out += text_of(*item.message) + "|";
  return out;
}

Tail tail_of(const std::string& bytes) {
  return *read_tail(source_of(bytes));
}

TEST(Context, ACompactionReplacesTheEntriesBeforeTheFirstKept) {
  const auto bytes = kFirstLine + user("a", "", "one") + user("b", "a", "two") +
                     user("c", "b", "three") + compaction("k", "c", "c") + user("d", "k", "four");
  EXPECT_EQ(words(tail_of(bytes).context), "SUM k|three|four|");
}

std::string reply(const std::string& id, const std::string& parent, const std::string& who,
                  const std::string& content, const std::string& stop = "stop") {
  return entry(
      "message", id, parent,
      (who.empty() ? "" : fmt::format(R"(,"agent":"{}")", who)) +
          fmt::format(R"(,"message":{{"role":"assistant","content":{},"stopReason":"{}"}})",
                      content, stop));
}

TEST(Context, AGuestsWordsAreTaggedOnceAndItsThoughtsLeftOut) {
  const auto bytes =
      kFirstLine + user("a", "", "one") +
      reply("b", "a", "", R"([{"type":"text","text":"host"}])") +
      reply(
          "c", "b", "critic",
          R"([{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"text","text":"no"}])") +
      reply("d", "c", "a<b", R"([{"type":"text","text":"yes"}])") +
      reply("e", "d", "critic", R"([{"type":"text","text":"cut"}])", "aborted") +
      reply("f", "e", "critic", R"([{"type":"thinking","thinking":"only"}])");
  const auto context = tail_of(bytes).context;
  EXPECT_EQ(words(context), "one|host|no|yes|cut||") << "kept as it was said";
  std::string given;
  for (const auto& message : for_model(context)) {
    // Providers call this once more, so it must be idempotent.
    const auto again = for_model(message);
    ASSERT_TRUE(again);
    EXPECT_EQ(to_json(*again), to_json(*message));
    given += text_of(*message) + "|";
    if (const auto* said = std::get_if<AssistantMessage>(&*message))
      EXPECT_EQ(said->content.size(), 1U);
  }
  EXPECT_EQ(given,
            "one|host|<from agent=\"critic\">\nno\n</from>|"
            "<from agent=\"a&lt;b\">\nyes\n</from>|"
            "<from agent=\"critic\">\ncut\n\n[This answer was interrupted here.]\n</from>|");
}

TEST(Context, TheModelIsGivenTheShownPartOfACancelledReply) {
  const auto given = [](AssistantMessage reply) {
    reply.stop_reason = StopReason::aborted;
    const auto message = for_model(std::make_shared<const Message>(std::move(reply)));
    return message ? text_of(*message) : std::string("nothing");
  };
  AssistantMessage half;
  half.content.push_back(ThinkingBlock{"hm"});
  half.content.push_back(TextBlock{"The first half"});
  half.content.push_back(ToolCallBlock{"c", "bash", {}});
  EXPECT_EQ(given(half), "The first half\n\n[This answer was interrupted here.]");
  half.hidden = true;
  EXPECT_EQ(given(half), "nothing") << "nobody saw it";
  AssistantMessage thought;
  thought.content.push_back(ThinkingBlock{"hm"});
  EXPECT_EQ(given(thought), "nothing");
}

TEST(Context, AnEditedReplyOfAGuestIsStillTheGuests) {
  const auto bytes =
      kFirstLine + user("a", "", "one") +
      reply("b", "a", "critic", R"([{"type":"text","text":"no"}])") +
      entry("context_edit", "c", "b", R"(,"targetId":"b","replacement":{"content":"maybe"})");
  const auto given = for_model(tail_of(bytes).context);
  ASSERT_EQ(given.size(), 2U);
  EXPECT_EQ(text_of(*given[1]), "<from agent=\"critic\">\nmaybe\n</from>");
}

TEST(Context, AGuestsNameStandsBesideTheMessage) {
  AssistantMessage said;
  said.content.push_back(TextBlock{"no"});
  said.agent = "critic";
  const auto made = make_entry(draft_message(said), EntryId{"x"}, std::nullopt, TimePoint());
  EXPECT_EQ(json::find_string(made.body, "agent"), "critic");
  EXPECT_FALSE(json::find_object(made.body, "message")->contains("agent"));
  const auto read = message_of(made);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<AssistantMessage>(*read).agent, "critic");
  said.agent.clear();
  EXPECT_FALSE(draft_message(said).fields.contains("agent"));
}

TEST(Context, OnlyTheLastCompactionCounts) {
  const auto bytes = kFirstLine + user("a", "", "one") + compaction("k", "a", "a") +
                     user("b", "k", "two") + compaction("l", "b", "b") + user("c", "l", "three");
  EXPECT_EQ(words(tail_of(bytes).context), "SUM l|two|three|");
}

TEST(Context, ACompactionThatKeepsNothingNamesItself) {
  const auto bytes =
      kFirstLine + user("a", "", "one") + compaction("k", "a", "k") + user("b", "k", "two");
  EXPECT_EQ(words(tail_of(bytes).context), "SUM k|two|");
}

TEST(Context, AFirstKeptThatIsNotOnTheBranchKeepsNothing) {
  const auto bytes =
      kFirstLine + user("a", "", "one") + compaction("k", "a", "elsewhere") + user("b", "k", "two");
  EXPECT_EQ(words(tail_of(bytes).context), "SUM k|two|");
}

TEST(Context, OtherBranchesAreNotSeen) {
  const auto bytes = kFirstLine + user("a", "", "one") + user("b", "a", "left") +
                     user("c", "a", "right") + user("d", "c", "on");
  EXPECT_EQ(words(tail_of(bytes).context), "one|right|on|");
}

TEST(Context, SummariesNotesAndCommandsBecomeTheUsersWords) {
  const auto bytes =
      kFirstLine + user("a", "", "one") +
      entry("branch_summary", "b", "a", R"(,"summary":"tried it","fromId":"a")") +
      entry("custom_message", "c", "b", R"(,"customType":"n","content":"a note","display":true)") +
      entry("message", "d", "c",
            R"(,"message":{"role":"bashExecution","command":"ls","output":"x","exitCode":2})") +
      entry(
          "message", "e", "d",
          R"(,"message":{"role":"bashExecution","command":"pwd","output":"y","excludeFromContext":true})") +
      entry("custom", "f", "e", R"(,"customType":"state","data":{})");
  const auto context = tail_of(bytes).context;
  EXPECT_EQ(context.items.size(), 5U);
  std::string all;
  for (const auto& message : for_model(context)) {
    EXPECT_EQ(role_of(*message), "user");
    all += text_of(*message) + "|";
  }
  EXPECT_NE(all.find("tried it"), std::string::npos);
  EXPECT_NE(all.find("a note"), std::string::npos);
  EXPECT_NE(all.find("`ls`"), std::string::npos);
  EXPECT_NE(all.find("code 2"), std::string::npos);
  EXPECT_EQ(all.find("pwd"), std::string::npos);
}

TEST(Context, TheLastEditOfAMessageWins) {
  const auto bytes =
      kFirstLine + user("a", "", "one") + user("b", "a", "two") +
      entry("context_edit", "c", "b", R"(,"targetId":"a","replacement":null)") +
      entry("context_edit", "d", "c", R"(,"targetId":"b","replacement":{"content":"edited"})");
  EXPECT_EQ(words(tail_of(bytes).context), "edited|");
}

TEST(Context, ModelAndThinkingAreTheLastOnTheBranch) {
  const auto bytes =
      kFirstLine + entry("model_change", "a", "", R"(,"provider":"p","modelId":"m")") +
      entry("thinking_level_change", "b", "a", R"(,"thinkingLevel":"high")") +
      user("c", "b", "hi") +
      entry("message", "d", "c",
            R"(,"message":{"role":"assistant","content":[],"provider":"q","model":"n"})");
  const auto context = tail_of(bytes).context;
  ASSERT_TRUE(context.model);
  EXPECT_EQ(context.model->provider, "q");
  EXPECT_EQ(context.model->model, "n");
  EXPECT_EQ(context.thinking_level, "high");
}

TEST(Context, ExtendingAndBuildingAnewGiveTheSame) {
  const std::string lines[] = {user("a", "", "one"), user("b", "a", "two"),
                               entry("branch_summary", "c", "b", R"(,"summary":"s")"),
                               user("d", "c", "three")};
  std::string bytes = kFirstLine;
  Context extended;
  for (const auto& line : lines) {
    bytes += line;
    ASSERT_TRUE(extend_context(extended, *entry_from(json::parse(line)->as_object())));
    EXPECT_EQ(words(extended), words(tail_of(bytes).context));
  }
  EXPECT_FALSE(
      extend_context(extended, *entry_from(json::parse(compaction("k", "d", "d"))->as_object())));
}

TEST(Tail, ReadsOnlyTheEndOfALongSession) {
  std::string bytes = kFirstLine;
  std::string parent;
  for (int i = 0; i < 20'000; ++i) {
    const auto id = fmt::format("e{}", i);
    bytes += i == 19'900 ? compaction(id, parent, fmt::format("e{}", i - 10))
                         : user(id, parent, "some words to fill the line");
    parent = id;
  }
  const auto tail = tail_of(bytes);
  EXPECT_EQ(tail.context.items.size(), 1U + 10U + 99U);
  EXPECT_LT(tail.bytes_read, 200'000U);
  EXPECT_EQ(words(tail.context), words(read_tail_forwards(source_of(bytes))->context));
}

// Both directions must agree on random trees with every kind of damage.
TEST(Tail, BackwardsAndForwardsAgreeOnAnything) {
  SeededRandom random(20261115);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = random.below(20) == 0 ? "" : kFirstLine;
    const auto lines = random.below(12);
    for (std::uint64_t i = 0; i < lines; ++i) {
      const auto name = [&] { return fmt::format("e{}", random.below(lines + 1)); };
      const auto id = random.below(10) == 0 ? name() : fmt::format("e{}", i);
      const auto parent = random.below(4) == 0 ? name() : i == 0 ? "" : fmt::format("e{}", i - 1);
      switch (random.below(12)) {
        case 0:
          bytes += compaction(id, parent, name());
          break;
        case 1:
          bytes += "not json\n";
          break;
        case 2:
          bytes += entry("custom", id, parent, R"(,"customType":"x")");
          break;
        case 3:
          bytes += entry("context_edit", id, parent,
                         fmt::format(R"(,"targetId":"{}","replacement":null)", name()));
          break;
        case 4:
          bytes += R"({"type":"message","id":"no-parent","message":{"role":"user","content":"x"}})"
                   "\r\n";
          break;
        default:
          bytes += user(id, parent, fmt::format("w{}", i));
      }
    }
    if (random.below(5) == 0) bytes.resize(bytes.size() - random.below(bytes.size() + 1));
    const auto backwards = tail_of(bytes);
    const auto forwards = *read_tail_forwards(source_of(bytes));
    ASSERT_EQ(words(backwards.context), words(forwards.context)) << bytes;
    ASSERT_EQ(backwards.leaf, forwards.leaf) << bytes;
  }
}

}  // namespace
}  // namespace reef::session
