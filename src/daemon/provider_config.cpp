#include "daemon/provider_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/utf8.h"
#include "daemon/toml_json.h"

namespace reef::daemon {
namespace {

constexpr std::int64_t kTimeoutMsMax = 3'600'000;
constexpr std::int64_t kTokensMax = 1'000'000'000;
constexpr double kPriceMax = 1e6;
constexpr std::size_t kNameBytesMax = 64;

std::string kinds() {
  std::vector<std::string_view> names{"local", "scripted"};
  for (const auto& kind : model::provider_kinds()) names.push_back(kind.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

void read_timeout(Table& table, std::string_view key, std::chrono::milliseconds& into) {
  std::int64_t value = into.count();
  table.read(key, 1, kTimeoutMsMax, value);
  into = std::chrono::milliseconds(value);
}

Status read_headers(Table& table, std::string_view file, const std::string& prefix,
                    model::Headers& into, std::vector<std::string>& warnings) {
  const auto* section = table.sub("headers");
  if (!section) return Ok{};
  Table headers(*section, file, prefix + "headers.");
  for (const auto& [key, node] : *section) {
    std::string value;
    headers.read(key.str(), value);
    into.emplace_back(key.str(), std::move(value));
  }
  return headers.finish(warnings);
}

template <class T>
void read_optional(Table& table, std::string_view key, std::optional<T>& into) {
  if constexpr (std::is_same_v<T, bool>) {
    bool value = false;
    if (!table.find(key)) return;
    table.read(key, value);
    into = value;
  } else {
    T value = 0;
    if (!table.find(key)) return;
    table.read(key, 1, kTokensMax, value);
    into = value;
  }
}

Status read_facts(Table& table, std::string_view file, const std::string& prefix,
                  model::ProviderSpec& spec, std::vector<std::string>& warnings) {
  const auto* section = table.sub("facts");
  if (!section) return Ok{};
  for (const auto& [key, node] : *section) {
    const auto place = fmt::format("{}facts.{}.", prefix, key.str());
    const auto* fields = node.as_table();
    if (!fields) {
      table.refuse(fmt::format("facts.{}", key.str()), node, "must be a table");
      return Ok{};
    }
    Table one(*fields, file, place);
    auto& facts = spec.facts[std::string(key.str())];
    read_optional(one, "context_window", facts.context_window);
    read_optional(one, "max_output", facts.max_output);
    read_optional(one, "images", facts.images);
    read_optional(one, "tools", facts.tools);
    read_optional(one, "thinking", facts.thinking);
    one.read("price_input", 0, kPriceMax, facts.price_input);
    one.read("price_output", 0, kPriceMax, facts.price_output);
    one.read("price_cache_read", 0, kPriceMax, facts.price_cache_read);
    one.read("price_cache_write", 0, kPriceMax, facts.price_cache_write);
    REEF_CHECK(one.finish(warnings));
  }
  return Ok{};
}

}  // namespace

Status read_providers(Table& root, std::string_view file, LoadedConfig& out) {
  const auto* providers = root.sub("providers");
  if (!providers) return Ok{};
  for (const auto& [name, node] : *providers) {
    const auto prefix = fmt::format("providers.{}.", name.str());
    const auto place =
        fmt::format("{}:{}: providers.{}", file, node.source().begin.line, name.str());
    const auto* fields = node.as_table();
    if (!fields) return Error(Errc::invalid, place + ": must be a table");
    if (!is_name(name.str()))
      return Error(
          Errc::invalid,
          place + ": a provider's name is letters, digits, dashes, points and underscores");
    Table table(*fields, file, prefix);
    ProviderConfig provider;
    provider.place = place;
    auto& spec = provider.spec;
    spec.name = name.str();
    table.read("kind", spec.kind);
    table.read("script", provider.script);
    table.read("base_url", spec.base_url);
    table.read("key", spec.key);
    table.read("models", spec.models);
    table.read("default_model", spec.default_model);
    read_timeout(table, "connect_timeout_ms", spec.timeouts.connect);
    read_timeout(table, "first_byte_timeout_ms", spec.timeouts.first_byte);
    read_timeout(table, "idle_timeout_ms", spec.timeouts.idle);
    table.read("retries_max", 0, 10, spec.retries_max);
    table.read("stream_usage", spec.stream_usage);
    table.read("api_version", spec.api_version);
    table.read("auth", spec.auth);
    table.read("region", spec.region);
    table.read("ca_file", spec.ca_file);
    REEF_CHECK(read_headers(table, file, prefix, spec.headers, out.warnings));
    REEF_CHECK(read_facts(table, file, prefix, spec, out.warnings));
    const auto* kind = fields->get("kind");
    if (spec.kind != "scripted" && spec.kind != "local" && !model::find_kind(spec.kind))
      table.refuse("kind", kind ? *kind : node, fmt::format("must be one of: {}", kinds()));
    if (spec.kind == "scripted" && provider.script.empty())
      table.refuse("script", node, "a scripted provider needs the file of its script");
    if (!spec.auth.empty() && spec.auth != "api-key" && spec.auth != "bearer")
      table.refuse("auth", *fields->get("auth"), "must be one of: api-key, bearer");
    if (const auto* known = model::find_kind(spec.kind);
        known && known->needs_address && spec.base_url.empty())
      table.refuse("base_url", node, fmt::format("kind '{}' needs one", spec.kind));
    if (const auto* script = fields->get("script"))
      provider.script_place = table.place("script", *script);
    REEF_CHECK(table.finish(out.warnings));
    out.config.providers.emplace(name.str(), std::move(provider));
  }
  return Ok{};
}

void read_model(Table& root, runtime::Agent& agent) {
  root.read("model", agent.model);
  std::vector<std::string> models;
  root.read("models", models);
  if (!models.empty()) {
    agent.model = models.front();
    models.erase(models.begin());
    agent.fallback = std::move(models);
  }
  root.read("fallback", agent.fallback);
  std::string thinking;
  root.read("thinking", thinking);
  if (!thinking.empty()) {
    const auto level = model::thinking_level_from(thinking);
    if (!level)
      root.refuse("thinking", *root.find("thinking"),
                  "must be one of: off, minimal, low, medium, high, xhigh");
    agent.thinking = level.value_or(model::ThinkingLevel::off);
  }
  read_optional(root, "max_tokens", agent.max_tokens);
  if (const auto* parameters = root.sub("parameters"))
    agent.parameters = to_json(*parameters).as_object();
}

}  // namespace reef::daemon
