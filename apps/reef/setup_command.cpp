// reef setup: asks a few questions, tries the provider, and has the daemon write config.toml.
#include "setup_command.h"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "base/utf8.h"
#include "secret.h"

namespace reef::cli {
namespace {

using client::Client;

constexpr std::chrono::milliseconds kTestMax{90'000};

const protocol::ProviderKind* find_kind(const protocol::ProviderList& list,
                                        const std::string& name) {
  for (const auto& kind : list.kinds())
    if (kind.name() == name) return &kind;
  return nullptr;
}

Result<protocol::ProviderDefinition> define(const protocol::ProviderList& list,
                                            const SetupOptions& options, bool asks) {
  protocol::ProviderDefinition out;
  auto kind_name = options.kind;
  if (kind_name.empty()) {
    if (!asks) return Error(Errc::invalid, "name a kind: reef setup --kind openai");
    for (const auto& kind : list.kinds())
      std::fprintf(stderr, "  %-17s %s\n", kind.name().c_str(), kind.what().c_str());
    REEF_TRY(kind_name, ask_for("Kind of provider", "openai"));
  }
  const auto* kind = find_kind(list, kind_name);
  if (!kind)
    return Error(Errc::invalid, fmt::format("there is no kind '{}'; `reef providers --json` lists "
                                            "them",
                                            utf8::excerpt(kind_name)));
  out.set_kind(kind_name);
  out.set_name(options.name.empty() ? kind_name : options.name);
  out.set_api_version(options.api_version);

  auto base_url = options.base_url;
  if (base_url.empty() && asks) {
    REEF_TRY(base_url, ask_for("Address", kind->base_url()));
  }
  if (base_url != kind->base_url()) out.set_base_url(base_url);

  REEF_TRY(auto key, read_secret(options.key, "key"));
  if (options.key != "-") warn_of_open_secret(key, "--key");
  if (key.empty() && asks && !kind->key_variable().empty()) {
    const auto variable = fmt::format("env:{}", kind->key_variable());
    const bool set = std::getenv(kind->key_variable().c_str()) != nullptr;
    std::fprintf(stderr, "The key itself, env:NAME, or cmd:COMMAND; it is not shown.%s\n",
                 set ? "" : fmt::format(" {} is not set here.", kind->key_variable()).c_str());
    REEF_TRY(key, ask_hidden("Key", variable));
  }
  out.set_key(key);

  auto model = options.model;
  if (model.empty() && asks) {
    REEF_TRY(model, ask_for("Model", kind->default_model()));
  }
  if (model.empty()) model = kind->default_model();
  if (model.empty()) return Error(Errc::invalid, "name a model: --model NAME");
  out.set_default_model(model);
  return out;
}

Task<Status> setup(const Context& context, Client& client, SetupOptions options) {
  // A kind on the command line comes from a script, or from somebody who knows what to say.
  const bool asks = options.kind.empty();
  protocol::ClientMessage message;
  message.mutable_list_providers();
  REEF_CO_TRY(const auto listed,
              co_await client.request(std::move(message), Client::Repeat::safe, kAnswerMax));
  REEF_CO_TRY(const auto definition, define(listed.provider_list(), options, asks));

  if (!options.no_test) {
    protocol::ClientMessage testing;
    *testing.mutable_test_provider()->mutable_definition() = definition;
    REEF_CO_TRY(const auto tested,
                co_await client.request(std::move(testing), Client::Repeat::safe, kTestMax));
    const auto& verdict = tested.provider_verdict();
    if (!context.json) print_line(describe(verdict));
    if (!verdict.ok()) {
      bool anyway = false;
      if (asks) {
        REEF_CO_TRY(const auto answer, ask_for("Write it all the same? y/n", "n"));
        anyway = answer == "y" || answer == "yes";
      }
      if (!anyway)
        co_return Error(Errc::provider,
                        fmt::format("{}; nothing was changed (--no-test writes it all the same)",
                                    verdict.failure()));
    }
  }
  protocol::ClientMessage saving;
  *saving.mutable_save_provider()->mutable_definition() = definition;
  saving.mutable_save_provider()->set_make_default(!options.keep_default);
  REEF_CO_TRY(const auto saved,
              co_await client.request(std::move(saving), Client::Repeat::never, kAnswerMax));
  static_cast<void>(saved);
  const auto model = definition.name() + "/" + definition.default_model();
  if (context.json) {
    print_json(json::object{{"ok", true},
                            {"provider", definition.name()},
                            {"model", model},
                            {"default", !options.keep_default}});
  } else {
    print_line(fmt::format("written to {}; {}", context.home.config(),
                           options.keep_default ? fmt::format("ask for it as {}", model)
                                                : fmt::format("agents use {} now", model)));
  }
  co_return Ok{};
}

}  // namespace

int run_setup(const Context& context, const SetupOptions& options) {
  for (const auto* text : {&options.kind, &options.name, &options.base_url, &options.key,
                           &options.model, &options.api_version})
    if (!utf8::valid(*text)) {
      report("setup", Error(Errc::invalid, "what is given must be UTF-8"));
      return 2;
    }
  return with_client(context, "setup", Start::if_needed,
                     [&](Client& client) { return setup(context, client, options); });
}

}  // namespace reef::cli
