// Makes providers from their descriptions: the kinds there are, and what each needs. Loop thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/http_provider.h"
#include "model/model.h"

namespace reef::model {

// One entry of config.toml's [providers], as written.
struct ProviderSpec {
  std::string name;
  std::string kind;
  std::string base_url;  // empty: the kind's default
  std::string key;       // the key itself, env:NAME or cmd:COMMAND; empty: the kind's variable
  std::vector<std::string> models;
  std::string default_model;  // empty: the first of `models`
  http::Timeouts timeouts;
  int retries_max = 2;
  Headers headers;
  std::string ca_file;  // replaces the system's store

  // Settings of single kinds.
  bool stream_usage = true;  // openai: ask for usage in streams
  std::string api_version;   // azure
  std::string auth;          // azure: api-key, bearer; empty: decided by the key's form
  std::string region;        // bedrock

  // The user's values, which replace those of the built-in table.
  struct Facts {
    std::optional<std::int64_t> context_window, max_output;
    std::optional<bool> images, tools, thinking;
    std::optional<double> price_input, price_output, price_cache_read, price_cache_write;
  };
  std::map<std::string, Facts, std::less<>> facts;
};

// Describes a kind of provider, for lists and for `reef setup`.
struct ProviderKind {
  std::string_view name;
  std::string_view what;           // one line for people
  std::string_view base_url;       // empty when there is no common address
  std::string_view key_variable;   // empty when no key is needed
  std::string_view default_model;  // a good one to begin with; empty: the user must choose
  bool free = false;               // runs locally, so there are no prices
  bool needs_address = false;      // the user must give the address
};
// The kinds behind HTTP; `local` and `scripted` are made elsewhere.
std::span<const ProviderKind> provider_kinds();
const ProviderKind* find_kind(std::string_view name);

ModelFacts facts_for(const ProviderSpec& spec, std::string_view model);

// Fails when the description is incomplete; connects to nothing yet.
Result<Providers::Entry> make_provider(const ProviderSpec& spec, const HttpNeeds& needs);

}  // namespace reef::model
