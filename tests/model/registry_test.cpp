// Which provider a model belongs to, what is known of the model, and where keys come from.
#include "model/registry.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "local/local.h"
#include "model/facts.h"
#include "model/model_lists.h"
#include "support/manual_clock.h"
#include "support/run.h"

namespace reef::model {
namespace {

using namespace std::chrono_literals;

Providers::Entry entry(const std::string& name, std::vector<std::string> models,
                       const std::string& default_model = "") {
  Providers::Entry out;
  out.name = name;
  out.provider = std::make_shared<local::LocalProvider>();
  out.models = std::move(models);
  out.default_model = default_model;
  return out;
}

TEST(Routing, ByProviderAndModelByProviderAloneOrByAUniqueName) {
  Providers providers;
  ASSERT_TRUE(providers.add(entry("open", {"gpt-5", "meta/llama"}, "gpt-5")));
  ASSERT_TRUE(providers.add(entry("bare", {})));
  const auto place = [&](std::string_view model) {
    const auto route = providers.route(model);
    return route ? route->provider_name + " " + route->model : route.error().what;
  };
  EXPECT_EQ(place("open/o3"), "open o3");
  EXPECT_EQ(place("open/a/b"), "open a/b");
  EXPECT_EQ(place("open"), "open gpt-5");
  EXPECT_EQ(place("gpt-5"), "open gpt-5");
  EXPECT_EQ(place("meta/llama"), "open meta/llama");
  EXPECT_EQ(place("bare/x"), "bare x");
  EXPECT_NE(place("bare").find("no default model"), std::string::npos);
  EXPECT_NE(place("ghost").find("there are: bare, open"), std::string::npos);
  EXPECT_NE(place("open/").find("no default model"), std::string::npos);
}

TEST(Routing, ANameMeansOneThing) {
  Providers providers;
  ASSERT_TRUE(providers.add(entry("a", {"m"})));
  const auto second = providers.add(entry("b", {"x", "m"}));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::conflict);
  EXPECT_NE(second.error().what.find("'a'"), std::string::npos);
  EXPECT_FALSE(providers.add(entry("c", {"y", "y"})));
  EXPECT_FALSE(providers.add(entry("d/e", {})));
  EXPECT_TRUE(providers.add(entry("a", {"m"}))) << "the same provider again replaces it";
}

TEST(Facts, AModelIsKnownByAllItsNames) {
  for (const std::string_view name :
       {"claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5@20250929"}) {
    const auto facts = known_model(name);
    ASSERT_TRUE(facts) << name;
    EXPECT_EQ(facts->context_window, 200'000) << name;
    EXPECT_EQ(facts->price.input, 3) << name;
    EXPECT_EQ(facts->id, name);
  }
  // The longest known name wins; a name that goes on without a separator is another model.
  EXPECT_EQ(known_model("gpt-4o-mini-2024-07-18")->price.input, 0.15);
  EXPECT_EQ(known_model("gpt-4o-2024-08-06")->price.input, 2.5);
  EXPECT_EQ(known_model("gpt-4.1-nano")->price.input, 0.1);
  EXPECT_FALSE(known_model("gpt-4omega"));
  EXPECT_FALSE(known_model("my-own"));
  EXPECT_FALSE(known_model(""));
}

TEST(Facts, LocalModelsCostNothing) {
  ProviderSpec spec;
  spec.kind = "ollama";
  EXPECT_EQ(facts_for(spec, "deepseek-chat").price.input, 0);
  EXPECT_GT(facts_for(spec, "deepseek-chat").context_window, 0);
  spec.kind = "deepseek";
  EXPECT_GT(facts_for(spec, "deepseek-chat").price.input, 0);
  EXPECT_EQ(facts_for(spec, "nobody-knows").context_window, 0);
}

TEST(Making, MissingSettingsComeFromTheKind) {
  boost::asio::io_context io(1);
  http::Client client(io.get_executor());
  Pool pool(1);
  SystemClock clock;
  SeededRandom random(1);
  const auto make = [&](const std::string& kind, const std::string& base_url) {
    ProviderSpec spec;
    spec.name = "p";
    spec.kind = kind;
    spec.base_url = base_url;
    return make_provider(spec, {client, pool, clock, random});
  };
  for (const auto& kind : provider_kinds()) {
    const auto made = make(std::string(kind.name), kind.needs_address ? "res" : "");
    ASSERT_TRUE(made) << kind.name << ": " << made.error().what;
    EXPECT_FALSE(made->provider->api().empty());
    EXPECT_EQ(made->default_model, kind.default_model);
    EXPECT_EQ(made->key_place, kind.key_variable.empty() ? std::string("none")
                                                         : "env:" + std::string(kind.key_variable));
  }
  EXPECT_FALSE(make("azure", ""));
  EXPECT_FALSE(make("magic", ""));
  // The user's own server must not get a key that is meant for the official one.
  const auto own = make("openai", "http://user:secret@localhost:1/v1?key=secret");
  EXPECT_EQ(own->key_place, "none");
  EXPECT_EQ(own->default_model, "");
  EXPECT_EQ(own->base_url, "http://localhost:1/v1");
}

TEST(Keys, ComeFromWordsTheEnvironmentOrACommand) {
  const auto read = [](std::string_view text) { return read_key(key_source_from(text), 5s); };
  EXPECT_EQ(*read(""), "");
  EXPECT_EQ(*read(" sk-1 "), "sk-1");
  ::setenv("REEF_TEST_KEY", " sk-2\n", 1);
  EXPECT_EQ(*read("env:REEF_TEST_KEY"), "sk-2");
  ::unsetenv("REEF_TEST_KEY");
  const auto missing = read("env:REEF_TEST_KEY");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find("REEF_TEST_KEY"), std::string::npos);
  EXPECT_EQ(*read("cmd: printf 'sk-3\\nmore\\n'"), "sk-3");
  EXPECT_FALSE(read("cmd:true"));
  EXPECT_FALSE(read("cmd:no-such-command-anywhere"));
}

TEST(Keys, ACommandThatHangsIsEnded) {
  const auto before = std::chrono::steady_clock::now();
  const auto hung = read_key(key_source_from("cmd:sleep 100 & sleep 100"), 100ms);
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().code, Errc::timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 10s);
}

TEST(Keys, AreNeverShown) {
  EXPECT_EQ(describe(key_source_from("sk-secret")), "set");
  EXPECT_EQ(describe(key_source_from("cmd:echo sk-secret")), "cmd");
  EXPECT_EQ(describe(key_source_from("env:NAME")), "env:NAME");
  EXPECT_EQ(describe(key_source_from("")), "none");
}

Task<ModelsOutcome> answer_with(int& asked, ModelsOutcome outcome) {
  ++asked;
  co_await yield_to_loop();
  co_return outcome;
}

Task<ModelsOutcome> hang() {
  co_await sleep_for(1h);
  co_return std::vector<ModelFacts>();
}

TEST(Lists, AreAskedForOnceAndKept) {
  boost::asio::io_context io(1);
  test::ManualClock clock(io);
  ModelLists lists(io.get_executor());
  auto providers = std::make_shared<Providers>();
  int asked = 0;
  auto good = entry("good", {});
  ModelFacts facts;
  facts.id = "m";
  good.list = [&] { return answer_with(asked, std::vector<ModelFacts>{facts}); };
  auto bad = entry("bad", {});
  bad.list = [&] { return answer_with(asked, Failure{Failure::Kind::auth, "bad key", 401, {}}); };
  auto slow = entry("slow", {});
  slow.list = [] { return hang(); };
  ASSERT_TRUE(providers->add(good));
  ASSERT_TRUE(providers->add(bad));
  ASSERT_TRUE(providers->add(slow));
  ASSERT_TRUE(providers->add(entry("none", {})));

  const auto begin = clock.steady();
  const auto first = clock.run(lists.look(providers, "", 5s));
  EXPECT_EQ(clock.steady() - begin, 5s) << "one of them has not answered";
  ASSERT_EQ(first.size(), 3U);
  ASSERT_EQ(first.at("good").models.size(), 1U);
  EXPECT_NE(first.at("bad").problem.find("bad key"), std::string::npos);
  EXPECT_EQ(first.at("slow").problem, "has not answered yet");
  EXPECT_EQ(asked, 2);
  static_cast<void>(test::run(io, lists.look(providers, "good", 5s)));
  EXPECT_EQ(asked, 2);
  // A failed list is asked for again ten seconds later, a good one after ten minutes.
  clock.advance(5s);
  static_cast<void>(test::run(io, lists.look(providers, "bad", 5s)));
  EXPECT_EQ(asked, 3);
  clock.advance(9min);
  static_cast<void>(test::run(io, lists.look(providers, "good", 5s)));
  EXPECT_EQ(asked, 3);
  clock.advance(1min);
  static_cast<void>(test::run(io, lists.look(providers, "good", 5s)));
  EXPECT_EQ(asked, 4);
  lists.forget();
  static_cast<void>(test::run(io, lists.look(providers, "good", 5s)));
  EXPECT_EQ(asked, 5);
  test::run(io, lists.stop());
}

}  // namespace
}  // namespace reef::model
