// Gemini's stream as its server speaks it: CRLF line ends, counts in every chunk, calls whole.
#include <fmt/format.h>

#include "base/overload.h"
#include "model/backends.h"
#include "model/google/google.h"
#include "model/validators.h"

namespace reef::model::test {
namespace {

using reef::test::SeenRequest;

std::string chunk(const Script& script, json::array parts, std::string_view reason = "") {
  json::object candidate{{"content", json::object{{"parts", std::move(parts)}, {"role", "model"}}},
                         {"index", 0}};
  if (!reason.empty()) candidate["finishReason"] = reason;
  json::object usage{{"promptTokenCount", script.input + script.cache_read},
                     {"cachedContentTokenCount", script.cache_read},
                     {"totalTokenCount", script.input + script.cache_read}};
  if (!reason.empty()) {
    usage["candidatesTokenCount"] = script.output - script.reasoning;
    usage["thoughtsTokenCount"] = script.reasoning;
    usage["totalTokenCount"] = script.input + script.cache_read + script.output;
  }
  json::array candidates;
  candidates.push_back(std::move(candidate));
  const json::object whole{{"candidates", std::move(candidates)},
                           {"usageMetadata", std::move(usage)},
                           {"modelVersion", script.model},
                           {"responseId", "r1"}};
  return fmt::format("data: {}\r\n\r\n", json::write(whole));
}

json::array parts_of(json::object part) {
  json::array out;
  out.push_back(std::move(part));
  return out;
}

std::string stream(const Script& script) {
  std::string out;
  for (const auto& said : script.blocks)
    std::visit(Overload{
                   [&](const Script::Text& text) {
                     for (const auto& piece : text.pieces)
                       out += chunk(script, parts_of({{"text", piece}}));
                   },
                   [&](const Script::Thinking& thinking) {
                     for (const auto& piece : thinking.pieces) {
                       json::object part{{"text", piece}, {"thought", true}};
                       if (&piece == &thinking.pieces.back())
                         part["thoughtSignature"] = thinking.signature;
                       out += chunk(script, parts_of(std::move(part)));
                     }
                   },
                   [&](const Script::Call& call) {
                     std::string text;
                     for (const auto& piece : call.argument_pieces) text += piece;
                     json::object function{{"id", call.id}, {"name", call.name}};
                     function["args"] =
                         text.empty() ? json::value(json::object()) : *json::parse(text);
                     out += chunk(script, parts_of({{"functionCall", std::move(function)}}));
                   },
               },
               said);
  return out + chunk(script, parts_of({{"text", ""}}),
                     script.stop == Script::Stop::length ? "MAX_TOKENS" : "STOP");
}

json::object error(int code, std::string_view status, std::string_view message,
                   json::array details = {}) {
  return json::object{{"error", json::object{{"code", code},
                                             {"message", message},
                                             {"status", status},
                                             {"details", std::move(details)}}}};
}

}  // namespace

Backend google_gemini() {
  using Kind = Failure::Kind;
  const auto body = [](int code, std::string_view status, std::string_view message,
                       json::array details = {}) {
    return json::write(error(code, status, message, std::move(details)));
  };
  json::array daily;
  json::array violations;
  violations.push_back(
      json::object{{"quotaId", "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}});
  daily.push_back(json::object{{"@type", "type.googleapis.com/google.rpc.QuotaFailure"},
                               {"violations", violations}});
  json::array bad_key;
  bad_key.push_back(json::object{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
                                 {"reason", "API_KEY_INVALID"}});
  Backend out;
  out.name = "GoogleGemini";
  out.codec = [](const std::string& base_url, const std::string& key) {
    return std::make_shared<GoogleCodec>(GoogleOptions{base_url, key});
  };
  out.stream = stream;
  out.failing = chunk({}, parts_of({{"text", "so far"}})) +
                "data: " + json::write(error(503, "UNAVAILABLE", "The model is overloaded.")) +
                "\r\n\r\n";
  out.errors = {
      {400, body(400, "INVALID_ARGUMENT", "Invalid JSON payload received."), Kind::invalid_request},
      {400,
       body(400, "INVALID_ARGUMENT",
            "The input token count (1048577) exceeds the maximum number of tokens allowed "
            "(1048576)."),
       Kind::context_overflow},
      {400, body(400, "INVALID_ARGUMENT", "API key not valid.", bad_key), Kind::auth},
      {403, body(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers"),
       Kind::auth},
      {404, body(404, "NOT_FOUND", "models/m-1 is not found"), Kind::invalid_request},
      {429, body(429, "RESOURCE_EXHAUSTED", "Quota exceeded"), Kind::rate_limit},
      {429, body(429, "RESOURCE_EXHAUSTED", "Quota exceeded", daily), Kind::rate_limit, true},
      {429, "[" + body(429, "RESOURCE_EXHAUSTED", "Quota exceeded") + "]", Kind::rate_limit},
      {500, body(500, "INTERNAL", "An internal error has occurred"), Kind::server},
      {503, body(503, "UNAVAILABLE", "The model is overloaded."), Kind::overloaded},
      {504, body(504, "DEADLINE_EXCEEDED", "Deadline expired"), Kind::timeout},
  };
  out.models = {"gemini-2.5-pro", "gemini-2.5-flash", "gemini-3-pro", "gemini-3-flash"};
  out.validate = reef::test::validate_gemini;
  out.judge = [](const SeenRequest& request) -> std::string {
    if (request.method != "POST" ||
        request.target != "/v1beta/models/asked-model:streamGenerateContent?alt=sse")
      return "path " + request.target;
    if (request.headers.at("x-goog-api-key") != "sk-test") return "API key not valid";
    if (request.headers.at("content-type") != "application/json") return "content-type";
    const auto body = json::parse(request.body);
    return body ? reef::test::validate_gemini(*body) : body.error().what;
  };
  return out;
}

}  // namespace reef::model::test
