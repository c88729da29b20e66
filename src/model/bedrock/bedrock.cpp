#include "model/bedrock/bedrock.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "http/url.h"
#include "model/base_url.h"
#include "model/bedrock/wire.h"
#include "model/overflow.h"
#include "model/reply_builder.h"

namespace reef::model {
namespace bedrock {
namespace {

// In lower case and without "Exception", because headers and frames capitalise differently.
constexpr std::pair<std::string_view, Failure::Kind> kExceptions[] = {
    {"accessdenied", Failure::Kind::auth},
    {"unrecognizedclient", Failure::Kind::auth},
    {"expiredtoken", Failure::Kind::auth},
    {"invalidsignature", Failure::Kind::auth},
    {"incompletesignature", Failure::Kind::auth},
    {"missingauthenticationtoken", Failure::Kind::auth},
    {"invalidclienttokenid", Failure::Kind::auth},
    {"validation", Failure::Kind::invalid_request},
    {"resourcenotfound", Failure::Kind::invalid_request},
    {"throttling", Failure::Kind::rate_limit},
    {"toomanyrequests", Failure::Kind::rate_limit},
    {"servicequotaexceeded", Failure::Kind::rate_limit},
    {"modelnotready", Failure::Kind::overloaded},
    {"serviceunavailable", Failure::Kind::overloaded},
    {"internalserver", Failure::Kind::server},
    {"internalfailure", Failure::Kind::server},
    {"modelstreamerror", Failure::Kind::server},
    {"modelerror", Failure::Kind::server},
    {"modeltimeout", Failure::Kind::timeout},
};

// Turns "com.amazon.coral#ThrottlingException:http://..." into "throttling".
std::string plain_name(std::string_view exception) {
  if (const auto hash = exception.rfind('#'); hash != std::string_view::npos)
    exception.remove_prefix(hash + 1);
  exception = exception.substr(0, exception.find(':'));
  auto name = utf8::lower_ascii(exception);
  constexpr std::string_view kSuffix = "exception";
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  return name;
}

}  // namespace

Failure failure_of(std::string_view exception, std::string_view message, int status) {
  auto failure = failure_of_status(status, message);
  const auto name = plain_name(exception);
  for (const auto& [known, kind] : kExceptions)
    if (known == name) failure.kind = kind;
  if (message.empty() && !exception.empty()) failure.message = utf8::excerpt(exception);
  if (failure.kind == Failure::Kind::invalid_request && says_too_long(message))
    failure.kind = Failure::Kind::context_overflow;
  failure.final = failure.final || name == "servicequotaexceeded";
  return failure;
}

}  // namespace bedrock

BedrockOptions bedrock_options(std::string_view key, std::string region, std::string base_url,
                               const Environment& environment) {
  BedrockOptions out;
  out.base_url = std::move(base_url);
  out.region = std::move(region);
  for (const auto* name : {"AWS_REGION", "AWS_DEFAULT_REGION"})
    if (out.region.empty()) out.region = environment(name);
  if (out.region.empty()) out.region = BedrockOptions().region;

  if (const auto colon = key.find(':'); colon != std::string_view::npos) {
    const auto rest = key.substr(colon + 1);
    const auto second = std::min(rest.find(':'), rest.size());
    out.keys.id = key.substr(0, colon);
    out.keys.secret = rest.substr(0, second);
    out.keys.session_token = rest.substr(std::min(second + 1, rest.size()));
  } else if (!key.empty()) {
    out.api_key = key;
  } else if (auto token = environment("AWS_BEARER_TOKEN_BEDROCK"); !token.empty()) {
    out.api_key = std::move(token);
  } else {
    out.keys.id = environment("AWS_ACCESS_KEY_ID");
    out.keys.secret = environment("AWS_SECRET_ACCESS_KEY");
    out.keys.session_token = environment("AWS_SESSION_TOKEN");
  }
  return out;
}

BedrockCodec::BedrockCodec(BedrockOptions options) : options_(std::move(options)) {
  options_.base_url = base_url_from(before_folder(options_.base_url, "/model/"), {"/model"});
}

void BedrockCodec::authorise(HttpRequest& request, TimePoint now) const {
  if (!options_.api_key.empty()) {
    request.headers.emplace_back("authorization", "Bearer " + options_.api_key);
  } else if (!options_.keys.id.empty()) {
    bedrock::sign(request, options_.keys, options_.region, "bedrock", now);
  }
}

HttpRequest BedrockCodec::encode(const Request& request, const ModelFacts& facts,
                                 TimePoint now) const {
  const auto base = options_.base_url.empty()
                        ? fmt::format("https://bedrock-runtime.{}.amazonaws.com", options_.region)
                        : options_.base_url;
  HttpRequest out;
  out.url = fmt::format("{}/model/{}/converse-stream", base, http::percent_encoded(request.model));
  out.headers = {{"content-type", "application/json"},
                 {"accept", "application/vnd.amazon.eventstream"}};
  out.body = json::write(bedrock::request_body(request, facts));
  authorise(out, now);
  return out;
}

std::unique_ptr<Decoder> BedrockCodec::decoder(const Request& request,
                                               const ModelFacts& /*facts*/) const {
  return bedrock::make_decoder(request);
}

Failure BedrockCodec::failure(int status, const Headers& headers, std::string_view body) const {
  std::string exception;
  for (const auto& [name, value] : headers)
    if (utf8::lower_ascii(name) == "x-amzn-errortype") exception = value;
  const auto parsed = json::parse_lenient(body);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  if (!object) return bedrock::failure_of(exception, body, status);
  if (exception.empty()) exception = json::find_string(*object, "__type").value_or("");
  auto message = json::find_string(*object, "message");
  if (!message) message = json::find_string(*object, "Message");
  // Compatible servers often send errors in the form of other APIs.
  if (const auto* error = json::find_object(*object, "error"); error && !message)
    message = json::find_string(*error, "message");
  return bedrock::failure_of(exception, message.value_or(body), status);
}

std::optional<HttpRequest> BedrockCodec::encode_list(TimePoint now) const {
  // The list belongs to another AWS service, which a compatible server need not have.
  if (!options_.base_url.empty()) return std::nullopt;
  HttpRequest out;
  out.method = "GET";
  out.url = fmt::format("https://bedrock.{}.amazonaws.com/foundation-models", options_.region);
  authorise(out, now);
  return out;
}

std::vector<ModelFacts> BedrockCodec::decode_list(std::string_view body) const {
  std::vector<ModelFacts> out;
  const auto parsed = json::parse_lenient(body);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  const auto* models = object ? json::find_array(*object, "modelSummaries") : nullptr;
  if (!models) return out;
  const auto lists = [](const json::object& in, std::string_view key, const char* word) {
    const auto* found = json::find_array(in, key);
    return found && std::find(found->begin(), found->end(), json::value(word)) != found->end();
  };
  for (const auto& item : *models) {
    const auto* model = item.if_object();
    const auto id = model ? json::find_string(*model, "modelId") : std::nullopt;
    if (!id || id->empty() || !lists(*model, "outputModalities", "TEXT") ||
        !json::find_bool(*model, "responseStreamingSupported").value_or(false))
      continue;
    ModelFacts facts;
    facts.id = *id;
    facts.images = lists(*model, "inputModalities", "IMAGE");
    out.push_back(std::move(facts));
  }
  return out;
}

}  // namespace reef::model
