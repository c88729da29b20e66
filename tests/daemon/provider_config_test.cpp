// [providers.*], agents' models, and how config.toml is changed for the user.
#include <gtest/gtest.h>

#include "daemon/config.h"
#include "daemon/config_edit.h"

namespace reef::daemon {
namespace {

constexpr std::string_view kAll = R"(default_model = "work/gpt-5"
[providers.work]
kind = "openai"
base_url = "https://proxy.example/v1"
key = "cmd:pass show openai"
models = ["gpt-5", "o3"]
default_model = "o3"
connect_timeout_ms = 1000
first_byte_timeout_ms = 2000
idle_timeout_ms = 3000
retries_max = 5
stream_usage = false
[providers.work.headers]
X-Team = "reef"
[providers.work.facts."gpt-5"]
context_window = 1000
max_output = 100
images = false
tools = false
thinking = false
price_input = 1.5
price_output = 3
[providers.az]
kind = "azure"
base_url = "https://r.openai.azure.com"
api_version = "2024-10-21"
auth = "bearer"
)";

TEST(ProviderConfig, EveryKeyIsRead) {
  const auto loaded = parse_config(kAll, "c.toml");
  ASSERT_TRUE(loaded) << loaded.error().what;
  EXPECT_TRUE(loaded->warnings.empty()) << loaded->warnings.front();
  EXPECT_EQ(loaded->config.default_model, "work/gpt-5");
  const auto& work = loaded->config.providers.at("work").spec;
  EXPECT_EQ(work.name, "work");
  EXPECT_EQ(work.base_url, "https://proxy.example/v1");
  EXPECT_EQ(work.key, "cmd:pass show openai");
  EXPECT_EQ(work.models, (std::vector<std::string>{"gpt-5", "o3"}));
  EXPECT_EQ(work.default_model, "o3");
  EXPECT_EQ(work.timeouts.connect.count(), 1000);
  EXPECT_EQ(work.timeouts.first_byte.count(), 2000);
  EXPECT_EQ(work.timeouts.idle.count(), 3000);
  EXPECT_EQ(work.retries_max, 5);
  EXPECT_FALSE(work.stream_usage);
  EXPECT_EQ(work.headers, (model::Headers{{"X-Team", "reef"}}));
  const auto facts = model::facts_for(work, "gpt-5");
  EXPECT_EQ(facts.context_window, 1000);
  EXPECT_EQ(facts.max_output, 100);
  EXPECT_FALSE(facts.images);
  EXPECT_FALSE(facts.tools);
  EXPECT_FALSE(facts.thinking);
  EXPECT_EQ(facts.price.input, 1.5);
  EXPECT_EQ(facts.price.output, 3);
  EXPECT_GT(facts.price.cache_read, 0) << "what is not overridden stays as it is known";
  EXPECT_GT(model::facts_for(work, "o3").context_window, 1000);
  EXPECT_EQ(loaded->config.providers.at("az").spec.auth, "bearer");
}

TEST(AgentModels, ChainsLevelsAndParameters) {
  std::vector<std::string> warnings;
  const auto agent = parse_agent("a", R"(
models = ["a/x", "b/y", "c"]
thinking = "high"
max_tokens = 1000
[parameters]
temperature = 0.5
nested = { list = [1, "two", true] }
)",
                                 "a.toml", warnings);
  ASSERT_TRUE(agent) << agent.error().what;
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(agent->model, "a/x");
  EXPECT_EQ(agent->fallback, (std::vector<std::string>{"b/y", "c"}));
  EXPECT_EQ(agent->thinking, model::ThinkingLevel::high);
  EXPECT_EQ(agent->max_tokens, 1000);
  EXPECT_EQ(json::write(agent->parameters),
            R"({"nested":{"list":[1,"two",true]},"temperature":0.5})");

  const auto other =
      parse_agent("a", "model = \"a/x\"\nfallback = [\"b/y\"]\n", "a.toml", warnings);
  EXPECT_EQ(other->model, "a/x");
  EXPECT_EQ(other->fallback, std::vector<std::string>{"b/y"});
  EXPECT_EQ(parse_agent("a", "", "a.toml", warnings, "d/m")->model, "d/m");
  EXPECT_EQ(parse_agent("a", "thinking = \"lots\"\n", "a.toml", warnings).error().what,
            "a.toml:1: thinking: must be one of: off, minimal, low, medium, high, xhigh");
}

TEST(ConfigEdit, TheDefaultModelIsSetAndEverythingElseStays) {
  EXPECT_EQ(*with_default_model("", "c", "a/b"), "default_model = \"a/b\"\n");
  EXPECT_EQ(*with_default_model("# mine\n[tcp]\nport = 1\n", "c", "a\"b"),
            "default_model = \"a\\\"b\"\n# mine\n[tcp]\nport = 1\n");
  EXPECT_EQ(*with_default_model("# mine\ndefault_model = \"x\" # why\n\n[tcp]\n", "c", "y"),
            "# mine\ndefault_model = \"y\"\n\n[tcp]\n");
  EXPECT_EQ(*with_default_model("default_model = \"\"\"x\"\"\"\n[tcp]\n", "c", "y"),
            "default_model = \"y\"\n[tcp]\n");
  EXPECT_FALSE(with_default_model("a = = 1", "c", "y"));
}

TEST(ConfigEdit, SettingsThatNameAnAgentGetItsNewName) {
  EXPECT_EQ(*with_renamed_agent("# mine\ndefault_agent = \"scout\"\n", "c", "scout", "ranger"),
            "# mine\ndefault_agent = \"ranger\"\n");
  EXPECT_EQ(*with_renamed_agent("default_agent = \"reef\"\n", "c", "scout", "ranger"),
            "default_agent = \"reef\"\n");
  EXPECT_EQ(*with_renamed_agent("", "c", "reef", "ranger"), "default_agent = \"ranger\"\n")
      << "who is the default without a word";
  const std::string rules =
      "[session.idle_minutes_by_key]\n\"agent:scout:ci\" = 30 # why\n"
      "\"agent:scouts:ci\" = 5\n'agent:scout:tg:7'=1\n";
  EXPECT_EQ(*with_renamed_agent(rules, "c", "scout", "ranger"),
            "[session.idle_minutes_by_key]\n\"agent:ranger:ci\" = 30 # why\n"
            "\"agent:scouts:ci\" = 5\n'agent:ranger:tg:7'=1\n");
  EXPECT_EQ(
      with_renamed_agent(rules + "\"agent:ranger:ci\" = 2\n", "c", "scout", "ranger").error().code,
      Errc::conflict);
  EXPECT_EQ(with_renamed_agent("[session.idle_minutes_by_key]\n\"agent:s\\u0063out:ci\" = 1\n", "c",
                               "scout", "ranger")
                .error()
                .code,
            Errc::unsupported);
}

model::ProviderSpec spec(const std::string& name) {
  model::ProviderSpec out;
  out.name = name;
  out.kind = "openai";
  out.key = "env:K\"";
  out.default_model = "m";
  return out;
}

TEST(ConfigEdit, AProviderIsAddedAtTheEnd) {
  EXPECT_EQ(*with_provider("", "c", spec("o")),
            "[providers.o]\nkind = \"openai\"\nkey = \"env:K\\\"\"\ndefault_model = \"m\"\n");
  EXPECT_EQ(*with_provider("[tcp]\nport = 1", "c", spec("o.x")),
            "[tcp]\nport = 1\n\n[providers.\"o.x\"]\nkind = \"openai\"\nkey = \"env:K\\\"\"\n"
            "default_model = \"m\"\n");
}

TEST(ConfigEdit, AnExistingProviderIsChangedInPlace) {
  const auto edited = with_provider(R"(# top
[providers.o]  # mine
kind = "groq"
# the list
models = [
  "a",
  "b",
]
base_url = "https://old.example"
retries_max = 1
[providers.o.headers]
X = "1"
[log]
level = "info"
)",
                                    "c", [] {
                                      auto changed = spec("o");
                                      changed.models = {"c"};
                                      return changed;
                                    }());
  ASSERT_TRUE(edited) << edited.error().what;
  EXPECT_EQ(*edited, R"(# top
[providers.o]  # mine
default_model = "m"
key = "env:K\""
kind = "openai"
# the list
models = ["c"]
retries_max = 1
[providers.o.headers]
X = "1"
[log]
level = "info"
)");
}

TEST(ConfigEdit, EntriesOnlyAPersonCanEditAreLeftAlone) {
  for (const std::string_view text :
       {"providers.o = { kind = \"groq\" }\n", "[providers]\no = { kind = \"groq\" }\n",
        "providers.o.kind = \"groq\"\n"}) {
    const auto edited = with_provider(text, "c", spec("o"));
    ASSERT_FALSE(edited) << *edited;
    EXPECT_EQ(edited.error().code, Errc::unsupported) << edited.error().what;
  }
}

TEST(ConfigEdit, AProviderGoesWithItsTablesAndNothingElse) {
  const auto edited = without_provider(R"(# top
[providers.a]
kind = "ollama"
[providers.a.headers]
X = "1"

# about b
[providers.b]
kind = "ollama"
[providers.a.facts.m]
images = true
[log]
level = "info"
)",
                                       "c", "a");
  ASSERT_TRUE(edited) << edited.error().what;
  EXPECT_EQ(*edited, R"(# top

# about b
[providers.b]
kind = "ollama"
[log]
level = "info"
)");
  EXPECT_EQ(without_provider("", "c", "a").error().code, Errc::not_found);
  EXPECT_FALSE(without_provider("providers.a = { kind = \"ollama\" }\n", "c", "a"));
}

}  // namespace
}  // namespace reef::daemon
