// Chat Completions: makes the request.
#include <fmt/format.h>

#include "base/overload.h"
#include "model/conversation.h"
#include "model/openai/chat_decoder.h"
#include "model/openai/common.h"
#include "model/openai/errors.h"

namespace reef::model::openai {
namespace {

json::object text_part(const std::string& text) {
  return {{"type", "text"}, {"text", text}};
}

json::object image_part(const ImagePiece& image) {
  return {{"type", "image_url"},
          {"image_url", json::object{{"url", data_url(image.mime_type, image.data)}}}};
}

std::string text_of(const ResultPiece& result) {
  std::string text;
  for (const auto& piece : result.content)
    if (const auto* words = std::get_if<TextPiece>(&piece)) {
      if (!text.empty()) text += '\n';
      text += words->text;
    }
  return text;
}

// Adds results first, each as a message of its own; then the user's words.
void add_user(json::array& messages, const Turn& turn) {
  json::array parts;
  bool only_text = true;
  for (const auto& piece : turn.pieces) {
    if (const auto* result = std::get_if<ResultPiece>(&piece)) {
      messages.push_back(json::object{
          {"role", "tool"}, {"tool_call_id", result->id}, {"content", text_of(*result)}});
    } else if (const auto* text = std::get_if<TextPiece>(&piece)) {
      parts.push_back(text_part(text->text));
    } else if (const auto* image = std::get_if<ImagePiece>(&piece)) {
      parts.push_back(image_part(*image));
      only_text = false;
    }
  }
  if (parts.empty()) return;
  json::object message{{"role", "user"}};
  // Every server knows the plain form.
  if (only_text && parts.size() == 1) {
    message["content"] = parts[0].at("text");
  } else if (only_text) {
    std::string text;
    for (const auto& part : parts) {
      if (!text.empty()) text += "\n\n";
      text += std::string_view(part.at("text").get_string());
    }
    message["content"] = text;
  } else {
    message["content"] = std::move(parts);
  }
  messages.push_back(std::move(message));
}

void add_assistant(json::array& messages, const Turn& turn) {
  std::string text;
  std::string thoughts;
  json::array calls;
  for (const auto& piece : turn.pieces) {
    std::visit(Overload{
                   [&](const TextPiece& said) {
                     if (!text.empty()) text += '\n';
                     text += said.text;
                   },
                   [&](const ThinkingPiece& thought) { thoughts += thought.thinking; },
                   [&](const CallPiece& call) {
                     calls.push_back(json::object{
                         {"id", call.id},
                         {"type", "function"},
                         {"function", json::object{{"name", call.name},
                                                   {"arguments", json::write(call.arguments)}}}});
                   },
                   [](const auto&) {},
               },
               piece);
  }
  json::object message{{"role", "assistant"}};
  if (text.empty() && !calls.empty()) {
    message["content"] = nullptr;
  } else {
    message["content"] = text;
  }
  if (!thoughts.empty()) message["reasoning_content"] = thoughts;
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  messages.push_back(std::move(message));
}

ConversationRules rules_for(const Endpoint& endpoint) {
  ConversationRules rules;
  rules.api = "openai-completions";
  rules.id.length_max = 40;
  rules.images_in_results = false;
  rules.thoughts = endpoint.echo_thoughts ? Thoughts::own : Thoughts::none;
  rules.image_types = kCommonImageTypes;
  return rules;
}

void add_tools(json::object& body, const Conversation& conversation) {
  if (conversation.tools.empty()) return;
  json::array tools;
  for (const auto& tool : conversation.tools)
    tools.push_back(json::object{{"type", "function"},
                                 {"function", json::object{{"name", tool.name},
                                                           {"description", tool.description},
                                                           {"parameters", schema_of(tool)}}}});
  body["tools"] = std::move(tools);
  const auto& choice = conversation.tool_choice;
  add_tool_choice(
      body, choice,
      json::object{{"type", "function"}, {"function", json::object{{"name", choice.name}}}});
}

}  // namespace

HttpRequest ChatCodec::encode(const Request& request, const ModelFacts& facts, TimePoint) const {
  const auto& endpoint = settings_.endpoint;
  const auto conversation = prepare(request, facts, rules_for(endpoint));
  json::array messages;
  if (!conversation.system.empty())
    messages.push_back(json::object{{"role", "system"}, {"content", conversation.system}});
  for (const auto& turn : conversation.turns)
    turn.role == Turn::Role::user ? add_user(messages, turn) : add_assistant(messages, turn);

  json::object body{{"model", request.model}, {"messages", std::move(messages)}, {"stream", true}};
  if (settings_.ask_usage) body["stream_options"] = json::object{{"include_usage", true}};
  add_tools(body, conversation);
  if (request.max_tokens)
    body[endpoint.official ? "max_completion_tokens" : "max_tokens"] =
        std::max<std::int64_t>(1, *request.max_tokens);
  if (!conversation.stop.empty())
    body["stop"] = json::array(conversation.stop.begin(), conversation.stop.end());
  if (const auto effort = effort_of(request.thinking, endpoint.official); !effort.empty())
    body["reasoning_effort"] = effort;
  for (const auto& [name, value] : request.extra) body[name] = value;
  return post_json(expand(endpoint.chat_url, request.model), endpoint.headers, body);
}

std::unique_ptr<Decoder> ChatCodec::decoder(const Request& request, const ModelFacts&) const {
  return std::make_unique<ChatDecoder>(
      request, ToolNames(request.tools, rules_for(settings_.endpoint).name));
}

Failure ChatCodec::failure(int status, const Headers&, std::string_view body) const {
  return failure_from_body(status, body);
}

std::optional<HttpRequest> ChatCodec::encode_list(TimePoint) const {
  if (settings_.endpoint.models_url.empty()) return std::nullopt;
  return get_json(settings_.endpoint.models_url, settings_.endpoint.headers);
}

std::vector<ModelFacts> ChatCodec::decode_list(std::string_view body) const {
  return models_from(body);
}

}  // namespace reef::model::openai
