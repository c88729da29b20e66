#include "model/conversation.h"

#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "base/overload.h"
#include "base/utf8.h"
#include "model/histories.h"

namespace reef::model {
namespace {

using test::assistant_says;
using test::calls;
using test::result_of;
using test::user_says;

// The conversation as text: one line for each turn, one word for each piece.
std::string outline(const Conversation& conversation) {
  std::string out;
  for (const auto& turn : conversation.turns) {
    out += turn.role == Turn::Role::user ? "user:" : "assistant:";
    for (const auto& piece : turn.pieces)
      out += std::visit(
          Overload{
              [](const TextPiece& p) { return " '" + p.text + "'"; },
              [](const ThinkingPiece& p) { return " thinks(" + p.thinking + p.signature + ")"; },
              [](const ImagePiece&) { return std::string(" image"); },
              [](const CallPiece& p) { return " " + p.name + "#" + p.id; },
              [](const ResultPiece& p) {
                std::string text = (p.is_error ? " error#" : " result#") + p.id + "(";
                for (const auto& part : p.content)
                  text += std::holds_alternative<TextPiece>(part) ? std::get<TextPiece>(part).text
                                                                  : "image";
                return text + ")";
              },
          },
          piece);
    out += "\n";
  }
  return out;
}

Request request_of(std::vector<session::MessagePtr> messages) {
  Request request;
  request.model = "m";
  request.messages = std::move(messages);
  return request;
}

std::string prepared(std::vector<session::MessagePtr> messages, const ConversationRules& rules = {},
                     const ModelFacts& facts = {}) {
  return outline(prepare(request_of(std::move(messages)), facts, rules));
}

TEST(Conversation, MergesConsecutiveRoles) {
  EXPECT_EQ(prepared({user_says("a"), user_says("b"), assistant_says({session::TextBlock{"c"}}),
                      assistant_says({session::TextBlock{"d"}}), user_says("e")}),
            "user: 'a' 'b'\nassistant: 'c' 'd'\nuser: 'e'\n");
}

TEST(Conversation, PairsEveryCallWithItsResult) {
  EXPECT_EQ(prepared({user_says("go"), assistant_says({calls("1", "ls"), calls("2", "cat")}),
                      result_of("2", "two"), user_says("and?"), result_of("1", "one", true)}),
            "user: 'go'\nassistant: ls#1 cat#2\nuser: error#1(one) result#2(two) 'and?'\n");
}

TEST(Conversation, ACallWithoutAResultWasInterrupted) {
  EXPECT_EQ(prepared({user_says("go"), assistant_says({calls("1", "ls")}), user_says("well?")}),
            "user: 'go'\nassistant: ls#1\nuser: error#1(Interrupted: this call was not finished "
            "and has no result.) 'well?'\n");
}

TEST(Conversation, DropsResultsNobodyAskedFor) {
  EXPECT_EQ(prepared({result_of("1", "early"), user_says("go"), assistant_says({calls("1", "ls")}),
                      result_of("1", "right"), result_of("1", "again"), result_of("9", "who")}),
            "user: 'go'\nassistant: ls#1\nuser: result#1(right)\n");
}

TEST(Conversation, IdsThatComeAgainAreToldApart) {
  EXPECT_EQ(prepared({user_says("go"), assistant_says({calls("c", "ls")}), result_of("c", "one"),
                      assistant_says({calls("c", "ls"), calls("c", "ls")}), result_of("c", "two"),
                      result_of("c", "three")}),
            "user: 'go'\nassistant: ls#c\nuser: result#c(one)\nassistant: ls#c2 ls#c3\n"
            "user: result#c2(two) result#c3(three)\n");
}

TEST(Conversation, IdsAndNamesKeepTheRule) {
  ConversationRules rules;
  rules.id = NameRule{"", 9, false};
  rules.name = NameRule{"_", 12, true};
  EXPECT_EQ(prepared({user_says("go"), assistant_says({calls("toolu_01ABCDEF", "mcp.git.status!")}),
                      result_of("toolu_01ABCDEF", "x")},
                     rules),
            "user: 'go'\nassistant: mcp_git_stat#toolu01AB\nuser: result#toolu01AB(x)\n");
}

TEST(Conversation, AFailedReplyGoesWithItsResults) {
  auto failed = std::get<session::AssistantMessage>(*assistant_says({calls("1", "ls")}));
  failed.stop_reason = session::StopReason::aborted;
  EXPECT_EQ(prepared({user_says("go"), assistant_says({calls("1", "cat")}), user_says("stop"),
                      std::make_shared<const session::Message>(failed), result_of("1", "late")}),
            "user: 'go'\nassistant: cat#1\nuser: error#1(Interrupted: this call was not finished "
            "and has no result.) 'stop'\n");
}

TEST(Conversation, ThoughtsGoOnlyToWhoHadThem) {
  const std::vector<session::Block> content = {session::ThinkingBlock{"hm", "S"},
                                               session::ThinkingBlock{"unsigned"},
                                               session::TextBlock{"so"}};
  ConversationRules rules;
  rules.api = "mine";
  rules.thoughts = Thoughts::own_signed;
  const auto given = [&](std::string api, std::string model) {
    return prepared(
        {user_says("a"), assistant_says(content, std::move(api), std::move(model)), user_says("b")},
        rules);
  };
  EXPECT_EQ(given("mine", "m"), "user: 'a'\nassistant: thinks(hmS) 'so'\nuser: 'b'\n");
  EXPECT_EQ(given("mine", "m-20260101"), given("mine", "m"));
  EXPECT_EQ(given("mine", "m-2"), "user: 'a'\nassistant: 'so'\nuser: 'b'\n");
  EXPECT_EQ(given("other", "m"), "user: 'a'\nassistant: 'so'\nuser: 'b'\n");
  rules.thoughts = Thoughts::own;
  EXPECT_EQ(given("mine", "m"),
            "user: 'a'\nassistant: thinks(hmS) thinks(unsigned) 'so'\nuser: 'b'\n");
  rules.thoughts = Thoughts::none;
  EXPECT_EQ(given("mine", "m"), "user: 'a'\nassistant: 'so'\nuser: 'b'\n");
}

TEST(Conversation, AModelHasSeveralNames) {
  EXPECT_TRUE(same_model("claude-3-7-sonnet-latest", "claude-3-7-sonnet-20250219"));
  EXPECT_TRUE(same_model("gpt-4o-2024-08-06", "gpt-4o"));
  EXPECT_FALSE(same_model("claude-opus-4-20250514", "claude-opus-4-1-20250805"));
  EXPECT_FALSE(same_model("m-20250101", "m-20240101"));
  EXPECT_FALSE(same_model("", "-20250101"));
}

TEST(Conversation, ASignedCallKeepsItsSignatureAtHome) {
  session::AssistantMessage reply;
  reply.content.push_back(session::ToolCallBlock{"1", "ls", {}, "SIG"});
  reply.api = "mine";
  reply.model = "m";
  ConversationRules rules;
  const auto signature = [&] {
    const auto out = prepare(
        request_of({user_says("a"), std::make_shared<const session::Message>(reply)}), {}, rules);
    return std::get<CallPiece>(out.turns.at(1).pieces.at(0)).signature;
  };
  rules.api = "mine";
  EXPECT_EQ(signature(), "SIG");
  rules.api = "theirs";
  EXPECT_EQ(signature(), "");
}

TEST(Conversation, ImagesTheModelCannotSeeBecomeANote) {
  session::UserMessage user;
  user.content.push_back(session::ImageBlock{"iVBORw0KGgo=", "image/png"});
  const auto message = std::make_shared<const session::Message>(user);
  EXPECT_EQ(prepared({message}), "user: image\n");
  ModelFacts blind;
  blind.images = false;
  EXPECT_EQ(prepared({message}, {}, blind),
            "user: '(An image, image/png, is not shown: this model takes no images.)'\n");
}

TEST(Conversation, ImagesOfResultsFollowThemWhereResultsAreText) {
  session::ToolResultMessage result;
  result.tool_call_id = "1";
  result.content.push_back(session::TextBlock{"done"});
  result.content.push_back(session::ImageBlock{"iVBORw0KGgo=", "image/png"});
  ConversationRules rules;
  const std::vector<session::MessagePtr> history = {
      user_says("a"), assistant_says({calls("1", "shot"), calls("2", "ls")}),
      std::make_shared<const session::Message>(result), result_of("2", "x")};
  EXPECT_EQ(prepared(history, rules),
            "user: 'a'\nassistant: shot#1 ls#2\nuser: result#1(doneimage) result#2(x)\n");
  rules.images_in_results = false;
  EXPECT_EQ(prepared(history, rules),
            "user: 'a'\nassistant: shot#1 ls#2\nuser: result#1(done(An image, which follows the "
            "results.)) result#2(x) '(The image of the result of shot:)' image\n");
}

TEST(Conversation, CallsBecomeTextForAModelWithoutTools) {
  ModelFacts facts;
  facts.tools = false;
  const std::vector<session::MessagePtr> history = {
      user_says("a"), assistant_says({calls("1", "ls", {{"p", 1}})}), result_of("1", "x")};
  EXPECT_EQ(prepared(history, {}, facts),
            "user: 'a'\nassistant: '(called the tool ls with {\"p\":1})'\n"
            "user: '(result of the tool ls)\nx'\n");
  ConversationRules rules;
  rules.calls_need_tools = true;
  EXPECT_EQ(prepared(history, rules), prepared(history, {}, facts));
}

TEST(Conversation, TheUserHasTheFirstAndTheLastWord) {
  EXPECT_EQ(prepared({assistant_says({session::TextBlock{"hello"}})}),
            "user: '(The conversation begins with the assistant's words.)'\nassistant: 'hello'\n"
            "user: 'Continue.'\n");
  ConversationRules free;
  free.user_first = free.user_last = false;
  EXPECT_EQ(prepared({assistant_says({session::TextBlock{"hello"}})}, free),
            "assistant: 'hello'\n");
  EXPECT_EQ(prepared({}), "user: 'Continue.'\n");
}

TEST(Conversation, WordsOfProgramsAndCommandsBecomeTheUsers) {
  session::BashMessage bash;
  bash.command = "ls";
  bash.output = "notes";
  session::SummaryMessage summary;
  summary.summary = "We spoke.";
  session::CustomMessage note;
  note.content.push_back(session::TextBlock{"It is Monday."});
  auto hidden = bash;
  hidden.exclude_from_context = true;
  const auto message = [](auto m) { return std::make_shared<const session::Message>(m); };
  EXPECT_EQ(prepared({message(summary), message(bash), message(hidden), message(note)}),
            "user: 'What was said before this point, in summary:\n\n<summary>\nWe spoke.\n"
            "</summary>' 'I ran `ls`.\n```\nnotes\n```' 'It is Monday.'\n");
}

TEST(ToolNames, AreDifferentAndComeBack) {
  const std::vector<Tool> tools = {
      {"a.b", "", {}}, {"a_b", "", {}}, {"a b", "", {}}, {"9", "", {}}, {"a.b", "", {}}};
  const ToolNames names(tools, NameRule{"_", 8, true});
  std::set<std::string> seen;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto api = names.to_api(tools[i].name);
    EXPECT_TRUE(seen.insert(api).second) << api;
    EXPECT_EQ(names.from_api(api), tools[i].name);
  }
  EXPECT_EQ(names.to_api("a_b"), "a_b");
  EXPECT_EQ(names.from_api("made_up"), "made_up");
}

void check_name(const std::string& name, const NameRule& rule) {
  ASSERT_FALSE(name.empty());
  ASSERT_LE(name.size(), rule.length_max);
  for (const char c : name)
    ASSERT_TRUE((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                rule.also.find(c) != std::string_view::npos)
        << name;
  if (rule.letter_first) ASSERT_FALSE(name[0] >= '0' && name[0] <= '9') << name;
}

void check_text(const std::string& text) {
  ASSERT_TRUE(utf8::valid(text));
  ASSERT_NE(text.find_first_not_of(" \t\r\n"), std::string::npos);
}

// Checks the promises of conversation.h, taken literally.
void check(const Conversation& conversation, const ConversationRules& rules,
           const ModelFacts& facts, bool tools_given) {
  const auto& turns = conversation.turns;
  ASSERT_FALSE(turns.empty());
  if (rules.user_first) ASSERT_EQ(turns.front().role, Turn::Role::user);
  if (rules.user_last) ASSERT_EQ(turns.back().role, Turn::Role::user);
  std::set<std::string> ids;
  std::vector<std::pair<std::string, std::string>> open;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const auto& turn = turns[i];
    ASSERT_FALSE(turn.pieces.empty());
    if (i > 0) ASSERT_NE(turn.role, turns[i - 1].role);
    const bool user = turn.role == Turn::Role::user;
    std::vector<std::pair<std::string, std::string>> made;
    std::size_t answered = 0;
    for (std::size_t j = 0; j < turn.pieces.size(); ++j) {
      const auto& piece = turn.pieces[j];
      if (const auto* text = std::get_if<TextPiece>(&piece)) {
        check_text(text->text);
      } else if (const auto* thought = std::get_if<ThinkingPiece>(&piece)) {
        ASSERT_FALSE(user);
        ASSERT_NE(rules.thoughts, Thoughts::none);
        ASSERT_LT(j + 1, turn.pieces.size());
        if (rules.thoughts == Thoughts::own_signed) ASSERT_FALSE(thought->signature.empty());
      } else if (const auto* image = std::get_if<ImagePiece>(&piece)) {
        ASSERT_TRUE(user && facts.images);
        ASSERT_FALSE(image->data.empty());
      } else if (const auto* call = std::get_if<CallPiece>(&piece)) {
        ASSERT_FALSE(user);
        ASSERT_TRUE(facts.tools && (tools_given || !rules.calls_need_tools));
        check_name(call->id, rules.id);
        check_name(call->name, rules.name);
        ASSERT_TRUE(ids.insert(call->id).second);
        made.emplace_back(call->id, call->name);
      } else {
        const auto& result = std::get<ResultPiece>(piece);
        ASSERT_TRUE(user);
        ASSERT_EQ(j, answered) << "results come first";
        ASSERT_LT(answered, open.size());
        ASSERT_EQ(std::pair(result.id, result.name), open[answered]);
        ++answered;
        ASSERT_FALSE(result.content.empty());
        for (const auto& part : result.content) {
          if (const auto* words = std::get_if<TextPiece>(&part)) {
            check_text(words->text);
          } else {
            ASSERT_TRUE(facts.images && rules.images_in_results);
          }
        }
      }
    }
    ASSERT_EQ(answered, open.size());
    open = std::move(made);
  }
  ASSERT_TRUE(open.empty() || !rules.user_last);
  std::set<std::string> names;
  for (const auto& tool : conversation.tools) {
    check_name(tool.name, rules.name);
    ASSERT_TRUE(names.insert(tool.name).second);
  }
  if (conversation.tool_choice.mode == ToolChoice::Mode::named)
    ASSERT_TRUE(names.contains(conversation.tool_choice.name));
  if (names.empty()) ASSERT_EQ(conversation.tool_choice.mode, ToolChoice::Mode::automatic);
}

TEST(Conversation, IsValidWhateverWasSaid) {
  const char* given = std::getenv("REEF_SEED");
  const auto first = given ? std::strtoull(given, nullptr, 10) : 1;
  constexpr std::uint64_t kHistories = 3000;
  const std::vector<std::string> apis = {"mine", "theirs", ""};

  std::vector<ConversationRules> all;
  for (const auto thoughts : {Thoughts::none, Thoughts::own_signed, Thoughts::own})
    for (const unsigned bits : {0U, 1U, 2U, 3U}) {
      ConversationRules rules;
      rules.api = "mine";
      rules.thoughts = thoughts;
      rules.id = bits % 2 == 0 ? NameRule{"_-", 40, false} : NameRule{"", 9, false};
      rules.name = bits % 2 == 0 ? NameRule{"_-", 64, false} : NameRule{"_", 24, true};
      rules.images_in_results = bits < 2;
      rules.calls_need_tools = bits % 2 == 1;
      rules.user_first = bits != 3;
      rules.user_last = bits != 2;
      if (bits == 1) rules.image_types = kCommonImageTypes;
      all.push_back(rules);
    }

  for (auto seed = first; seed < first + kHistories; ++seed) {
    const auto request = test::random_request(seed, apis);
    ModelFacts facts;
    facts.images = seed % 4 != 1;
    facts.tools = seed % 4 != 2;
    for (const auto& rules : all) {
      const auto conversation = prepare(request, facts, rules);
      check(conversation, rules, facts, !request.tools.empty());
      ASSERT_FALSE(HasFatalFailure()) << "REEF_SEED=" << seed << "\n" << outline(conversation);
    }
  }
}

}  // namespace
}  // namespace reef::model
