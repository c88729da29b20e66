#include "base/overload.h"
#include "model/anthropic/anthropic.h"
#include "model/anthropic/wire.h"
#include "model/claude.h"

namespace reef::model::anthropic {
namespace {

json::object text_block(std::string_view text) {
  return json::object{{"type", "text"}, {"text", text}};
}

json::object image_block(const ImagePiece& image) {
  return json::object{
      {"type", "image"},
      {"source",
       json::object{{"type", "base64"}, {"media_type", image.mime_type}, {"data", image.data}}}};
}

json::object block(const Piece& piece) {
  return std::visit(
      Overload{
          [](const TextPiece& p) { return text_block(p.text); },
          [](const ThinkingPiece& p) {
            if (p.redacted)
              return json::object{{"type", "redacted_thinking"}, {"data", p.signature}};
            return json::object{
                {"type", "thinking"}, {"thinking", p.thinking}, {"signature", p.signature}};
          },
          [](const ImagePiece& p) { return image_block(p); },
          [](const CallPiece& p) {
            return json::object{
                {"type", "tool_use"}, {"id", p.id}, {"name", p.name}, {"input", p.arguments}};
          },
          [](const ResultPiece& p) {
            json::array content;
            for (const auto& part : p.content)
              content.push_back(
                  std::visit(Overload{[](const TextPiece& t) { return text_block(t.text); },
                                      [](const ImagePiece& i) { return image_block(i); }},
                             part));
            json::object out{
                {"type", "tool_result"}, {"tool_use_id", p.id}, {"content", std::move(content)}};
            if (p.is_error) out["is_error"] = true;
            return out;
          },
      },
      piece);
}

void set_breakpoint(json::value& block) {
  block.as_object()["cache_control"] = json::object{{"type", "ephemeral"}};
}

// Sets cache points at the last two user turns: the one where the last call wrote the cache, and
// the one where this call will.
json::array messages(const Conversation& conversation) {
  json::array out;
  for (const auto& turn : conversation.turns) {
    json::array content;
    for (const auto& piece : turn.pieces) content.push_back(block(piece));
    json::object message{{"role", turn.role == Turn::Role::user ? "user" : "assistant"},
                         {"content", std::move(content)}};
    out.push_back(std::move(message));
  }
  int breakpoints = 0;
  for (auto i = out.size(); i > 0 && breakpoints < 2; --i) {
    if (conversation.turns[i - 1].role != Turn::Role::user) continue;
    set_breakpoint(out[i - 1].as_object()["content"].as_array().back());
    ++breakpoints;
  }
  return out;
}

json::array tools(const Conversation& conversation) {
  json::array out;
  for (const auto& tool : conversation.tools) {
    json::object one{{"name", tool.name}};
    if (!tool.description.empty()) one["description"] = tool.description;
    one["input_schema"] = tool.parameters;
    out.push_back(std::move(one));
  }
  set_breakpoint(out.back());
  return out;
}

json::object tool_choice(const ToolChoice& choice) {
  switch (choice.mode) {
    case ToolChoice::Mode::automatic:
      break;
    case ToolChoice::Mode::none:
      return json::object{{"type", "none"}};
    case ToolChoice::Mode::required:
      return json::object{{"type", "any"}};
    case ToolChoice::Mode::named:
      return json::object{{"type", "tool"}, {"name", choice.name}};
  }
  return json::object{{"type", "auto"}};
}

}  // namespace

json::object request_body(const Request& request, const ModelFacts& facts) {
  const auto [conversation, thinking] =
      claude::prepare(request, facts, AnthropicCodec::kApi, facts.thinking);

  json::object body{{"model", request.model}};
  auto lengths = claude::lengths(request, facts, thinking);
  body["max_tokens"] = lengths.max_tokens;
  for (auto& [name, value] : lengths.fields) body[name] = std::move(value);
  if (!conversation.system.empty()) {
    json::array system;
    system.push_back(text_block(conversation.system));
    set_breakpoint(system.back());
    body["system"] = std::move(system);
  }
  body["messages"] = messages(conversation);
  if (!conversation.tools.empty()) {
    body["tools"] = tools(conversation);
    body["tool_choice"] = tool_choice(conversation.tool_choice);
  }
  if (!conversation.stop.empty())
    body["stop_sequences"] = json::array(conversation.stop.begin(), conversation.stop.end());
  for (const auto& [name, value] : request.extra) body[name] = value;
  body["stream"] = true;
  return body;
}

}  // namespace reef::model::anthropic
