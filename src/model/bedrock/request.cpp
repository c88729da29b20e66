#include "base/overload.h"
#include "model/bedrock/bedrock.h"
#include "model/bedrock/wire.h"
#include "model/claude.h"

namespace reef::model::bedrock {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Where cache points are accepted; elsewhere, and with other models, they fail the whole request.
struct Caching {
  bool messages = false;
  bool tools = false;
};
Caching caching_of(std::string_view model) {
  if (claude::version_of(model) >= std::pair(3, 7) || contains(model, "claude-3-5-haiku"))
    return {true, true};
  if (contains(model, "amazon.nova")) return {true, false};
  return {};
}

json::object cache_point() {
  return json::object{{"cachePoint", json::object{{"type", "default"}}}};
}

json::object text_block(std::string_view text) {
  return json::object{{"text", text}};
}

json::object image_block(const ImagePiece& image) {
  const auto format = std::string_view(image.mime_type).substr(std::string_view("image/").size());
  return json::object{
      {"image", json::object{{"format", format}, {"source", json::object{{"bytes", image.data}}}}}};
}

json::object block(const Piece& piece) {
  return std::visit(Overload{
                        [](const TextPiece& p) { return text_block(p.text); },
                        [](const ThinkingPiece& p) {
                          json::object content;
                          if (p.redacted) {
                            content["redactedContent"] = p.signature;
                          } else {
                            content["reasoningText"] =
                                json::object{{"text", p.thinking}, {"signature", p.signature}};
                          }
                          return json::object{{"reasoningContent", std::move(content)}};
                        },
                        [](const ImagePiece& p) { return image_block(p); },
                        [](const CallPiece& p) {
                          return json::object{{"toolUse", json::object{{"toolUseId", p.id},
                                                                       {"name", p.name},
                                                                       {"input", p.arguments}}}};
                        },
                        [](const ResultPiece& p) {
                          json::array content;
                          for (const auto& part : p.content)
                            content.push_back(std::visit(
                                Overload{[](const TextPiece& t) { return text_block(t.text); },
                                         [](const ImagePiece& i) { return image_block(i); }},
                                part));
                          json::object result{{"toolUseId", p.id}, {"content", std::move(content)}};
                          // Sent only for errors, because not every model accepts a status.
                          if (p.is_error) result["status"] = "error";
                          return json::object{{"toolResult", std::move(result)}};
                        },
                    },
                    piece);
}

json::array messages(const Conversation& conversation, bool cached) {
  json::array out;
  for (const auto& turn : conversation.turns) {
    json::array content;
    for (const auto& piece : turn.pieces) content.push_back(block(piece));
    json::object message{{"role", turn.role == Turn::Role::user ? "user" : "assistant"},
                         {"content", std::move(content)}};
    out.push_back(std::move(message));
  }
  // Sets cache points at the last two user turns: the one where the last call wrote the cache, and
  // the one where this call will.
  int points = 0;
  for (auto i = out.size(); cached && i > 0 && points < 2; --i) {
    if (conversation.turns[i - 1].role != Turn::Role::user) continue;
    out[i - 1].as_object()["content"].as_array().push_back(cache_point());
    ++points;
  }
  return out;
}

json::object tool_config(const Conversation& conversation, bool cached) {
  json::array tools;
  for (const auto& tool : conversation.tools) {
    json::object spec{{"name", tool.name}};
    if (!tool.description.empty()) spec["description"] = tool.description;
    spec["inputSchema"] = json::object{{"json", tool.parameters}};
    tools.push_back(json::object{{"toolSpec", std::move(spec)}});
  }
  if (cached) tools.push_back(cache_point());
  json::object out{{"tools", std::move(tools)}};
  // Not every model accepts a choice, and `auto` is the default.
  const auto& choice = conversation.tool_choice;
  if (choice.mode == ToolChoice::Mode::required)
    out["toolChoice"] = json::object{{"any", json::object()}};
  if (choice.mode == ToolChoice::Mode::named)
    out["toolChoice"] = json::object{{"tool", json::object{{"name", choice.name}}}};
  return out;
}

void add_extra(json::object& body, const json::object& extra) {
  for (const auto& [name, value] : extra) {
    auto* mine = body.if_contains(name);
    const bool both = mine && mine->is_object() && value.is_object();
    if (both && (name == "inferenceConfig" || name == "additionalModelRequestFields")) {
      for (const auto& [key, member] : value.as_object()) mine->as_object()[key] = member;
    } else {
      body[name] = value;
    }
  }
}

}  // namespace

json::object request_body(const Request& original, const ModelFacts& facts) {
  auto request = original;
  // The only way to forbid calls is to declare no tools.
  if (request.tool_choice.mode == ToolChoice::Mode::none) request.tools = {};

  const bool is_claude = claude::version_of(request.model).first > 0;
  // Other thinking models sign nothing and accept no thoughts back.
  const auto [conversation, thinking] =
      claude::prepare(request, facts, BedrockCodec::kApi, is_claude && facts.thinking);

  const auto caching = caching_of(request.model);
  json::object body;
  if (!conversation.system.empty()) {
    json::array system;
    system.push_back(text_block(conversation.system));
    if (caching.messages) system.push_back(cache_point());
    body["system"] = std::move(system);
  }
  body["messages"] = messages(conversation, caching.messages);
  if (!conversation.tools.empty()) body["toolConfig"] = tool_config(conversation, caching.tools);

  json::object inference;
  auto lengths = claude::lengths(request, facts, thinking);
  if (request.max_tokens || is_claude) inference["maxTokens"] = lengths.max_tokens;
  if (!conversation.stop.empty())
    inference["stopSequences"] = json::array(conversation.stop.begin(), conversation.stop.end());
  if (!inference.empty()) body["inferenceConfig"] = std::move(inference);
  if (!lengths.fields.empty()) body["additionalModelRequestFields"] = std::move(lengths.fields);
  add_extra(body, request.extra);
  return body;
}

}  // namespace reef::model::bedrock
