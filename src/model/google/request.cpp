#include <algorithm>
#include <array>

#include "base/overload.h"
#include "model/google/google.h"
#include "model/google/schema.h"
#include "model/google/wire.h"

namespace reef::model::google {
namespace {

constexpr std::array<std::string_view, 5> kImageTypes = {"image/png", "image/jpeg", "image/webp",
                                                         "image/heic", "image/heif"};
constexpr std::size_t kStopMax = 5;
// Replaces the signature of another model's call; Gemini 3 requires one on the first call of a
// turn.
constexpr std::string_view kForeignSignature = "skip_thought_signature_validator";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Gemini 3 has thinking levels; earlier models have budgets.
bool has_levels(std::string_view model) {
  return contains(model, "gemini-3");
}

std::string_view level_of(ThinkingLevel level, bool pro) {
  switch (level) {
    // Gemini 3 cannot switch thinking off.
    case ThinkingLevel::off:
    case ThinkingLevel::minimal:
      return pro ? "low" : "minimal";
    case ThinkingLevel::low:
      return "low";
    case ThinkingLevel::medium:
      return pro ? "high" : "medium";
    case ThinkingLevel::high:
    case ThinkingLevel::xhigh:
      return "high";
  }
  return "low";
}

std::int64_t budget_of(ThinkingLevel level, bool pro) {
  constexpr std::int64_t kProMin = 128, kProMax = 32'768, kFlashMax = 24'576;
  switch (level) {
    case ThinkingLevel::off:
      return pro ? kProMin : 0;
    case ThinkingLevel::minimal:
      return 512;
    case ThinkingLevel::low:
      return 2'048;
    case ThinkingLevel::medium:
      return 8'192;
    case ThinkingLevel::high:
      return 16'384;
    case ThinkingLevel::xhigh:
      return pro ? kProMax : kFlashMax;
  }
  return 0;
}

json::object thinking_config(const Request& request) {
  const bool pro = contains(request.model, "pro");
  json::object out;
  if (has_levels(request.model)) {
    out["thinkingLevel"] = level_of(request.thinking, pro);
  } else {
    out["thinkingBudget"] = budget_of(request.thinking, pro);
  }
  if (request.thinking != ThinkingLevel::off) out["includeThoughts"] = true;
  return out;
}

json::object text_part(std::string_view text) {
  return json::object{{"text", text}};
}

json::object part(const Piece& piece) {
  return std::visit(
      Overload{
          [](const TextPiece& p) {
            auto out = text_part(p.text);
            if (!p.signature.empty()) out["thoughtSignature"] = p.signature;
            return out;
          },
          [](const ThinkingPiece& p) {
            return json::object{
                {"text", p.thinking}, {"thought", true}, {"thoughtSignature", p.signature}};
          },
          [](const ImagePiece& p) {
            return json::object{
                {"inlineData", json::object{{"mimeType", p.mime_type}, {"data", p.data}}}};
          },
          [](const CallPiece& p) {
            json::object out{{"functionCall",
                              json::object{{"id", p.id}, {"name", p.name}, {"args", p.arguments}}}};
            if (!p.signature.empty()) out["thoughtSignature"] = p.signature;
            return out;
          },
          [](const ResultPiece& p) {
            std::string text;
            for (const auto& content : p.content) {
              if (!text.empty()) text += "\n";
              text += std::get<TextPiece>(content).text;
            }
            return json::object{
                {"functionResponse",
                 json::object{
                     {"id", p.id},
                     {"name", p.name},
                     {"response", json::object{{p.is_error ? "error" : "output", text}}}}}};
          },
      },
      piece);
}

// Responses to calls form a content of their own, separate from the user's words in the same turn.
json::array contents(const Conversation& conversation, bool signatures_wanted) {
  json::array out;
  const auto add = [&](const Turn& turn, json::array parts) {
    if (parts.empty()) return;
    json::object content{{"role", turn.role == Turn::Role::user ? "user" : "model"},
                         {"parts", std::move(parts)}};
    out.push_back(std::move(content));
  };
  for (const auto& turn : conversation.turns) {
    json::array responses, parts;
    bool called = false;
    for (const auto& piece : turn.pieces) {
      if (const auto* thought = std::get_if<ThinkingPiece>(&piece);
          thought && thought->thinking.empty())
        continue;
      auto made = part(piece);
      if (std::holds_alternative<CallPiece>(piece) && !std::exchange(called, true) &&
          signatures_wanted && !made.contains("thoughtSignature"))
        made["thoughtSignature"] = kForeignSignature;
      auto& into = std::holds_alternative<ResultPiece>(piece) ? responses : parts;
      into.push_back(std::move(made));
    }
    add(turn, std::move(responses));
    add(turn, std::move(parts));
  }
  return out;
}

json::array tools(const Conversation& conversation) {
  json::array functions;
  for (const auto& tool : conversation.tools) {
    json::object function{{"name", tool.name}};
    if (!tool.description.empty()) function["description"] = tool.description;
    if (auto schema = cleaned_schema(tool.parameters)) function["parameters"] = *std::move(schema);
    functions.push_back(std::move(function));
  }
  json::array out;
  out.push_back(json::object{{"functionDeclarations", std::move(functions)}});
  return out;
}

json::object tool_config(const ToolChoice& choice) {
  json::object config{{"mode", "AUTO"}};
  if (choice.mode == ToolChoice::Mode::none) config["mode"] = "NONE";
  if (choice.mode == ToolChoice::Mode::required) config["mode"] = "ANY";
  if (choice.mode == ToolChoice::Mode::named) {
    config["mode"] = "ANY";
    json::array names;
    names.push_back(json::value(choice.name));
    config["allowedFunctionNames"] = std::move(names);
  }
  return json::object{{"functionCallingConfig", std::move(config)}};
}

json::object generation_config(const Request& request, const Conversation& conversation,
                               const ModelFacts& facts) {
  json::object out;
  if (request.max_tokens) out["maxOutputTokens"] = std::max<std::int64_t>(1, *request.max_tokens);
  json::array stop;
  for (const auto& words : conversation.stop)
    if (stop.size() < kStopMax) stop.push_back(json::value(words));
  if (!stop.empty()) out["stopSequences"] = std::move(stop);
  if (facts.thinking) out["thinkingConfig"] = thinking_config(request);
  return out;
}

}  // namespace

ConversationRules rules() {
  ConversationRules out;
  out.api = GoogleCodec::kApi;
  out.id = NameRule{"_-", 64, false};
  out.name = NameRule{"_.-", 64, true};
  out.thoughts = Thoughts::own_signed;
  out.images_in_results = false;
  out.image_types = kImageTypes;
  return out;
}

json::object request_body(const Request& request, const ModelFacts& facts) {
  const auto conversation = prepare(request, facts, rules());
  json::object body;
  if (!conversation.system.empty()) {
    json::array parts;
    parts.push_back(text_part(conversation.system));
    body["systemInstruction"] = json::object{{"parts", std::move(parts)}};
  }
  body["contents"] = contents(conversation, has_levels(request.model));
  if (!conversation.tools.empty()) {
    body["tools"] = tools(conversation);
    body["toolConfig"] = tool_config(conversation.tool_choice);
  }
  if (auto config = generation_config(request, conversation, facts); !config.empty())
    body["generationConfig"] = std::move(config);
  for (const auto& [name, value] : request.extra) {
    auto* mine = body.if_contains(name);
    if (name == "generationConfig" && mine && value.is_object()) {
      for (const auto& [key, member] : value.as_object()) mine->as_object()[key] = member;
    } else {
      body[name] = value;
    }
  }
  return body;
}

}  // namespace reef::model::google
