#include <algorithm>
#include <charconv>

#include "base/overload.h"
#include "base/utf8.h"
#include "model/anthropic/anthropic.h"
#include "model/anthropic/wire.h"

namespace reef::model::anthropic {
namespace {

constexpr std::int64_t kMaxTokensDefault = 8192;
constexpr std::int64_t kBudgetMin = 1024;
// What must be left for the answer beside the thoughts.
constexpr std::int64_t kAnswerMin = 1024;

std::int64_t budget_of(ThinkingLevel level) {
  switch (level) {
    case ThinkingLevel::off:
      return 0;
    case ThinkingLevel::minimal:
      return kBudgetMin;
    case ThinkingLevel::low:
      return 2048;
    case ThinkingLevel::medium:
      return 8192;
    case ThinkingLevel::high:
      return 16384;
    case ThinkingLevel::xhigh:
      return 32768;
  }
  return 0;
}

// "claude-opus-4-6-20260101" is 4.6, "claude-3-7-sonnet" is 3.7; {0, 0} when there is no telling.
std::pair<int, int> version_of(std::string_view model) {
  std::vector<int> numbers;
  const auto claude = model.find("claude");
  if (claude == std::string_view::npos) return {0, 0};
  auto rest = model.substr(claude);
  while (!rest.empty()) {
    const auto end = std::min(rest.find_first_of("-.@:"), rest.size());
    const auto word = rest.substr(0, end);
    int number = 0;
    const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
    // A longer number is a date.
    if (failed == std::errc() && stop == word.data() + word.size() && word.size() <= 2)
      numbers.push_back(number);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {!numbers.empty() ? numbers[0] : 0, numbers.size() > 1 ? numbers[1] : 0};
}

// From 4.6 on models decide themselves how long to think, and take an effort instead of a budget.
bool is_adaptive(std::string_view model) {
  return version_of(model) >= std::pair(4, 6);
}

std::string_view effort_of(ThinkingLevel level, std::string_view model) {
  switch (level) {
    case ThinkingLevel::off:
    case ThinkingLevel::minimal:
    case ThinkingLevel::low:
      return "low";
    case ThinkingLevel::medium:
      return "medium";
    case ThinkingLevel::high:
      return "high";
    // Only the largest models take more.
    case ThinkingLevel::xhigh:
      return model.find("opus") != std::string_view::npos ? "max" : "high";
  }
  return "medium";
}

// A model with a budget refuses to think in the middle of a tool loop that began without a thought
// of its own, as one that another model began did.
bool loop_began_with_thought(const Conversation& conversation) {
  const auto& turns = conversation.turns;
  const Turn* first = nullptr;
  for (auto i = turns.size(); i > 0; --i) {
    const auto& turn = turns[i - 1];
    if (turn.role == Turn::Role::assistant) {
      first = &turn;
    } else if (!std::holds_alternative<ResultPiece>(turn.pieces.front())) {
      break;
    }
  }
  return !first || std::holds_alternative<ThinkingPiece>(first->pieces.front());
}

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

// The last two turns of the user: what the last call wrote to the cache, and what this one will.
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
    if (!tool.description.empty()) one["description"] = utf8::sanitize(tool.description);
    auto schema = tool.parameters;
    if (!schema.contains("type")) schema["type"] = "object";
    one["input_schema"] = std::move(schema);
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

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Sets max_tokens, and the parameters of thinking when there is room to think.
void set_lengths(json::object& body, const Request& request, const ModelFacts& facts,
                 bool thinking) {
  const auto most = facts.max_output > 0 ? facts.max_output : kMaxTokensDefault;
  auto max_tokens = request.max_tokens.value_or(most);
  if (thinking && is_adaptive(request.model)) {
    body["thinking"] = json::object{{"type", "adaptive"}};
    body["output_config"] = json::object{{"effort", effort_of(request.thinking, request.model)}};
  } else if (thinking) {
    auto budget = budget_of(request.thinking);
    // What the caller asked for is the answer; thoughts come on top, as far as the model goes.
    if (request.max_tokens) max_tokens = std::min(max_tokens + budget, std::max(most, max_tokens));
    budget = std::min(budget, max_tokens - kAnswerMin);
    if (budget >= kBudgetMin)
      body["thinking"] = json::object{{"type", "enabled"}, {"budget_tokens", budget}};
  }
  body["max_tokens"] = std::max<std::int64_t>(1, max_tokens);
}

}  // namespace

ConversationRules rules(Thoughts thoughts) {
  ConversationRules out;
  out.api = AnthropicCodec::kApi;
  out.id = NameRule{"_-", 64, false};
  out.name = NameRule{"_-", 64, false};
  out.thoughts = thoughts;
  out.calls_need_tools = true;
  out.image_types = kCommonImageTypes;
  return out;
}

json::object request_body(const Request& request, const ModelFacts& facts) {
  // A forced call and thoughts exclude each other; the caller's word about tools counts more.
  const auto mode = request.tool_choice.mode;
  const bool forced = !request.tools.empty() &&
                      (mode == ToolChoice::Mode::required || mode == ToolChoice::Mode::named);
  bool thinking = request.thinking != ThinkingLevel::off && facts.thinking && !forced;
  auto conversation =
      prepare(request, facts, rules(thinking ? Thoughts::own_signed : Thoughts::none));
  if (thinking && !is_adaptive(request.model) && !loop_began_with_thought(conversation)) {
    thinking = false;
    conversation = prepare(request, facts, rules(Thoughts::none));
  }

  json::object body{{"model", request.model}};
  set_lengths(body, request, facts, thinking);
  if (!is_blank(request.system)) {
    json::array system;
    system.push_back(text_block(utf8::sanitize(request.system)));
    set_breakpoint(system.back());
    body["system"] = std::move(system);
  }
  body["messages"] = messages(conversation);
  if (!conversation.tools.empty()) {
    body["tools"] = tools(conversation);
    body["tool_choice"] = tool_choice(conversation.tool_choice);
  }
  json::array stop;
  for (const auto& words : request.stop)
    if (!is_blank(words)) stop.push_back(json::value(words));
  if (!stop.empty()) body["stop_sequences"] = std::move(stop);
  for (const auto& [name, value] : request.extra) body[name] = value;
  body["stream"] = true;
  return body;
}

}  // namespace reef::model::anthropic
