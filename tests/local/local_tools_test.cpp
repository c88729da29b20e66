// The local provider with tools: what it calls, and what it makes of the answers.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "local/found.h"
#include "local/intent.h"
#include "local/local.h"
#include "local/words.h"

namespace reef::local {
namespace {

class LocalToolsTest : public testing::Test {
 protected:
  LocalToolsTest() {
    request.tools = {
        {"forget", "", {}}, {"recall", "", {}}, {"remember", "", {}}, {"search_sessions", "", {}}};
  }

  template <class Message>
  void add(Message message) {
    request.messages.push_back(std::make_shared<const session::Message>(std::move(message)));
  }
  void user(const std::string& text) {
    session::UserMessage message;
    message.content.push_back(session::TextBlock{text});
    add(std::move(message));
  }
  // Returns the reply's calls as "tool{arguments}" words and answers them in order.
  std::string calls(const std::vector<std::string>& answers, bool failed = false) {
    const auto reply = local_reply(request);
    EXPECT_EQ(reply.text, "");
    session::AssistantMessage message;
    std::string out;
    for (const auto& call : reply.calls) {
      out += call.name + json::write(call.arguments) + " ";
      message.content.push_back(call);
    }
    add(std::move(message));
    for (std::size_t i = 0; i < reply.calls.size() && i < answers.size(); ++i) {
      session::ToolResultMessage result;
      result.tool_call_id = reply.calls[i].id;
      result.tool_name = reply.calls[i].name;
      result.is_error = failed;
      result.content.push_back(session::TextBlock{answers[i]});
      add(std::move(result));
    }
    return out;
  }
  std::string said() {
    const auto reply = local_reply(request);
    EXPECT_TRUE(reply.calls.empty());
    return reply.text;
  }

  model::Request request;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr auto kFound =
    "## Watering\nsession: 260302-old-pump · agent: reef · sender: user\n"
    "updated: 2026-03-02T11:00:00.000Z · matched message #0 · said: 2026-03-02T10:00:00.000Z\n"
    "- [user #0] How do I mend the greenhouse pump?\n- [assistant #1] Replace the rubber seal.\n"
    "---\n## (untitled)\nsession: 260105-calm-boat · agent: reef · sender: user\n"
    "updated: 2026-01-05T11:00:00.000Z · matched message #3 · said: 2026-01-05T10:00:00.000Z\n"
    "- [user #3] The pump of the boat is new\n";

TEST_F(LocalToolsTest, AQuestionIsLookedUpAndAnsweredWithSessionAndDate) {
  user("What did we say about the greenhouse pump?");
  EXPECT_EQ(
      calls({kFound, "## pump\nthe greenhouse pump is a Grundig"}),
      R"(search_sessions{"query":"the greenhouse pump","limit":12} recall{"query":"the greenhouse pump"} )");
  const auto answer = said();
  EXPECT_TRUE(has(answer, "note 'pump': \"the greenhouse pump is a Grundig\"")) << answer;
  EXPECT_TRUE(has(answer,
                  "2026-03-02, session 260302-old-pump (Watering): \"How do I mend the "
                  "greenhouse pump?\"\n  answered: \"Replace the rubber seal.\""))
      << answer;
  EXPECT_TRUE(has(answer, "not a language model"));
}

TEST_F(LocalToolsTest, AWeakMatchIsNotQuoted) {
  user("Which colour has the greenhouse roof in summer?");
  calls({kFound, "no memories found"});
  EXPECT_TRUE(has(said(), "Nothing I know answers that")) << said();
}

TEST_F(LocalToolsTest, ItQuotesNeitherItselfNorToolsNorQuestionsWithoutAnswer) {
  user("Where is the greenhouse pump?");
  calls(
      {"## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #2 · said: 2026-03-02T10:00:00.000Z\n"
       "- [tool:bash #2] greenhouse pump\n---\n"
       "## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #3 · said: 2026-03-02T10:00:00.000Z\n"
       "- [assistant #3] greenhouse pump (Quoted by Reef's local provider, not a language model.)\n"
       "---\n## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #4 · said: 2026-03-02T10:00:00.000Z\n"
       "- [user #4] Where is the greenhouse pump?\n",
       "no memories found"});
  EXPECT_TRUE(has(said(), "Nothing I know answers that")) << said();
}

// An earlier conversation of this provider as search_sessions shows it, found at message `matched`.
std::string own_talk(int matched, const std::string& lines) {
  return "## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
         "updated: 2026-03-02T11:00:00.000Z · matched message #" +
         std::to_string(matched) + " · said: 2026-03-02T10:00:00.000Z\n" + lines;
}

constexpr auto kLookedUp =
    "- [tool:search_sessions #3] search_sessions Where is the spare key 12 recall Where is the "
    "spare key\n"
    "- [tool:search_sessions #4] the spare key, of a search\n"
    "- [tool:recall #5] the spare key, of a memory\n"
    "- [assistant #6] From this conversation: message 1: \"The spare key is under the …\n";

TEST_F(LocalToolsTest, ItsOwnLookUpsAreNoAnswers) {
  user("Where is the spare key?");
  calls({own_talk(2,
                  "- [user #0] The spare key is under the flowerpot\n- [assistant #1] Noted. I "
                  "am Reef's local provider, not a language model.\n"
                  "- [user #2] Where is the spare key?\n" +
                      std::string(kLookedUp)),
         "no memories found"});
  const auto answer = said();
  EXPECT_TRUE(has(answer, "session 260302-old-pump (x): \"The spare key is under the flowerpot\""))
      << answer;
  EXPECT_FALSE(has(answer, "answered:")) << answer;
  EXPECT_FALSE(has(answer, "Where is")) << answer;
}

TEST_F(LocalToolsTest, AQuestionNobodyButItAnsweredIsNoPassage) {
  for (const auto* next :
       {"", "- [user #7] Where is the spare key, I said\n", "- [user #7] Find the spare key\n"}) {
    request.messages.clear();
    user("Where is the spare key?");
    calls({own_talk(2, "- [user #2] Where is the spare key?\n" + std::string(kLookedUp) + next),
           "no memories found"});
    EXPECT_FALSE(has(said(), "\"Where is the spare key?\"")) << said();
    EXPECT_FALSE(has(said(), "answered:")) << said();
  }
}

TEST_F(LocalToolsTest, AModelsAnswerIsFoundBehindItsCalls) {
  user("Where is the spare key?");
  calls({own_talk(2,
                  "- [user #2] Where is the spare key?\n"
                  "- [assistant:recall #3] Let me look. recall spare key\n"
                  "- [tool:recall #4] no memories found\n"
                  "- [assistant #5] Under the flowerpot, I believe.\n"),
         "no memories found"});
  EXPECT_TRUE(
      has(said(), "\"Where is the spare key?\"\n  answered: \"Under the flowerpot, I believe.\""))
      << said();
}

TEST_F(LocalToolsTest, TitlesAreNotWordsAndSummariesAre) {
  user("Where is the greenhouse pump?");
  calls(
      {"## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched the title · said: 2026-03-02T10:00:00.000Z\n"
       "- [title] greenhouse pump\n---\n"
       "## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #2 · said: 2026-03-02T10:00:00.000Z\n"
       "- [title] greenhouse pump\n- [user #2] The greenhouse pump is behind the door\n---\n"
       "## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched the summary · said: 2026-03-02T10:00:00.000Z\n"
       "- [summary] The greenhouse pump was mended\n",
       "no memories found"});
  const auto answer = said();
  EXPECT_TRUE(has(answer, "\"The greenhouse pump is behind the door\"")) << answer;
  EXPECT_TRUE(has(answer, "\"The greenhouse pump was mended\"")) << answer;
  EXPECT_FALSE(has(answer, "\"greenhouse pump\"")) << answer;
}

TEST_F(LocalToolsTest, FailuresAreSaid) {
  user("Where is the greenhouse?");
  calls({"disk on fire", "disk on fire"}, true);
  EXPECT_TRUE(has(said(), "could not be searched: disk on fire")) << said();
}

TEST_F(LocalToolsTest, AQuestionIsAnsweredWhateverIsSaidAroundIt) {
  user("Where did I put the spare key for the garden shed again, can you tell me?");
  calls(
      {"## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #2 · said: 2026-03-02T10:00:00.000Z\n"
       "- [user #2] The spare key is under the flowerpot\n",
       "no memories found"});
  EXPECT_TRUE(has(said(), "\"The spare key is under the flowerpot\"")) << said();
}

TEST_F(LocalToolsTest, APassageWithTheTellingWordsIsTheNearest) {
  user("What time does the train to Lyon leave tomorrow morning from the main station?");
  calls(
      {"## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #2 · said: 2026-03-02T10:00:00.000Z\n"
       "- [user #2] Breakfast tomorrow morning\n---\n"
       "## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #4 · said: 2026-03-02T10:00:00.000Z\n"
       "- [user #4] Every morning at eight\n",
       "## tickets\nLyon train at 8:14, tickets are in the drawer"});
  const auto answer = said();
  EXPECT_TRUE(has(answer, "The nearest I found:\nnote 'tickets'")) << answer;
  EXPECT_FALSE(has(answer, "Every morning")) << "one word of many is chance: " << answer;
}

TEST_F(LocalToolsTest, WordsThatAreInEveryQuestionMatchNothing) {
  user("Can you tell me again what I know about zebras?");
  calls(
      {"## x\nsession: 260302-old-pump · agent: reef · sender: user\n"
       "updated: 2026-03-02T11:00:00.000Z · matched message #2 · said: 2026-03-02T10:00:00.000Z\n"
       "- [user #2] Tell the neighbours, they know it again\n",
       "## again\ntell them what you know"});
  EXPECT_TRUE(has(said(), "Nothing I know answers that")) << said();
}

TEST_F(LocalToolsTest, RemembersWhatItIsToldTo) {
  user("Please remember that the deploy key is in the blue vault.");
  EXPECT_EQ(calls({"no memories found"}), R"(recall{"query":"deploy key blue vault","limit":20} )");
  EXPECT_EQ(
      calls({"remembered: deploy key blue vault"}),
      R"(remember{"name":"deploy key blue vault","content":"the deploy key is in the blue vault"} )");
  EXPECT_TRUE(has(said(), "I will remember: \"the deploy key is in the blue vault\"")) << said();
}

// A memory that works as the memory tools do: `remember` adds or replaces.
class LocalMemoryTest : public LocalToolsTest {
 protected:
  // Says the text and makes the provider's calls until there is an answer.
  std::string tell(const std::string& text) {
    user(text);
    for (int step = 0; step < 10; ++step) {
      const auto reply = local_reply(request);
      if (reply.calls.empty()) return reply.text;
      session::AssistantMessage message;
      for (const auto& call : reply.calls) message.content.push_back(call);
      add(std::move(message));
      for (const auto& call : reply.calls) do_call(call);
    }
    ADD_FAILURE() << "no answer to: " << text;
    return {};
  }

  void do_call(const session::ToolCallBlock& call) {
    const auto name = std::string(json::find_string(call.arguments, "name").value_or(""));
    session::ToolResultMessage result;
    result.tool_call_id = call.id;
    result.tool_name = call.name;
    std::string text = "no sessions found";
    if (call.name == "remember") {
      const auto alias = aliases.find(name);
      notes[alias == aliases.end() ? name : alias->second] =
          json::find_string(call.arguments, "content").value();
      text = "remembered: " + name;
    } else if (call.name == "forget") {
      const auto alias = aliases.find(name);
      const auto real = alias == aliases.end() ? name : alias->second;
      result.is_error = true;
      if (archives.contains(name))
        text = "'" + name + "' (archive) is not a note: it is kept as it is";
      else if (notes.erase(real) == 0)
        text = "no entry named: " + name;
      else
        result.is_error = false, text = "forgot: " + name;
    } else if (call.name == "recall") {
      text = recalled(json::find_string(call.arguments, "query").value(),
                      json::find_int(call.arguments, "limit").value_or(5));
    }
    result.content.push_back(session::TextBlock{text});
    add(std::move(result));
  }

  // Returns the entries that have any of the words, also in an alias. Archives come first because
  // they mention a word more often.
  std::string recalled(std::string_view query, std::int64_t limit) const {
    Words words;
    const auto wanted = words.of(query);
    std::string out;
    for (const auto* entries : {&archives, &notes})
      for (const auto& [name, content] : *entries) {
        auto text = name + "\n" + content;
        for (const auto& [alias, of] : aliases)
          if (of == name) text += "\n" + alias;
        if (words.shared(wanted, text).empty() || limit-- <= 0) continue;
        out += (out.empty() ? "## " : "\n---\n## ") + name + "\n" + content;
      }
    return out.empty() ? "no memories found" : out;
  }

  std::map<std::string, std::string> notes, archives;
  std::map<std::string, std::string> aliases;  // alias -> note
};

TEST_F(LocalMemoryTest, NothingThatWasRememberedIsWrittenOver) {
  const std::string sentences[] = {
      "the production database server password rotation happens on Monday",
      "the production database server password rotation owner is Ann",
      "the cat is on the mat",
      "the cat is not on the mat",
      "我的密码是一二三四",
      "我的密码是五六七八",
      "...",
  };
  for (int round = 0; round < 2; ++round)
    for (const auto& sentence : sentences) tell("Remember that " + sentence);
  std::set<std::string> kept;
  for (const auto& [name, content] : notes) kept.insert(content);
  EXPECT_EQ(kept, std::set<std::string>(std::begin(sentences), std::end(sentences)));
  EXPECT_EQ(notes.size(), std::size(sentences)) << "the same thing twice is one note";
  EXPECT_TRUE(notes.contains("production database server password rotation"));
  EXPECT_TRUE(notes.contains("production database server password rotation owner"));
  EXPECT_TRUE(has(tell("Remember that the cat is on the mat"), "I remember that already"));
}

TEST_F(LocalMemoryTest, NotesThatARecallDoesNotShowAreNotWrittenOver) {
  for (int i = 0; i < 30; ++i) archives["talk-" + std::to_string(i)] = "blue tea";
  notes["blue tea"] = "is in the kitchen";
  tell("Remember the blue tea");
  EXPECT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes["blue tea"], "is in the kitchen");

  // A recall does not show aliases, and this note was found by its alias.
  archives.clear();
  notes = {{"groceries", "eggs and bread"}};
  aliases = {{"milk", "groceries"}};
  tell("Remember milk");
  EXPECT_EQ(notes["groceries"], "eggs and bread");
  EXPECT_EQ(notes.size(), 2U);

  // The agent has no tool to look anything up.
  request.tools = {{"remember", "", {}}};
  notes = {{"blue tea", "is in the kitchen"}};
  tell("Remember the blue tea");
  tell("Remember the blue tea");
  EXPECT_EQ(notes["blue tea"], "is in the kitchen");
  EXPECT_EQ(notes.size(), 2U);
}

TEST_F(LocalMemoryTest, LinesAndQuotesAreKept) {
  tell("Remember that Ann said 'always test twice'");
  EXPECT_EQ(notes["ann said always test twice"], "Ann said 'always test twice'");
  tell("Remember:\n- tea\n- milk");
  EXPECT_EQ(notes["tea milk"], "- tea\n- milk");
}

TEST_F(LocalMemoryTest, ForgetsOnlyWhatIsMeant) {
  tell("Remember that the server room door code is 1234");
  const auto unclear = tell("Forget the server password");
  EXPECT_EQ(notes.size(), 1U) << unclear;
  EXPECT_TRUE(has(unclear, "I forgot nothing")) << unclear;
  EXPECT_TRUE(has(unclear, "forget \"server room door code 1234\"")) << unclear;
  EXPECT_TRUE(has(unclear, "reef memory forget \"server room door code 1234\"")) << unclear;

  EXPECT_TRUE(has(tell("Forget the cat"), "I have no note about \"the cat\""));
  EXPECT_TRUE(has(tell("forget \"server room\""), "I forgot nothing"))
      << "a name, not a part of it";
  EXPECT_TRUE(has(tell("forget \"server room door code 1234\""), "Forgotten"));
  EXPECT_TRUE(notes.empty());
}

TEST_F(LocalMemoryTest, AnAmbiguousForgetRemovesNoNote) {
  notes = {{"server door", "1234"}, {"server name", "reef"}, {"tea", "the server is out of tea"}};
  const auto unclear = tell("Forget about the server");
  EXPECT_TRUE(has(unclear, "may mean several notes")) << unclear;
  EXPECT_TRUE(has(unclear, "note 'server door': \"1234\"")) << unclear;
  EXPECT_EQ(notes.size(), 3U);
  tell("Forget the name of the server");
  EXPECT_FALSE(notes.contains("server name"));
  EXPECT_EQ(notes.size(), 2U);
}

TEST_F(LocalMemoryTest, ForgettingOneOfSeveralSimilarNamesRemovesNone) {
  notes = {{"plan", "tea"}, {"The Plan", "milk"}};
  const auto unclear = tell("forget the plan");
  EXPECT_TRUE(has(unclear, "may mean several notes")) << unclear;
  EXPECT_EQ(notes.size(), 2U);
  tell("forget \"The Plan\"");
  EXPECT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes.contains("plan"));

  notes = {{"plan", "tea"}, {"Plan", "milk"}};
  EXPECT_TRUE(has(tell("forget \"PLAN\""), "may mean several notes"));
  EXPECT_EQ(notes.size(), 2U);
  tell("forget \"Plan\"");
  EXPECT_EQ(notes, (std::map<std::string, std::string>{{"plan", "tea"}}));
}

TEST_F(LocalMemoryTest, OneWordOfANoteForgetsNothing) {
  tell("Remember that the server room door code is 1234");
  notes["errands"] = "sweep the garage, and the dentist is on Monday";
  for (const auto* text : {"Forget the door", "forget the server room", "forget the garage"}) {
    const auto unclear = tell(text);
    EXPECT_TRUE(has(unclear, "I forgot nothing")) << unclear;
    EXPECT_TRUE(has(unclear, "The nearest:\nnote '")) << unclear;
    EXPECT_TRUE(has(unclear, "give its name in quotes: forget \"")) << unclear;
    EXPECT_EQ(notes.size(), 2U) << text;
  }
  EXPECT_TRUE(has(tell("forget the server room door"), "Forgotten")) << "most of the name";
  EXPECT_TRUE(has(tell("forget about the dentist on Monday"), "Forgotten")) << "two words";
  EXPECT_TRUE(notes.empty());
  notes["x"] = "garage";
  EXPECT_TRUE(has(tell("forget \"garage\""), "Forgotten")) << "all of the content";
}

TEST_F(LocalMemoryTest, AMissingTextIsAskedForAndALongOneIsRefused) {
  for (const auto* text : {"remember that", "Remember that.", "remember \"\"", "remember that \"\"",
                           "please remember this", "Remember:", "remember it!", "note that"}) {
    const auto asked = tell(text);
    EXPECT_TRUE(has(asked, "What shall I remember?")) << text << ": " << asked;
    EXPECT_TRUE(notes.empty()) << text;
  }
  const auto too_long = tell("Remember that " + std::string(4096, 'x'));
  EXPECT_TRUE(has(too_long, "too long for a note: I take at most 4096 bytes")) << too_long;
  EXPECT_TRUE(has(too_long, "it is kept in this conversation")) << too_long;
  EXPECT_FALSE(has(too_long, "Noted")) << too_long;
  EXPECT_TRUE(notes.empty());
}

TEST_F(LocalMemoryTest, ANoteThatLooksLikeTwoIsRecognised) {
  const std::string content = "tea list\n---\n## milk\nblue";
  tell("Remember that " + content);
  EXPECT_TRUE(has(tell("Remember that " + content), "I remember that already, as note '"));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes.begin()->second, content);
}

TEST_F(LocalMemoryTest, ForgettingLooksPastArchives) {
  archives = {{"talk-261101", "deploy key deploy key deploy key"},
              {"261102-calm-boat-1", "deploy key, the printer likes thick paper"}};
  notes = {{"deploy key", "in the blue vault"}, {"office", "the printer likes thick paper"}};
  EXPECT_TRUE(has(tell("forget the deploy key"), "Forgotten"));
  EXPECT_FALSE(notes.contains("deploy key"));
  EXPECT_TRUE(has(tell("forget that the printer likes thick paper"), "Forgotten"));
  EXPECT_TRUE(notes.empty());
  const auto kept = tell("forget the deploy key");
  EXPECT_TRUE(has(kept, "is not a note: it is kept as it is")) << kept;
}

TEST_F(LocalMemoryTest, AnAliasSaysMoreThanAContent) {
  notes = {{"deploy", "in the blue vault"}, {"vault", "the ssh key is old"}};
  aliases = {{"ssh key", "deploy"}};
  tell("Forget the ssh key");
  EXPECT_FALSE(notes.contains("deploy"));
  EXPECT_TRUE(notes.contains("vault"));
}

TEST_F(LocalToolsTest, ForgetsTheNoteThatIsMeant) {
  user("forget about the deploy key");
  EXPECT_EQ(calls({"## deploy key blue vault\nthe deploy key is in the blue vault"}),
            R"(recall{"query":"the deploy key","limit":20} )");
  EXPECT_EQ(calls({"forgot: deploy key blue vault"}), R"(forget{"name":"deploy key blue vault"} )");
  EXPECT_TRUE(has(said(), "Forgotten")) << said();
}

TEST_F(LocalToolsTest, WhyAMemoryForgetsNothingIsSaid) {
  user("forget the deploy key");
  calls({"## deploy key\nblue vault"});
  calls({"disk on fire"}, true);
  EXPECT_TRUE(has(said(), "I could not forget it: disk on fire")) << said();
}

TEST_F(LocalToolsTest, CallsOfLaterTurnsHaveIdsOfTheirOwn) {
  user("where is the key?");
  const auto first = local_reply(request).calls.at(0).id;
  calls({"no sessions found", "no memories found"});
  user("and where is the lock?");
  EXPECT_NE(local_reply(request).calls.at(0).id, first);
}

TEST(Intent, IsFoundInPlainWords) {
  using Kind = Intent::Kind;
  const std::tuple<std::string, Kind, std::string> cases[] = {
      {"Remember that I like tea.", Kind::remember, "I like tea"},
      {"remember: pin 1234", Kind::remember, "pin 1234"},
      {"Do you remember where I parked?", Kind::question, "Do you remember where I parked"},
      {"remember what I said?", Kind::question, "remember what I said"},
      {"Forget that I like tea", Kind::forget, "I like tea"},
      {"what did we say about tea?", Kind::question, "tea"},
      {"find the tea shop", Kind::question, "the tea shop"},
      {"what did we say so far?", Kind::recap, ""},
      {"summarise this", Kind::recap, ""},
      {"Suggest a title", Kind::title, ""},
      {"hello there", Kind::greeting, ""},
      {"Hi Reef!", Kind::greeting, ""},
      {"The port is 81", Kind::statement, ""},
      {"我的密码是什么？", Kind::question, "我的密码是什么"},
      {"ما هي كلمة السر؟", Kind::question, "ما هي كلمة السر"},
      {"ποιος είναι ο κωδικός;", Kind::question, "ποιος είναι ο κωδικός;"},
      {"x = 1;", Kind::statement, ""},
      {"我买了茶、牛奶", Kind::statement, ""},
      {"Don’t forget that rent is due on Friday", Kind::remember, "rent is due on Friday"},
      {"Hey, please don't forget rent!", Kind::remember, "rent!"},
      {"remember  that\tI like\n tea", Kind::remember, "I like\n tea"},
      {"Remember that Ann said 'always test twice'.", Kind::remember,
       "Ann said 'always test twice'"},
      {"Remember \"I like tea\"", Kind::remember, "I like tea"},
      {"Remember that 'a' is not 'b'", Kind::remember, "'a' is not 'b'"},
      {"Remember that the page is https://a.org/?q=1&r=2", Kind::remember,
       "the page is https://a.org/?q=1&r=2"},
      {"Forget “the tea shop”.", Kind::forget, "the tea shop"},
      {"Forget the note about tea", Kind::forget, "tea"},
      {"remember", Kind::remember, ""},
      {"Remember that", Kind::remember, ""},
      {"Remember that?", Kind::question, "Remember that"},
      {"Remember that: m is n", Kind::remember, "m is n"},
      {"remember that's my key", Kind::remember, "that's my key"},
      {"Remembering tea", Kind::statement, ""},
      {"Remember that the wifi password is abc?", Kind::remember, "the wifi password is abc?"},
      {"Remember that Bob asked why? and then left", Kind::remember,
       "Bob asked why? and then left"},
      {"Can you remember that I like tea?", Kind::remember, "I like tea"},
      {"Could you please remember that I like tea", Kind::remember, "I like tea"},
      {"ok so remember that I like tea", Kind::remember, "I like tea"},
      {"I want you to remember that I like tea.", Kind::remember, "I like tea"},
      {"Note to self: buy tea", Kind::remember, "buy tea"},
      {"Can you remember where I parked?", Kind::question, "Can you remember where I parked"},
      {"Can you forget the tea?", Kind::question, "Can you forget the tea"},
      {"Remind me where I parked", Kind::question, "where I parked"},
      {"Please remind me what we said about tea", Kind::question, "tea"},
      {"Remind me to buy tea", Kind::statement, ""},
      {"Show me what we said about tea", Kind::question, "tea"},
      {"Tell me what the port is", Kind::question, "what the port is"},
      {"If it rains we stay", Kind::statement, ""},
      {"so far I like tea", Kind::recap, ""},
      {"", Kind::statement, ""},
  };
  for (const auto& [text, kind, subject] : cases) {
    const auto intent = intent_of(text);
    EXPECT_EQ(intent.kind, kind) << text;
    if (intent.kind == kind) EXPECT_EQ(intent.subject, subject) << text;
  }
}

TEST(Found, ReadsWhatToolsAnswerAndSurvivesAnything) {
  const auto notes = notes_in("## a\none\n---\ntwo\n---\n## b\nthree");
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].content, "one\n---\ntwo");
  EXPECT_EQ(notes[1].name, "b");
  // A separator begins no note right after a heading, at the very end, or before an empty name.
  for (const std::string content : {"---\n## b\nc", "a\n---\n## b", "a\n---\n## \nb"}) {
    ASSERT_EQ(notes_in("## a\n" + content).size(), 1U) << content;
    EXPECT_EQ(notes_in("## a\n" + content)[0].content, content);
  }
  EXPECT_EQ(notes_in("## a\n\n---\n## b\nc").size(), 2U) << "an empty one before";
  EXPECT_EQ(name_of_content("## a\none\n---\n## b\ntwo\n---\n## c\n3", "two\n---\n## c\n3"), "b");
  EXPECT_EQ(name_of_content("## a\none\n---\n## b\ntwo", "one"), "a");
  EXPECT_EQ(name_of_content("## a\none\n---\n## b\ntwo", "tw"), "");
  ASSERT_EQ(passages_in(kFound).size(), 2U);
  EXPECT_EQ(passages_in(kFound)[0].lines.size(), 2U);
  EXPECT_EQ(passages_in(kFound)[0].lines[0].role, "user");
  for (const auto* text : {"", "##", "## ", "---\n", "## x\n---\n## y", "no sessions found",
                           "## t\nsession: \nmatched message #\n- [#] \n"}) {
    static_cast<void>(notes_in(text));
    static_cast<void>(passages_in(text));
    static_cast<void>(name_of_content(text, ""));
  }
}

}  // namespace
}  // namespace reef::local
