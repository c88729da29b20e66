#include "daemon/agent_edit.h"

#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/config.h"
#include "daemon/toml_json.h"
#include "support/run.h"

namespace reef::daemon {
namespace {

json::object object(const std::string& text) {
  return test::value_of(json::parse(text)).as_object();
}

std::string patched(const std::string& text, const std::string& patch) {
  return test::value_of(with_agent_patch("scout", text, "scout.toml", object(patch)));
}

TEST(AgentName, MayNotLeadAwayOrBreakAnything) {
  for (const auto* good : {"scout", "Scout 2", "ann_b-c", "a.b", "späher", "侦察"})
    EXPECT_TRUE(check_agent_name(good)) << good;
  const std::string bad[] = {"",
                             "..",
                             "../x",
                             "a/b",
                             "/etc/passwd",
                             "a\\b",
                             std::string("a\0b", 3),
                             "a\nb",
                             "\x1b[31m",
                             ".hidden",
                             "-rf",
                             " x",
                             "x ",
                             "a:b",
                             "a\"b",
                             "a<b",
                             "[x]",
                             "\xff\xfe",
                             std::string(10'240, 'x')};
  for (const auto& name : bad) {
    const auto checked = check_agent_name(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, Errc::invalid);
    EXPECT_LT(checked.error().what.size(), 300U);
  }
}

TEST(AgentPatch, IsJsonOrToml) {
  const auto a = test::value_of(
      agent_patch_from("scout", R"({"model":"local","tools":["recall"],"idle_minutes":null})"));
  EXPECT_EQ(json::write(a.fields), R"({"model":"local","tools":["recall"],"idle_minutes":null})");
  EXPECT_FALSE(a.prompt);
  const auto b = test::value_of(
      agent_patch_from("scout", "model = \"local\"\n[parameters]\ntemperature = 0.5\n"));
  EXPECT_EQ(*json::find_string(b.fields, "model"), "local");
  EXPECT_EQ(json::find_object(b.fields, "parameters")->at("temperature"), json::value(0.5));
  EXPECT_TRUE(test::value_of(agent_patch_from("scout", " \n")).fields.empty());
  EXPECT_EQ(test::value_of(agent_patch_from("scout", R"({"prompt":"Hi"})")).prompt, "Hi");
  EXPECT_EQ(test::value_of(agent_patch_from("scout", R"({"prompt":null})")).prompt, "");
}

TEST(AgentPatch, MistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"colour":"red"})", "unknown field 'colour'"},
      {"colour = 1", "unknown field 'colour'"},
      {R"({"max_iterations":"many"})", "max_iterations: must be a whole number from 1 to 1000"},
      {R"({"search":"everything"})", "search: must be one of: own, agent, all"},
      {R"({"tools":"bash"})", "tools: must be a list of strings"},
      {R"({"tools":[1]})", "tools: must be a list of strings"},
      {R"({"mcps":[{"command":"x"}]})", "mcps: must be a list of names, or of tables with a name"},
      {R"({"mcps":["a","a"]})", "mcps: names 'a' twice"},
      {R"({"parameters":{"a":[null]}})", "null cannot stand inside a list or a table"},
      {R"({"name":"other"})", "name: another one than the agent's; rename it instead"},
      {R"({"prompt":1})", "prompt: must be a text"},
      {R"({"hooks":{"bash":{"deny":["rm"]}}})",
       "hooks: agents have no such setting here; `tools` says what they may call"},
      {R"({"tool_choice":"required"})", "tool_choice: agents have no such setting here"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto patch = agent_patch_from("scout", text);
    ASSERT_FALSE(patch) << text;
    EXPECT_EQ(patch.error().what, wanted) << text;
  }
  for (const auto* broken : {"{", "[1]", "a = ", "\xff", "model = \"x"})
    EXPECT_TRUE(!agent_patch_from("scout", broken) &&
                agent_patch_from("scout", broken).error().code == Errc::invalid)
        << broken;
  EXPECT_EQ(agent_patch_from("scout", std::string(1U << 20, ' ')).error().code, Errc::too_large);
}

TEST(AgentPatch, TakesCrabTalksWholeConfigurationAsItIs) {
  const auto patch = test::value_of(agent_patch_from("crab", R"({
    "id":"00000000000000000000000000","name":"crab","description":"d","model":"m","max_iterations":16,
    "tool_choice":"auto","thinking":true,"skills":[],"mcps":[{"name":"files","command":"mcp-files","args":["-v"],
    "env":{"TOKEN":"t"},"auto_restart":true,"auth":"Bearer x"}],"compact_tool_max_len":1024,
    "hooks":{"bash":{"disabled":false,"deny":[]},"memory":{"recall_limit":5}},"system_prompt":"Be a crab."})"));
  EXPECT_EQ(patch.prompt, "Be a crab.");
  std::vector<std::string> warnings;
  const auto text = test::value_of(with_agent_patch("crab", "", "crab.toml", patch.fields));
  const auto agent = test::value_of(parse_agent("crab", text, "crab.toml", warnings));
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(agent.thinking, model::ThinkingLevel::high);
  EXPECT_EQ(agent.mcps, std::vector<std::string>{"files"});
}

TEST(AgentEdit, KeepsEveryOtherLine) {
  const std::string text =
      "# who looks things up\n"
      "model = \"local\"   # cheap\n"
      "tools = [\n"
      "  \"recall\",  # notes\n"
      "]\n"
      "\n"
      "# how\n"
      "[parameters]\n"
      "temperature = 0.5  # warm\n";
  EXPECT_EQ(patched(text, R"({"model":"s/x"})"),
            "# who looks things up\n"
            "model = \"s/x\"   # cheap\n"
            "tools = [\n"
            "  \"recall\",  # notes\n"
            "]\n"
            "\n"
            "# how\n"
            "[parameters]\n"
            "temperature = 0.5  # warm\n");
  EXPECT_EQ(patched(text, R"({"tools":["bash","read"],"description":"d"})"),
            "# who looks things up\n"
            "model = \"local\"   # cheap\n"
            "tools = [\"bash\", \"read\"]\n"
            "description = \"d\"\n"
            "\n"
            "# how\n"
            "[parameters]\n"
            "temperature = 0.5  # warm\n");
  EXPECT_EQ(patched(text, R"({"tools":null,"parameters":null})"),
            "# who looks things up\n"
            "model = \"local\"   # cheap\n"
            "\n"
            "# how\n");
  EXPECT_EQ(patched(text, R"({"model":"local"})"), text) << "nothing to change";
}

TEST(AgentEdit, TablesMergeAndForgedTextsStayTexts) {
  const auto out =
      patched("[parameters]\na = 1\n[parameters.deep]\nb = 2\n",
              R"({"parameters":{"a":null,"deep":{"c":3}},"description":"x\"\n[evil]\ny=1"})");
  std::vector<std::string> warnings;
  const auto agent = test::value_of(parse_agent("scout", out, "f", warnings));
  EXPECT_EQ(json::write(agent.parameters), R"({"deep":{"b":2,"c":3}})");
  EXPECT_EQ(agent.description, "x\"\n[evil]\ny=1");
  EXPECT_TRUE(warnings.empty());
}

TEST(AgentEdit, FormsThatAreNotEditedAreWrittenAnew) {
  for (const auto* text : {"parameters.a = 1\nparameters.b = 2\n", "parameters = { a = 1, b = 2 }",
                           "\"parameters\".a = 1\n'parameters'.b = 2\n",
                           "[parameters]\na = 1\r\nb = 2\r\n", "[ parameters ]\na=1\nb=2"}) {
    const auto out = patched(text, R"({"parameters":{"b":3},"model":"local"})");
    std::vector<std::string> warnings;
    const auto agent = test::value_of(parse_agent("scout", out, "f", warnings));
    EXPECT_EQ(json::write(agent.parameters), R"({"a":1,"b":3})") << text << "\n->\n" << out;
    EXPECT_TRUE(warnings.empty()) << out;
  }
}

// Whatever the file looks like, its values afterwards are those of the JSON merge patch.
TEST(AgentEdit, AnyPatchOnAnyFileIsTheMergePatch) {
  const char* const seed = std::getenv("REEF_SEED");
  const auto number = seed ? std::strtoull(seed, nullptr, 10) : 1;
  SCOPED_TRACE(number);
  SeededRandom random{number};
  const auto pick = [&](const auto& list) { return list[random.below(std::size(list))]; };
  const char* const values[] = {"1",
                                "\"x\"",
                                "[\n  \"a\", # one\n  \"b\",\n]",
                                "\"\"\"\n[parameters]\nmodel = 1 # no\n\"\"\"",
                                "'''\n[[mcps]]\n'''",
                                "{ a = 1, \"b c\" = [ { d = 2 } ] }",
                                "true",
                                "2026-01-02",
                                "\"#\""};
  const char* const keys[] = {"a", "bb", "\"c d\"", "e", "f.g", "f.h", "\"f\".i"};
  const char* const patches[] = {
      "null",      "1", "\"new\"", "[1,2]", "{\"a\":null,\"z\":{\"y\":1}}", "[{\"name\":\"n\"}]",
      "\"[x]\\n\""};
  const char* const names[] = {"a", "bb", "c d", "e", "f", "t", "l", "new"};
  int kept = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    const auto remark = [&] {
      if (random.below(3) == 0) text += "# remark\n";
      if (random.below(4) == 0) text += "\n";
    };
    for (std::uint64_t i = random.below(5); i > 0; --i) {
      remark();
      text +=
          fmt::format("{} = {}{}\n", pick(keys), pick(values), random.below(2) ? "" : "  # why");
    }
    if (random.below(2)) {
      remark();
      text += fmt::format("[t]\nx = {}\n", pick(values));
      if (random.below(2)) text += fmt::format("[t.sub] # deep\ny = {}\n", pick(values));
    }
    for (std::uint64_t i = random.below(3); i > 0; --i) {
      remark();
      text += fmt::format("[[l]]\nname = {}\n", pick(values));
    }
    if (random.below(4) == 0 && text.ends_with('\n')) text.pop_back();
    json::object before;
    try {
      before = to_json(toml::parse(text)).as_object();
    } catch (const toml::parse_error&) {
      continue;  // the same key twice
    }
    std::string patch_text = "{";
    for (std::uint64_t i = 1 + random.below(3); i > 0; --i)
      patch_text +=
          fmt::format("{}\"{}\":{}", patch_text.size() > 1 ? "," : "", pick(names), pick(patches));
    const auto patch = object(patch_text + "}");
    auto wanted = before;
    json::merge_patch(wanted, patch);
    const auto out = with_agent_patch("scout", text, "f", patch);
    ASSERT_TRUE(out) << out.error().what << "\n" << text << "\n" << patch_text;
    ASSERT_EQ(to_json(toml::parse(*out)).as_object(), wanted) << text << "\n->\n" << *out;
    kept += out->find("# remark") != std::string::npos;
  }
  EXPECT_GT(kept, 500) << "comments survive";
}

TEST(AgentEdit, ABrokenFileIsNamedAndNotTouched) {
  const auto out =
      with_agent_patch("scout", "model = \n", "/h/agents/scout.toml", object(R"({"model":"x"})"));
  ASSERT_FALSE(out);
  EXPECT_TRUE(out.error().what.starts_with("/h/agents/scout.toml:1: ")) << out.error().what;
  // A value that is bad already and not part of the patch is named too.
  const auto bad = with_agent_patch("scout", "search = \"x\"\n", "f", object(R"({"model":"x"})"));
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().what.find("search: must be one of"), std::string::npos);
}

// CrabTalk's GetAgent returned secrets in the clear.
TEST(AgentSecrets, S5_AreMaskedAndSurviveARoundTrip) {
  const std::string text =
      "model = \"local\"\n"
      "[parameters]\napi_key = \"sk-1\"\nuser_token = \"env:TOKEN\"\nmax_tokens = 5\n"
      "[[mcps]]\nname = \"files\"\nauth = \"Bearer 1\"\nenv = { HOMEISH = \"x\", PIN = \"1234\" "
      "}\n"
      "[[mcps]]\nname = \"wiki\"\nurl = \"https://h/\"\noauth = { client_id = \"me-77\", "
      "client_secret = \"cs-88\", assertion = \"as-99\" }\n";
  std::vector<std::string> warnings;
  const auto agent = test::value_of(parse_agent("scout", text, "f", warnings));
  const auto shown = json::write(*agent.config);
  for (const auto* secret : {"sk-1", "Bearer 1", "1234", "cs-88", "as-99"})
    EXPECT_EQ(shown.find(secret), std::string::npos) << shown;
  EXPECT_NE(shown.find("env:TOKEN"), std::string::npos) << "only says where";
  EXPECT_NE(shown.find("me-77"), std::string::npos) << "who we are is no secret";
  // A client that sends back what it saw changes nothing.
  const auto back = patched(text, shown);
  const auto again = test::value_of(parse_agent("scout", back, "f", warnings));
  EXPECT_NE(back.find("sk-1"), std::string::npos) << back;
  EXPECT_NE(back.find("Bearer 1"), std::string::npos);
  EXPECT_NE(back.find("1234"), std::string::npos);
  EXPECT_NE(back.find("cs-88"), std::string::npos);
  EXPECT_EQ(again.parameters, agent.parameters);
}

TEST(AgentSecrets, AMaskIsNeverTakenForASecret) {
  const std::string text =
      "[parameters]\napi_key = \"sk-1\"\nstop = [\"***\"]\n"
      "[[mcps]]\nname = \"files\"\ncommand = \"f\"\nargs = [\"--token\", \"t-1\"]\n"
      "[[mcps]]\nname = \"wiki\"\nurl = \"https://me:pw@h/\"\nauth = \"Bearer 1\"\nheaders = { "
      "X-Team = \"x-1\" }\n";
  std::vector<std::string> warnings;
  const auto agent = test::value_of(parse_agent("scout", text, "f", warnings));
  const auto shown = json::write(*agent.config);
  // The same agent takes back what it showed: the masks stand for its own secrets.
  EXPECT_EQ(test::value_of(parse_agent("scout", patched(text, shown), "f", warnings)).config,
            agent.config);
  // Another agent made from what was shown has none of the secrets; the error names the first one
  // that is missing.
  const auto refusal = [](std::string_view config) {
    const auto made = with_agent_patch("fork", "", "f", object(std::string(config)));
    return made ? std::string("taken: ") + *made : made.error().what;
  };
  EXPECT_TRUE(refusal(shown).starts_with("parameters.api_key: '***' stands for a secret"))
      << refusal(shown);
  const auto servers = json::write(json::object{{"mcps", agent.config->at("mcps")}});
  EXPECT_TRUE(refusal(servers).starts_with("mcps[files].args[1]: ")) << refusal(servers);
  EXPECT_TRUE(refusal(R"({"mcps":[{"name":"w","url":"https://h/","auth":"***"}]})")
                  .starts_with("mcps[w].auth: "));
  EXPECT_TRUE(
      refusal(R"({"mcps":[{"name":"w","url":"https://***@h/"}]})").starts_with("mcps[w].url: "));
  EXPECT_TRUE(refusal(R"({"mcps":[{"name":"w","url":"https://h/","headers":{"A":"***"}}]})")
                  .starts_with("mcps[w].headers.A: "));
  EXPECT_TRUE(
      refusal(R"({"mcps":{"w":{"command":"f","env":{"A":"***"}}}})").starts_with("mcps.w.env.A: "));
  // A server of another name in the same agent does not inherit its neighbour's secret.
  const auto renamed = with_agent_patch(
      "scout", text, "f", object(R"({"mcps":[{"name":"w2","url":"https://h/","auth":"***"}]})"));
  ASSERT_FALSE(renamed);
  EXPECT_TRUE(renamed.error().what.starts_with("mcps[w2].auth: ")) << renamed.error().what;
  // A text that only looks like a mask stays a text.
  EXPECT_TRUE(refusal(R"({"parameters":{"stop":["***"]}})").starts_with("taken: "));
}

TEST(TomlValue, WritesWhatReadsBack) {
  const auto value = test::value_of(json::parse(
      R"({"a":[1,-2.5,1.0,1e300,true,"x\"\\\u0007ä"],"b c":{"":"empty key"},"e":{},"f":[]})"));
  std::string text;
  for (const auto& [key, field] : value.as_object())
    text += toml_key(key) + " = " + test::value_of(toml_value(field)) + "\n";
  const auto read = toml::parse(text);
  EXPECT_EQ(to_json(read), value) << text;
  EXPECT_FALSE(toml_value(json::value(nullptr)));
  EXPECT_FALSE(toml_value(json::value(UINT64_MAX)));
  EXPECT_EQ(to_json(toml::parse("d = 2026-01-02")).as_object().at("d"), json::value("2026-01-02"));
}

}  // namespace
}  // namespace reef::daemon
