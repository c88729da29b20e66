#include "model/registry.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "model/anthropic/anthropic.h"
#include "model/azure/azure.h"
#include "model/bedrock/bedrock.h"
#include "model/facts.h"
#include "model/google/google.h"
#include "model/openai/openai.h"

namespace reef::model {
namespace {

constexpr bool kFree = true;
constexpr bool kNeedsAddress = true;

constexpr ProviderKind kProviderKinds[] = {
    {"anthropic", "Anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY",
     "claude-sonnet-4-5"},
    {"openai", "OpenAI, and any server that speaks like it (set base_url)",
     "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5-mini"},
    {"openai-responses", "OpenAI's Responses API", "https://api.openai.com/v1", "OPENAI_API_KEY",
     "gpt-5-mini"},
    {"google", "Google Gemini", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY",
     "gemini-2.5-flash"},
    {"azure", "OpenAI's models on Azure; models are deployments", "", "AZURE_OPENAI_API_KEY", "",
     !kFree, kNeedsAddress},
    {"azure-responses", "the same through the Responses API", "", "AZURE_OPENAI_API_KEY", "",
     !kFree, kNeedsAddress},
    {"bedrock", "Amazon Bedrock; keys and region as AWS's own programs find them", "", "", ""},
    {"openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", ""},
    {"groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", ""},
    {"deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-chat"},
    {"mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-large-latest"},
    {"xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4"},
    {"ollama", "Ollama on this machine", "http://localhost:11434/v1", "", "", kFree},
    {"lmstudio", "LM Studio on this machine", "http://localhost:1234/v1", "", "", kFree},
    {"llamacpp", "llama.cpp's server on this machine", "http://localhost:8080/v1", "", "", kFree},
    {"vllm", "vLLM on this machine", "http://localhost:8000/v1", "", "", kFree},
};

template <class T, class U>
void override_with(T& value, const std::optional<U>& given) {
  if (given) value = *given;
}

using CodecPtr = std::shared_ptr<const Codec>;

std::string from_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? value : "";
}

CodecFor azure_codec(const ProviderSpec& spec, const std::string& base_url) {
  azure::Settings settings{base_url, spec.api_version};
  if (spec.auth == "bearer") settings.auth = azure::Settings::Auth::bearer;
  if (spec.auth == "api-key") settings.auth = azure::Settings::Auth::api_key;
  if (spec.kind == "azure-responses")
    return [settings](const std::string& key) -> CodecPtr {
      return std::make_shared<openai::ResponsesCodec>(azure::endpoint_at(settings, key));
    };
  return [settings, usage = spec.stream_usage](const std::string& key) -> CodecPtr {
    return std::make_shared<openai::ChatCodec>(
        openai::ChatSettings{azure::endpoint_at(settings, key), usage});
  };
}

CodecFor codec_for(const ProviderSpec& spec, const std::string& base_url) {
  if (spec.kind == "azure" || spec.kind == "azure-responses") return azure_codec(spec, base_url);
  if (spec.kind == "anthropic")
    return [base_url](const std::string& key) -> CodecPtr {
      return std::make_shared<AnthropicCodec>(AnthropicOptions{base_url, key});
    };
  if (spec.kind == "google")
    return [base_url](const std::string& key) -> CodecPtr {
      return std::make_shared<GoogleCodec>(GoogleOptions{base_url, key});
    };
  if (spec.kind == "bedrock")
    return [base_url, region = spec.region](const std::string& key) -> CodecPtr {
      return std::make_shared<BedrockCodec>(
          bedrock_options(key, region, base_url, from_environment));
    };
  if (spec.kind == "openai-responses")
    return [base_url](const std::string& key) -> CodecPtr {
      return std::make_shared<openai::ResponsesCodec>(openai::endpoint_at(base_url, key));
    };
  // All other kinds speak Chat Completions.
  return [base_url, usage = spec.stream_usage](const std::string& key) -> CodecPtr {
    return std::make_shared<openai::ChatCodec>(
        openai::ChatSettings{openai::endpoint_at(base_url, key), usage});
  };
}

// Removes the query and a password from an address for lists, because they may be keys.
std::string without_secrets(std::string url) {
  url.erase(std::min(url.find_first_of("?#"), url.size()));
  const auto scheme = url.find("://");
  const auto begin = scheme == std::string::npos ? 0 : scheme + 3;
  const auto end = std::min(url.find('/', begin), url.size());
  if (const auto at = url.rfind('@', end); at != std::string::npos && at > begin && at < end)
    url.erase(begin, at + 1 - begin);
  return url;
}

}  // namespace

std::span<const ProviderKind> provider_kinds() {
  return kProviderKinds;
}

const ProviderKind* find_kind(std::string_view name) {
  const auto found = std::find_if(std::begin(kProviderKinds), std::end(kProviderKinds),
                                  [&](const ProviderKind& kind) { return kind.name == name; });
  return found == std::end(kProviderKinds) ? nullptr : found;
}

ModelFacts facts_for(const ProviderSpec& spec, std::string_view model) {
  ModelFacts facts;
  if (auto known = known_model(model)) facts = *std::move(known);
  facts.id = model;
  if (const auto* kind = find_kind(spec.kind); kind && kind->free) facts.price = {};
  const auto own = spec.facts.find(model);
  if (own == spec.facts.end()) return facts;
  const auto& given = own->second;
  override_with(facts.context_window, given.context_window);
  override_with(facts.max_output, given.max_output);
  override_with(facts.images, given.images);
  override_with(facts.tools, given.tools);
  override_with(facts.thinking, given.thinking);
  override_with(facts.price.input, given.price_input);
  override_with(facts.price.output, given.price_output);
  override_with(facts.price.cache_read, given.price_cache_read);
  override_with(facts.price.cache_write, given.price_cache_write);
  return facts;
}

Result<Providers::Entry> make_provider(const ProviderSpec& spec, const HttpNeeds& needs) {
  const auto* kind = find_kind(spec.kind);
  if (!kind) return Error(Errc::invalid, fmt::format("kind '{}' is not known", spec.kind));
  const std::string base_url = spec.base_url.empty() ? std::string(kind->base_url) : spec.base_url;
  if (base_url.empty() && kind->needs_address)
    return Error(Errc::invalid, fmt::format("base_url: kind '{}' needs one", spec.kind));
  const bool own_place = !spec.base_url.empty() && !kind->base_url.empty();
  // A self-hosted server often needs no key; one that does will say so.
  const auto key = !spec.key.empty() ? spec.key
                   : kind->key_variable.empty() || own_place
                       ? std::string()
                       : fmt::format("env:{}", kind->key_variable);
  const auto source = key_source_from(key);

  HttpOptions options;
  options.timeouts = spec.timeouts;
  options.retries_max = spec.retries_max;
  options.headers = spec.headers;
  options.ca_file = spec.ca_file;
  const auto facts = [spec](std::string_view model) { return facts_for(spec, model); };
  const auto provider = std::make_shared<HttpProvider>(needs, codec_for(spec, base_url), source,
                                                       facts, std::move(options));
  Providers::Entry entry;
  entry.name = spec.name;
  entry.kind = spec.kind;
  entry.provider = provider;
  entry.models = spec.models;
  entry.default_model = !spec.default_model.empty() ? spec.default_model
                        : !spec.models.empty()      ? spec.models.front()
                                               : std::string(own_place ? "" : kind->default_model);
  entry.base_url = without_secrets(base_url);
  entry.key_place = describe(source);
  entry.facts = facts;
  entry.list = [provider] { return provider->list_models(); };
  return entry;
}

}  // namespace reef::model
