#include "model/openai/common.h"

#include <fmt/format.h>

#include "base/overload.h"
#include "model/tokens.h"

namespace reef::model::openai {

std::string_view effort_of(ThinkingLevel level, bool official) {
  switch (level) {
    case ThinkingLevel::off:
      return "";
    case ThinkingLevel::minimal:
      return official ? "minimal" : "low";
    case ThinkingLevel::low:
      return "low";
    case ThinkingLevel::medium:
      return "medium";
    case ThinkingLevel::high:
      return "high";
    case ThinkingLevel::xhigh:
      return official ? "xhigh" : "high";
  }
  return "";
}

json::object schema_of(const Tool& tool) {
  auto schema = tool.parameters;
  if (!schema.contains("type")) schema["type"] = "object";
  if (!schema.contains("properties")) schema["properties"] = json::object();
  return schema;
}

void add_tool_choice(json::object& body, const ToolChoice& choice, json::object named) {
  switch (choice.mode) {
    case ToolChoice::Mode::automatic:
      return;
    case ToolChoice::Mode::none:
      body["tool_choice"] = "none";
      return;
    case ToolChoice::Mode::required:
      body["tool_choice"] = "required";
      return;
    case ToolChoice::Mode::named:
      body["tool_choice"] = std::move(named);
      return;
  }
}

std::string data_url(std::string_view mime_type, std::string_view base64) {
  return fmt::format("data:{};base64,{}", mime_type, base64);
}

HttpRequest post_json(const std::string& url, const Headers& headers, const json::object& body) {
  HttpRequest request;
  request.url = url;
  request.headers = headers;
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Accept", "text/event-stream");
  request.body = json::write(body);
  return request;
}

HttpRequest get_json(const std::string& url, const Headers& headers) {
  HttpRequest request;
  request.method = "GET";
  request.url = url;
  request.headers = headers;
  request.headers.emplace_back("Accept", "application/json");
  return request;
}

std::vector<ModelFacts> models_from(std::string_view body) {
  std::vector<ModelFacts> out;
  const auto parsed = json::parse_lenient(body);
  if (!parsed) return out;
  // The answer is {"data": [...]}, {"models": [...]}, or just the list.
  const json::array* list = parsed->if_array();
  if (const auto* fields = parsed->if_object()) {
    list = json::find_array(*fields, "data");
    if (!list) list = json::find_array(*fields, "models");
  }
  if (!list) return out;
  for (const auto& item : *list) {
    const auto* fields = item.if_object();
    if (!fields) continue;
    auto id = json::find_string(*fields, "id");
    if (!id) id = json::find_string(*fields, "name");
    if (!id || id->empty()) continue;
    ModelFacts facts;
    facts.id = *id;
    for (const auto* name :
         {"context_length", "context_window", "max_model_len", "max_context_length"})
      if (!facts.context_window) facts.context_window = json::find_int(*fields, name).value_or(0);
    out.push_back(std::move(facts));
  }
  return out;
}

std::string MadeUpIds::next(std::size_t number) {
  if (!mark_) {
    auto& hash = mark_.emplace(14695981039346656037ULL);
    const auto mix = [&](std::string_view text) {
      for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    };
    mix(std::to_string(request_.messages.size()));
    if (!request_.messages.empty()) mix(session::text_of(*request_.messages.back()));
  }
  return fmt::format("call_{:016x}_{}", *mark_, number);
}

session::Usage estimated_usage(const Request& request, const std::vector<session::Block>& content) {
  session::Usage usage;
  usage.estimated = true;
  usage.input = estimate_tokens(request);
  for (const auto& block : content)
    usage.output += std::visit(
        Overload{
            [](const session::TextBlock& text) { return estimate_tokens(text.text); },
            [](const session::ThinkingBlock& text) { return estimate_tokens(text.thinking); },
            [](const session::ToolCallBlock& call) {
              return estimate_tokens(call.name) + estimate_tokens(json::write(call.arguments));
            },
            [](const auto&) { return std::int64_t{0}; },
        },
        block);
  return usage;
}

}  // namespace reef::model::openai
