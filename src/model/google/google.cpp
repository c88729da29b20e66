#include "model/google/google.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/utf8.h"
#include "http/url.h"
#include "model/base_url.h"
#include "model/google/wire.h"
#include "model/overflow.h"
#include "model/reply_builder.h"

namespace reef::model {
namespace google {
namespace {

constexpr std::pair<std::string_view, Failure::Kind> kStatuses[] = {
    {"UNAUTHENTICATED", Failure::Kind::auth},
    {"PERMISSION_DENIED", Failure::Kind::auth},
    {"RESOURCE_EXHAUSTED", Failure::Kind::rate_limit},
    {"UNAVAILABLE", Failure::Kind::overloaded},
    {"DEADLINE_EXCEEDED", Failure::Kind::timeout},
    {"INTERNAL", Failure::Kind::server},
    {"INVALID_ARGUMENT", Failure::Kind::invalid_request},
    {"FAILED_PRECONDITION", Failure::Kind::invalid_request},
    {"NOT_FOUND", Failure::Kind::invalid_request},
};

// Parses "7s" or "1.5s".
std::optional<std::chrono::milliseconds> duration_from(std::string_view text) {
  double seconds = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (failed != std::errc() || std::string_view(end, text.data() + text.size()) != "s" ||
      !(seconds >= 0 && seconds < 1e9))
    return std::nullopt;
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

void take_detail(Failure& failure, const json::object& detail) {
  if (const auto delay = json::find_string(detail, "retryDelay"))
    failure.retry_after = duration_from(*delay);
  if (json::find_string(detail, "reason") == "API_KEY_INVALID") failure.kind = Failure::Kind::auth;
  if (const auto* violations = json::find_array(detail, "violations"))
    for (const auto& item : *violations)
      if (const auto* violation = item.if_object()) {
        const auto quota = json::find_string(*violation, "quotaId").value_or("");
        // A daily quota is renewed only tomorrow.
        if (quota.find("PerDay") != std::string_view::npos) failure.final = true;
      }
}

}  // namespace

Failure failure_of(const json::object& error, int status) {
  const auto message = json::find_string(error, "message").value_or("");
  auto failure = failure_of_status(status, message);
  const auto name = json::find_string(error, "status").value_or("");
  for (const auto& [known, kind] : kStatuses)
    if (known == name) failure.kind = kind;
  if (message.empty() && !name.empty()) failure.message = utf8::excerpt(name);
  if (failure.kind == Failure::Kind::invalid_request && says_too_long(message))
    failure.kind = Failure::Kind::context_overflow;
  if (message.starts_with("API key not valid")) failure.kind = Failure::Kind::auth;
  if (const auto* details = json::find_array(error, "details"))
    for (const auto& detail : *details)
      if (const auto* object = detail.if_object()) take_detail(failure, *object);
  return failure;
}

}  // namespace google

GoogleCodec::GoogleCodec(GoogleOptions options) : options_(std::move(options)) {
  auto& url = options_.base_url;
  url = base_url_from(before_folder(url, "/models/"), {"/models"});
  if (!url.ends_with("/v1beta") && !url.ends_with("/v1")) url += "/v1beta";
}

Headers GoogleCodec::headers() const {
  Headers out;
  if (!options_.key.empty()) out.emplace_back("x-goog-api-key", options_.key);
  return out;
}

HttpRequest GoogleCodec::encode(const Request& request, const ModelFacts& facts,
                                TimePoint /*now*/) const {
  std::string_view model = request.model;
  if (model.starts_with("models/")) model.remove_prefix(7);
  HttpRequest out;
  out.url = fmt::format("{}/models/{}:streamGenerateContent?alt=sse", options_.base_url,
                        http::percent_encoded(model));
  out.headers = headers();
  out.headers.emplace_back("content-type", "application/json");
  out.body = json::write(google::request_body(request, facts));
  return out;
}

std::unique_ptr<Decoder> GoogleCodec::decoder(const Request& request,
                                              const ModelFacts& /*facts*/) const {
  return google::make_decoder(request);
}

Failure GoogleCodec::failure(int status, const Headers& /*headers*/, std::string_view body) const {
  const auto parsed = json::parse_lenient(body);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  // A streaming request fails with an array of one error.
  if (const auto* all = parsed ? parsed->if_array() : nullptr; all && !all->empty())
    object = all->front().if_object();
  const auto* error = object ? json::find_object(*object, "error") : nullptr;
  return error ? google::failure_of(*error, status) : failure_of_status(status, body);
}

std::optional<HttpRequest> GoogleCodec::encode_list(TimePoint /*now*/) const {
  HttpRequest out;
  out.method = "GET";
  out.url = options_.base_url + "/models?pageSize=1000";
  out.headers = headers();
  return out;
}

std::vector<ModelFacts> GoogleCodec::decode_list(std::string_view body) const {
  std::vector<ModelFacts> out;
  const auto parsed = json::parse_lenient(body);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  const auto* models = object ? json::find_array(*object, "models") : nullptr;
  if (!models) return out;
  for (const auto& item : *models) {
    const auto* model = item.if_object();
    auto name = model ? json::find_string(*model, "name").value_or("") : std::string_view();
    if (name.starts_with("models/")) name.remove_prefix(7);
    if (name.empty()) continue;
    // Models for embeddings and the like cannot hold a conversation.
    if (const auto* methods = json::find_array(*model, "supportedGenerationMethods");
        methods && std::find(methods->begin(), methods->end(), json::value("generateContent")) ==
                       methods->end())
      continue;
    ModelFacts facts;
    facts.id = name;
    facts.context_window = json::find_int(*model, "inputTokenLimit").value_or(0);
    facts.max_output = json::find_int(*model, "outputTokenLimit").value_or(0);
    facts.thinking = json::find_bool(*model, "thinking").value_or(false);
    out.push_back(std::move(facts));
  }
  return out;
}

}  // namespace reef::model
