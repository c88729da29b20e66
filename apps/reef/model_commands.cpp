#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/utf8.h"
#include "command_rows.h"
#include "setup_command.h"

namespace reef::cli {
namespace {

using client::Client;

// A backend may be slow, so this is longer than the daemon waits for it.
constexpr std::chrono::milliseconds kTestMax{90'000};

std::string tokens(std::int64_t count) {
  if (count <= 0) return "-";
  if (count >= 1'000'000) return fmt::format("{:.3g}M", double(count) / 1e6);
  return fmt::format("{:.4g}k", double(count) / 1e3);
}

std::string price(double dollars) {
  return dollars > 0 ? fmt::format("{:.4g}", dollars) : "-";
}

json::object to_json(const protocol::ModelInfo& model) {
  return json::object{{"name", model.name()},
                      {"provider", model.provider()},
                      {"active", model.active()},
                      {"configured", model.configured()},
                      {"contextWindow", model.context_window()},
                      {"maxOutput", model.max_output()},
                      {"images", model.images()},
                      {"tools", model.tools()},
                      {"thinking", model.thinking()},
                      {"price", json::object{{"input", model.price_input()},
                                             {"output", model.price_output()},
                                             {"cacheRead", model.price_cache_read()},
                                             {"cacheWrite", model.price_cache_write()}}}};
}

void print_models(const protocol::ModelList& list) {
  std::size_t width = 5;
  for (const auto& model : list.models()) width = std::max(width, shown(model.name()).size());
  print_line(fmt::format("  {:<{}}  {:>8} {:>8} {:>8} {:>8}  {}", "model", width, "window",
                         "output", "$ in", "$ out", "can"));
  for (const auto& model : list.models()) {
    std::vector<std::string_view> can;
    if (model.tools()) can.emplace_back("tools");
    if (model.images()) can.emplace_back("images");
    if (model.thinking()) can.emplace_back("thinking");
    print_line(fmt::format("{} {:<{}}  {:>8} {:>8} {:>8} {:>8}  {}", model.active() ? "*" : " ",
                           shown(model.name()), width, tokens(model.context_window()),
                           tokens(model.max_output()), price(model.price_input()),
                           price(model.price_output()), fmt::join(can, ", ")));
  }
}

Task<Status> models(const Context& context, Client& client, std::string provider) {
  protocol::ClientMessage message;
  message.mutable_list_models()->set_provider(provider);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::safe, kAnswerMax));
  const auto& list = answer.model_list();
  if (context.json) {
    json::array out;
    for (const auto& model : list.models()) out.push_back(to_json(model));
    json::array problems;
    for (const auto& problem : list.problems()) problems.push_back(json::value(problem));
    print_json(json::object{{"models", std::move(out)}, {"problems", std::move(problems)}});
    co_return Ok{};
  }
  print_models(list);
  for (const auto& problem : list.problems())
    std::fprintf(stderr, "reef: models: %s\n", shown(problem).c_str());
  co_return Ok{};
}

Task<Status> use(const Context& context, Client& client, std::string model) {
  protocol::ClientMessage message;
  message.mutable_set_active_model()->set_model(model);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::safe, kAnswerMax));
  static_cast<void>(answer);
  if (context.json) {
    print_json(json::object{{"ok", true}, {"model", model}});
  } else {
    print_line(fmt::format("agents that name no model use {} now", shown(model)));
  }
  co_return Ok{};
}

Task<Status> providers(const Context& context, Client& client) {
  protocol::ClientMessage message;
  message.mutable_list_providers();
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::safe, kAnswerMax));
  const auto& list = answer.provider_list();
  if (context.json) {
    json::array out;
    for (const auto& provider : list.providers()) {
      json::array names;
      for (const auto& model : provider.models()) names.push_back(json::value(model));
      out.push_back(json::object{{"name", provider.name()},
                                 {"kind", provider.kind()},
                                 {"active", provider.active()},
                                 {"baseUrl", provider.base_url()},
                                 {"key", provider.key()},
                                 {"defaultModel", provider.default_model()},
                                 {"models", std::move(names)}});
    }
    json::array kinds;
    for (const auto& kind : list.kinds())
      kinds.push_back(json::object{{"name", kind.name()},
                                   {"what", kind.what()},
                                   {"baseUrl", kind.base_url()},
                                   {"keyVariable", kind.key_variable()},
                                   {"defaultModel", kind.default_model()}});
    print_json(json::object{{"providers", std::move(out)}, {"kinds", std::move(kinds)}});
    co_return Ok{};
  }
  std::size_t width = 8;
  for (const auto& provider : list.providers())
    width = std::max(width, shown(provider.name()).size());
  print_line(fmt::format("  {:<{}}  {:<17} {:<24} {:<28} {}", "provider", width, "kind", "key",
                         "default model", "address"));
  for (const auto& provider : list.providers())
    print_line(fmt::format("{} {:<{}}  {:<17} {:<24} {:<28} {}", provider.active() ? "*" : " ",
                           shown(provider.name()), width, provider.kind(), shown(provider.key()),
                           shown(provider.default_model()), shown(provider.base_url())));
  co_return Ok{};
}

Task<Status> test(const Context& context, Client& client, std::string name, std::string model) {
  protocol::ClientMessage message;
  message.mutable_test_provider()->set_name(name);
  message.mutable_test_provider()->set_model(model);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::safe, kTestMax));
  const auto& verdict = answer.provider_verdict();
  if (context.json) {
    json::object out{{"ok", verdict.ok()},
                     {"provider", verdict.provider()},
                     {"model", verdict.model()},
                     {"totalMs", verdict.total_ms()}};
    if (verdict.ok()) {
      out["modelUsed"] = verdict.model_used();
      out["firstWordMs"] = verdict.first_word_ms();
      out["inputTokens"] = verdict.input_tokens();
      out["outputTokens"] = verdict.output_tokens();
    } else {
      out["failure"] = verdict.failure();
      out["httpStatus"] = verdict.http_status();
      out["message"] = verdict.message();
      out["advice"] = verdict.advice();
    }
    print_json(out);
  } else {
    print_line(describe(verdict));
  }
  if (!verdict.ok())
    co_return Error(Errc::provider, fmt::format("provider '{}' does not work", name));
  co_return Ok{};
}

Task<Status> remove(const Context& context, Client& client, std::string name) {
  protocol::ClientMessage message;
  message.mutable_remove_provider()->set_name(name);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::never, kAnswerMax));
  static_cast<void>(answer);
  if (context.json) {
    print_json(json::object{{"ok", true}});
  } else {
    print_line(fmt::format("{} removed", shown(name)));
  }
  co_return Ok{};
}

}  // namespace

std::string describe(const protocol::ProviderVerdict& verdict) {
  if (verdict.ok())
    return fmt::format(
        "{} works: {} answered in {} ms, first word after {} ms ({} tokens in, {} out)",
        shown(verdict.provider()), shown(verdict.model_used()), verdict.total_ms(),
        verdict.first_word_ms(), verdict.input_tokens(), verdict.output_tokens());
  const auto status =
      verdict.http_status() ? fmt::format(", HTTP {}", verdict.http_status()) : std::string();
  auto out = fmt::format("{} does not work ({}{}, after {} ms): {}", shown(verdict.provider()),
                         verdict.failure(), status, verdict.total_ms(), shown(verdict.message()));
  if (!verdict.advice().empty()) out += "\n" + shown(verdict.advice());
  return out;
}

class ModelCommands final : public CommandGroup {
 public:
  ModelCommands(CLI::App& app, bool& json);
  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  struct Options {
    CLI::App* models = nullptr;
    CLI::App* providers = nullptr;
    CLI::App* test = nullptr;
    CLI::App* rm = nullptr;
    CLI::App* setup = nullptr;
    std::string provider, use, name, model;
    SetupOptions setting_up;
  };
  Options options_;
};

ModelCommands::ModelCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  const auto add = [&](CLI::App& parent, const char* name, const char* what,
                       const std::string& example) {
    return add_command(parent, json, name, what, example);
  };
  o.models = add(app, "models", "Models, what they can do and cost; * is the default",
                 "reef models\n  reef models openai --json | jq -r '.models[].name'\n"
                 "  reef models --use openai/gpt-5-mini");
  o.models->add_option("PROVIDER", o.provider, "Only those of this provider");
  o.models->add_option("--use", o.use, "Make this the default model, now and after a restart")
      ->type_name("MODEL");

  o.providers = add(app, "providers", "Where models come from",
                    "reef providers\n  reef providers test openai");
  o.providers->require_subcommand(0, 1);
  o.test = add(*o.providers, "test", "Make a tiny call and say whether it works",
               "reef providers test openai --model gpt-5-mini");
  o.test->add_option("NAME", o.name, "Of the provider")->required();
  o.test->add_option("--model", o.model, "Another model than its default")->type_name("MODEL");
  o.rm = add(*o.providers, "rm", "Take a provider out of config.toml", "reef providers rm openai");
  o.rm->add_option("NAME", o.name, "Of the provider")->required();

  auto& s = o.setting_up;
  o.setup = add(app, "setup", "Ask for a provider, test it and write it to config.toml",
                "reef setup\n"
                "  reef setup --kind openai --key env:OPENAI_API_KEY --model gpt-5-mini\n"
                "  pass show openai | reef setup --kind openai --key -\n"
                "  reef setup --kind ollama --model llama3.3");
  o.setup->add_option("--kind", s.kind, "What it is; `reef providers --json` lists the kinds");
  o.setup->add_option("--name", s.name, "What to call it (default: its kind)");
  o.setup->add_option("--base-url", s.base_url, "Its address (default: the kind's own)")
      ->type_name("URL");
  o.setup->add_option("--key", s.key,
                      "env:NAME, cmd:COMMAND, or -: the key is read from standard input");
  o.setup->add_option("--model", s.model, "Its default model");
  o.setup->add_option("--api-version", s.api_version, "Azure's, for the dated API");
  o.setup->add_flag("--no-test", s.no_test, "Write it without a try");
  o.setup->add_flag("--keep-default", s.keep_default, "Leave the default model as it is");
}

bool ModelCommands::parsed() const {
  return options_.models->parsed() || options_.providers->parsed() || options_.setup->parsed();
}

int ModelCommands::run(const Context& context) const {
  const auto& o = options_;
  const auto ask = [&](std::string_view command, const std::function<Task<Status>(Client&)>& body) {
    return with_client(context, command, Start::if_needed, body);
  };
  for (const auto* text : {&o.provider, &o.use, &o.name, &o.model})
    if (!utf8::valid(*text)) {
      report("models", Error(Errc::invalid, "a name must be UTF-8"));
      return 2;
    }
  if (o.setup->parsed()) return run_setup(context, o.setting_up);
  if (o.models->parsed()) {
    if (!o.use.empty())
      return ask("models", [&](Client& client) { return use(context, client, o.use); });
    return ask("models", [&](Client& client) { return models(context, client, o.provider); });
  }
  if (o.test->parsed())
    return ask("providers test",
               [&](Client& client) { return test(context, client, o.name, o.model); });
  if (o.rm->parsed())
    return ask("providers rm", [&](Client& client) { return remove(context, client, o.name); });
  return ask("providers", [&](Client& client) { return providers(context, client); });
}

std::unique_ptr<CommandGroup> model_commands(CLI::App& app, bool& json) {
  return std::make_unique<ModelCommands>(app, json);
}

}  // namespace reef::cli
