// Responses: makes the request. The backend stores nothing (`store: false`); reasoning arrives
// encrypted and is sent back unchanged.
#include "base/overload.h"
#include "model/conversation.h"
#include "model/openai/common.h"
#include "model/openai/errors.h"
#include "model/openai/responses_decoder.h"

namespace reef::model::openai {
namespace {

// The API refuses a lower limit.
constexpr std::int64_t kMaxOutputMin = 16;
constexpr std::string_view kEncrypted = "reasoning.encrypted_content";

json::object image_part(const ImagePiece& image) {
  return {{"type", "input_image"},
          {"detail", "auto"},
          {"image_url", data_url(image.mime_type, image.data)}};
}

json::object text_part(const std::string& text) {
  return {{"type", "input_text"}, {"text", text}};
}

json::object result_item(const ResultPiece& result) {
  json::array parts;
  bool only_text = true;
  std::string words;
  for (const auto& piece : result.content) {
    if (const auto* text = std::get_if<TextPiece>(&piece)) {
      if (!words.empty()) words += '\n';
      words += text->text;
      parts.push_back(text_part(text->text));
    } else {
      only_text = false;
      parts.push_back(image_part(std::get<ImagePiece>(piece)));
    }
  }
  json::object item{{"type", "function_call_output"}, {"call_id", result.id}};
  if (only_text) {
    item["output"] = words;
  } else {
    item["output"] = std::move(parts);
  }
  return item;
}

void add_user(json::array& input, const Turn& turn) {
  json::array parts;
  for (const auto& piece : turn.pieces)
    std::visit(Overload{
                   [&](const ResultPiece& result) { input.push_back(result_item(result)); },
                   [&](const TextPiece& text) { parts.push_back(text_part(text.text)); },
                   [&](const ImagePiece& image) { parts.push_back(image_part(image)); },
                   [](const auto&) {},
               },
               piece);
  if (!parts.empty())
    input.push_back(json::object{{"role", "user"}, {"content", std::move(parts)}});
}

// The signature is the item itself, as the backend sent it. It is checked, because a program that
// edited the transcript may have damaged it and a damaged item fails the whole request.
std::optional<json::object> reasoning_item(const ThinkingPiece& thought) {
  const auto parsed = json::parse(thought.signature);
  const auto* item = parsed ? parsed->if_object() : nullptr;
  if (!item || json::find_string(*item, "type") != "reasoning") return std::nullopt;
  const auto id = json::find_string(*item, "id").value_or("");
  const auto sealed = json::find_string(*item, "encrypted_content").value_or("");
  const auto* summary = json::find_array(*item, "summary");
  if (!id.starts_with("rs_") || sealed.empty() || !summary) return std::nullopt;
  return *item;
}

void add_assistant(json::array& input, const Turn& turn) {
  for (const auto& piece : turn.pieces)
    std::visit(Overload{
                   [&](const TextPiece& text) {
                     input.push_back(json::object{{"role", "assistant"}, {"content", text.text}});
                   },
                   [&](const ThinkingPiece& thought) {
                     if (auto item = reasoning_item(thought)) input.push_back(*std::move(item));
                   },
                   [&](const CallPiece& call) {
                     input.push_back(json::object{{"type", "function_call"},
                                                  {"call_id", call.id},
                                                  {"name", call.name},
                                                  {"arguments", json::write(call.arguments)}});
                   },
                   [](const auto&) {},
               },
               piece);
}

ConversationRules conversation_rules() {
  ConversationRules rules;
  rules.api = "openai-responses";
  rules.thoughts = Thoughts::own_signed;
  rules.image_types = kCommonImageTypes;
  return rules;
}

void add_tools(json::object& body, const Conversation& conversation) {
  if (conversation.tools.empty()) return;
  json::array tools;
  for (const auto& tool : conversation.tools)
    tools.push_back(json::object{{"type", "function"},
                                 {"name", tool.name},
                                 {"description", tool.description},
                                 {"parameters", schema_of(tool)},
                                 {"strict", false}});
  body["tools"] = std::move(tools);
  const auto& choice = conversation.tool_choice;
  add_tool_choice(body, choice, json::object{{"type", "function"}, {"name", choice.name}});
}

}  // namespace

HttpRequest ResponsesCodec::encode(const Request& request, const ModelFacts& facts,
                                   TimePoint) const {
  const auto conversation = prepare(request, facts, conversation_rules());
  json::array input;
  for (const auto& turn : conversation.turns)
    turn.role == Turn::Role::user ? add_user(input, turn) : add_assistant(input, turn);
  json::object body{
      {"model", request.model}, {"input", std::move(input)}, {"stream", true}, {"store", false}};
  if (!conversation.system.empty()) body["instructions"] = conversation.system;
  add_tools(body, conversation);
  if (request.max_tokens) body["max_output_tokens"] = std::max(kMaxOutputMin, *request.max_tokens);
  const auto effort = effort_of(request.thinking, true);
  if (!effort.empty()) body["reasoning"] = json::object{{"effort", effort}, {"summary", "auto"}};
  if (!effort.empty() || facts.thinking) body["include"] = json::array{kEncrypted};
  for (const auto& [name, value] : request.extra) body[name] = value;
  return post_json(expand(endpoint_.responses_url, request.model), endpoint_.headers, body);
}

std::unique_ptr<Decoder> ResponsesCodec::decoder(const Request& request, const ModelFacts&) const {
  return std::make_unique<ResponsesDecoder>(request,
                                            ToolNames(request.tools, conversation_rules().name));
}

Failure ResponsesCodec::failure(int status, const Headers&, std::string_view body) const {
  return failure_from_body(status, body);
}

std::optional<HttpRequest> ResponsesCodec::encode_list(TimePoint) const {
  if (endpoint_.models_url.empty()) return std::nullopt;
  return get_json(endpoint_.models_url, endpoint_.headers);
}

std::vector<ModelFacts> ResponsesCodec::decode_list(std::string_view body) const {
  return models_from(body);
}

}  // namespace reef::model::openai
