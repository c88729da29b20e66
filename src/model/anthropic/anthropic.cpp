#include "model/anthropic/anthropic.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "model/anthropic/wire.h"
#include "model/base_url.h"
#include "model/overflow.h"
#include "model/reply_builder.h"

namespace reef::model {
namespace anthropic {
namespace {

constexpr std::pair<std::string_view, Failure::Kind> kErrors[] = {
    {"authentication_error", Failure::Kind::auth},
    {"permission_error", Failure::Kind::auth},
    {"billing_error", Failure::Kind::rate_limit},
    {"not_found_error", Failure::Kind::invalid_request},
    {"invalid_request_error", Failure::Kind::invalid_request},
    {"request_too_large", Failure::Kind::context_overflow},
    {"rate_limit_error", Failure::Kind::rate_limit},
    {"overloaded_error", Failure::Kind::overloaded},
    {"timeout_error", Failure::Kind::timeout},
    {"api_error", Failure::Kind::server},
};

}  // namespace

Failure failure_of(const json::object& error, int status) {
  const auto message = json::find_string(error, "message").value_or("");
  auto failure = failure_of_status(status, message);
  const auto type = json::find_string(error, "type").value_or("");
  for (const auto& [name, kind] : kErrors)
    if (name == type) failure.kind = kind;
  if (failure.kind == Failure::Kind::invalid_request && says_too_long(message))
    failure.kind = Failure::Kind::context_overflow;
  if (message.empty() && !type.empty()) failure.message = utf8::excerpt(type);
  failure.final = failure.final || type == "billing_error" ||
                  type == "enforced_spend_limit_reached" ||
                  message.find("enforced_spend_limit_reached") != std::string_view::npos;
  return failure;
}

}  // namespace anthropic

AnthropicCodec::AnthropicCodec(AnthropicOptions options) : options_(std::move(options)) {
  options_.base_url = base_url_from(
      options_.base_url, {"/v1/messages", "/v1/messages/count_tokens", "/v1/messages/batches",
                          "/messages", "/v1/models", "/models", "/v1/complete", "/v1"});
}

Headers AnthropicCodec::headers() const {
  Headers out = {{"anthropic-version", "2023-06-01"}};
  if (options_.key.starts_with("sk-ant-oat")) {
    out.emplace_back("authorization", "Bearer " + options_.key);
    out.emplace_back("anthropic-beta", "oauth-2025-04-20");
  } else if (!options_.key.empty()) {
    out.emplace_back("x-api-key", options_.key);
  }
  return out;
}

HttpRequest AnthropicCodec::encode(const Request& request, const ModelFacts& facts,
                                   TimePoint /*now*/) const {
  HttpRequest out;
  out.url = options_.base_url + "/v1/messages";
  out.headers = headers();
  out.headers.emplace_back("content-type", "application/json");
  out.headers.emplace_back("accept", "text/event-stream");
  out.body = json::write(anthropic::request_body(request, facts));
  return out;
}

std::unique_ptr<Decoder> AnthropicCodec::decoder(const Request& request,
                                                 const ModelFacts& /*facts*/) const {
  return anthropic::make_decoder(request);
}

Failure AnthropicCodec::failure(int status, const Headers& /*headers*/,
                                std::string_view body) const {
  const auto parsed = json::parse_lenient(body);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  const auto* error = object ? json::find_object(*object, "error") : nullptr;
  return error ? anthropic::failure_of(*error, status) : failure_of_status(status, body);
}

std::optional<HttpRequest> AnthropicCodec::encode_list(TimePoint /*now*/) const {
  HttpRequest out;
  out.method = "GET";
  out.url = options_.base_url + "/v1/models?limit=1000";
  out.headers = headers();
  return out;
}

std::vector<ModelFacts> AnthropicCodec::decode_list(std::string_view body) const {
  std::vector<ModelFacts> out;
  const auto parsed = json::parse_lenient(body);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  const auto* data = object ? json::find_array(*object, "data") : nullptr;
  if (!data) return out;
  for (const auto& item : *data) {
    const auto* model = item.if_object();
    const auto id = model ? json::find_string(*model, "id") : std::nullopt;
    if (!id || id->empty()) continue;
    ModelFacts facts;
    facts.id = *id;
    facts.context_window = json::find_int(*model, "max_input_tokens").value_or(0);
    facts.max_output = json::find_int(*model, "max_tokens").value_or(0);
    out.push_back(std::move(facts));
  }
  return out;
}

}  // namespace reef::model
