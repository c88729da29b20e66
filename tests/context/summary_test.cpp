// Facts that a summary must keep, pruning, and silent replies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "context/context.h"

namespace reef::context {
namespace {

using session::MessagePtr;

MessagePtr user(const std::string& text) {
  session::UserMessage message;
  message.content.push_back(session::TextBlock{text});
  return std::make_shared<const session::Message>(message);
}
MessagePtr agent(const std::string& text) {
  session::AssistantMessage message;
  message.content.push_back(session::TextBlock{text});
  return std::make_shared<const session::Message>(message);
}
MessagePtr result(const std::string& tool, const std::string& text) {
  session::ToolResultMessage message;
  message.tool_call_id = "c";
  message.tool_name = tool;
  message.content.push_back(session::TextBlock{text});
  return std::make_shared<const session::Message>(message);
}

std::vector<std::string> texts(const std::vector<Fact>& facts, Fact::Kind kind) {
  std::vector<std::string> out;
  for (const auto& fact : facts)
    if (fact.kind == kind) out.push_back(fact.text);
  return out;
}

TEST(Facts, RulesTasksAndFilesAreFound) {
  Files files;
  files.edited.insert("src/main.cpp");
  const auto facts = find_facts(
      {user("Hi there. Never push to main without asking! The weather is fine."),
       agent("Sure, I will always ask.\n- [ ] write the parser\n- [ ] test it"),
       user("My name is Ada Vale, call me Ada.\nTODO: rotate the key"), agent("- [x] test it")},
      files);
  EXPECT_EQ(texts(facts, Fact::Kind::rule),
            (std::vector<std::string>{"Never push to main without asking!",
                                      "My name is Ada Vale, call me Ada."}));
  EXPECT_EQ(texts(facts, Fact::Kind::task),
            (std::vector<std::string>{"write the parser", "rotate the key"}));
  EXPECT_EQ(texts(facts, Fact::Kind::file), (std::vector<std::string>{"src/main.cpp"}));
}

TEST(Facts, APhraseInsideAWordIsNone) {
  EXPECT_TRUE(find_facts({user("The mustard and the nevertheless are here.")}, {}).empty());
}

TEST(Facts, ASummaryThatSaysItInOtherWordsSaysIt) {
  const Fact fact{Fact::Kind::rule, "Always deploy with port 8443 from branch release-2"};
  EXPECT_TRUE(
      says("The user wants to always deploy on port 8443, from the branch release-2.", fact));
  EXPECT_FALSE(says("The user wants to always deploy from the branch release-2.", fact))
      << "the number is missing";
  EXPECT_FALSE(says("Port 8443 and release-2.", fact)) << "the rule is missing";
}

TEST(Facts, MissingFactsAreAppended) {
  const std::vector<Fact> facts = {{Fact::Kind::rule, "Never use tabs."},
                                   {Fact::Kind::task, "write the parser"},
                                   {Fact::Kind::file, "src/a.cpp"}};
  const auto summary = with_missing("## Goal\nwrite the parser\n", facts, 4096);
  EXPECT_EQ(summary,
            "## Goal\nwrite the parser\n\n## Kept word for word\n- user: Never use tabs.\n"
            "- changed file: src/a.cpp\n");
  EXPECT_EQ(with_missing(summary, facts, 4096), summary) << "nothing is said twice";
}

TEST(Facts, AreCarriedFromOneCompactionToTheNext) {
  const auto first = find_facts({user("Never use tabs."), agent("- [ ] write the parser")}, {});
  const auto kept = facts_from_json(to_json(first));
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].text, "Never use tabs.");
  EXPECT_EQ(kept[1].kind, Fact::Kind::task);
  const auto second = find_facts({agent("- [x] write the parser"), user("Call me Ada.")}, {}, kept);
  ASSERT_EQ(second.size(), 2U) << "the task is done";
  EXPECT_EQ(second[1].text, "Call me Ada.");
  EXPECT_TRUE(facts_from_json({1, "x", json::object{{"text", 5}}, json::object{}}).empty());
}

TEST(Facts, WhenThereIsNoRoomTheOldestRuleStays) {
  std::vector<Fact> facts{{Fact::Kind::rule, "Never deploy on Fridays."}};
  for (int i = 0; i < 500; ++i) {
    facts.push_back({Fact::Kind::rule, fmt::format("Always number {}", i)});
    facts.push_back({Fact::Kind::file, fmt::format("src/file{}.cpp", i)});
  }
  EXPECT_NE(with_missing("short", facts, 1000).find("Fridays"), std::string::npos);
}

TEST(Facts, TheListIsBounded) {
  std::vector<Fact> facts;
  for (int i = 0; i < 1000; ++i)
    facts.push_back({Fact::Kind::task, fmt::format("task number {}", i)});
  const auto summary = with_missing("short", facts, 1000);
  EXPECT_LE(summary.size(), 1010U);
  EXPECT_NE(summary.find("task number 999"), std::string::npos) << "the newest";
}

TEST(Summary, MustBeSmallerThanWhatItReplacesAndSaySomething) {
  EXPECT_TRUE(check_summary("short", 100));
  EXPECT_FALSE(check_summary(" \n\t", 100));
  const auto refused = check_summary(std::string(4000, 'x'), 100);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("1000 tokens and stands for 100"), std::string::npos);
}

TEST(Summary, TextComesInPiecesThatLoseNothing) {
  std::vector<MessagePtr> messages;
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const auto text =
        fmt::format("message {} {}", i, std::string(static_cast<std::size_t>(i * 37), 'y'));
    messages.push_back(user(text));
    all += "[user] " + text + "\n";
  }
  for (const std::size_t bytes : {1U, 16U, 300U, 100'000U}) {
    std::string joined;
    for (const auto& piece : as_text(messages, bytes)) {
      EXPECT_LE(piece.size(), std::max<std::size_t>(bytes, 4));
      joined += piece;
    }
    EXPECT_EQ(joined, all) << bytes;
  }
}

TEST(Summary, LongResultsAreCutAndSaySo) {
  const auto text = as_text({result("read", std::string(5000, 'z'))}, 100'000);
  ASSERT_EQ(text.size(), 1U);
  EXPECT_LT(text[0].size(), 2100U);
  EXPECT_NE(text[0].find("[... 3000 more bytes]"), std::string::npos);
}

TEST(Summary, AsksToUpdateWhatThereIs) {
  SummaryRequest request;
  request.conversation = "[user] hi";
  request.agent_prompt = "You are Coral.";
  request.instructions = "keep the API names";
  auto words = summary_words(request);
  EXPECT_NE(words.find("You are Coral."), std::string::npos);
  EXPECT_NE(words.find("keep the API names"), std::string::npos);
  EXPECT_EQ(words.find("<summary-so-far>"), std::string::npos);
  request.previous = "OLD";
  words = summary_words(request);
  EXPECT_NE(words.find("<summary-so-far>\nOLD"), std::string::npos);
}

std::vector<MessagePtr> tool_heavy(int turns) {
  std::vector<MessagePtr> out;
  for (int i = 0; i < turns; ++i) {
    out.push_back(user(fmt::format("turn {}", i)));
    out.push_back(agent("looking"));
    out.push_back(result("read", fmt::format("{}{}", i, std::string(8000, 'r'))));
    out.push_back(agent("done"));
  }
  return out;
}

TEST(Prune, LeavesSmallContextsAlone) {
  const auto messages = tool_heavy(3);
  const auto pruned = prune(messages, 200'000, {}, {});
  EXPECT_EQ(pruned.messages, messages);
  EXPECT_EQ(pruned.saved, 0);
}

TEST(Prune, ShortensOldResultsAndKeepsTheNewest) {
  const auto messages = tool_heavy(10);
  const auto pruned = prune(messages, 50'000, {}, {});
  EXPECT_GT(pruned.saved, 0);
  EXPECT_NE(session::text_of(*pruned.messages[2]).find("[shortened: the result had 8001 bytes]"),
            std::string::npos);
  EXPECT_EQ(pruned.messages.back(), messages.back());
  EXPECT_EQ(pruned.messages[38], messages[38]) << "the last result";
  EXPECT_EQ(pruned.messages.size(), messages.size()) << "every call keeps a result";
}

TEST(Prune, TheBeginningStaysTheSameBetweenPrunings) {
  PruneState state;
  std::vector<std::string> before;
  int changes = 0;
  for (int turns = 1; turns < 60; ++turns) {
    const auto pruned = prune(tool_heavy(turns), 60'000, {}, state);
    state = pruned.state;
    std::vector<std::string> now;
    for (const auto& message : pruned.messages) now.push_back(session::text_of(*message));
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i] != now[i]) {
        ++changes;
        break;
      }
    before = std::move(now);
  }
  EXPECT_GT(changes, 0);
  EXPECT_LT(changes, 30) << "a cache would never be used";
}

TEST(Prune, ProtectedToolsAndPicturesAreKept) {
  auto messages = tool_heavy(10);
  session::ToolResultMessage picture;
  picture.tool_name = "read";
  picture.content.push_back(session::ImageBlock{"AAAA", "image/png"});
  messages[2] = std::make_shared<const session::Message>(picture);
  messages[6] = result("ask_user", std::string(9000, 'q'));
  PruneRules rules;
  rules.protected_tools = {"ask_user"};
  const auto pruned = prune(messages, 10'000, rules, {});
  EXPECT_EQ(pruned.messages[2], messages[2]);
  EXPECT_EQ(pruned.messages[6], messages[6]);
  EXPECT_EQ(session::text_of(*pruned.messages[10]),
            "[an old result, left out; call the tool again if needed]");
}

std::string through_gate(std::string_view reply, std::size_t split, std::size_t split_2,
                         bool& silent) {
  SilentGate gate;
  std::string out = gate.take(reply.substr(0, split));
  out += gate.take(reply.substr(split, split_2 - split));
  out += gate.take(reply.substr(split_2));
  out += gate.finish();
  silent = gate.silent();
  return out;
}

TEST(Silent, EverySplitOfEveryReplyIsJudgedTheSame) {
  const std::vector<std::pair<std::string, bool>> replies = {
      {"NO_REPLY", true},     {"NO_REPLY.", true},    {"NO_REPLY\nnothing new", true},
      {"NO_REPLYING", false}, {"no_reply", false},    {" NO_REPLY", false},
      {"NO", false},          {"NO_REPL", false},     {"", false},
      {"NO_REPLY_2", false},  {"NO_REPLYé", false},   {"No, thanks", false},
      {"NO_REASON", false},   {"Say NO_REPLY", false}};
  for (const auto& [reply, silent] : replies) {
    EXPECT_EQ(is_silent(reply), silent) << reply;
    for (std::size_t a = 0; a <= reply.size(); ++a)
      for (std::size_t b = a; b <= reply.size(); ++b) {
        bool judged = false;
        const auto shown = through_gate(reply, a, b, judged);
        EXPECT_EQ(judged, silent) << reply << " at " << a << ", " << b;
        EXPECT_EQ(shown, silent ? "" : reply) << reply << " at " << a << ", " << b;
      }
  }
}

TEST(Silent, HoldsBackNoMoreThanItMust) {
  SilentGate gate;
  EXPECT_EQ(gate.take("NO_"), "");
  EXPECT_EQ(gate.take("W"), "NO_W");
  EXPECT_EQ(gate.take("NO_REPLY"), "NO_REPLY");
}

}  // namespace
}  // namespace reef::context
