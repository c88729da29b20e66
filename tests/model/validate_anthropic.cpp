#include <optional>
#include <vector>

#include "model/checking.h"
#include "model/validators.h"

namespace reef::test {
namespace {

struct AnthropicCheck {
  Pairs pairs;
  int breakpoints = 0;

  void breakpoint(const object& block) {
    const auto* control = block.if_contains("cache_control");
    if (!control) return;
    require(string_at(object_of(*control, "cache_control"), "type") == "ephemeral",
            "unknown cache_control");
    require(++breakpoints <= 4, "more than 4 cache breakpoints");
  }
  void image(const object& block) {
    only(block, {"type", "source", "cache_control"});
    const auto& source = object_at(block, "source");
    require(string_at(source, "type") == "base64", "unknown image source");
    one_of(string_at(source, "media_type"), {"image/png", "image/jpeg", "image/gif", "image/webp"},
           "media type");
    base64_like(string_at(source, "data"));
  }
  void text(const object& block) {
    only(block, {"type", "text", "cache_control"});
    words_at(block, "text");
  }
  void user_block(const object& block, bool& after_results) {
    const auto type = string_at(block, "type");
    breakpoint(block);
    if (type == "tool_result") {
      require(!after_results, "tool_result blocks must come first");
      only(block, {"type", "tool_use_id", "content", "is_error", "cache_control"});
      pairs.result(string_at(block, "tool_use_id"));
      for (const auto& part : array_at(block, "content")) {
        const auto& inner = object_of(part, "content");
        const auto kind = string_at(inner, "type");
        one_of(kind, {"text", "image"}, "content of a result");
        kind == "text" ? text(inner) : image(inner);
      }
      return;
    }
    after_results = true;
    one_of(type, {"text", "image"}, "block of the user");
    type == "text" ? text(block) : image(block);
  }
  void assistant_block(const object& block) {
    const auto type = string_at(block, "type");
    if (type == "text") {
      breakpoint(block);
      text(block);
    } else if (type == "thinking") {
      only(block, {"type", "thinking", "signature"});
      string_at(block, "thinking");
      words_at(block, "signature");
    } else if (type == "redacted_thinking") {
      only(block, {"type", "data"});
      words_at(block, "data");
    } else {
      require(type == "tool_use", "unknown block of the assistant");
      breakpoint(block);
      only(block, {"type", "id", "name", "input", "cache_control"});
      const auto id = string_at(block, "id");
      name_like(id, "_-", 64, "id");
      pairs.call(id);
      name_like(string_at(block, "name"), "_-", 64, "name");
      object_at(block, "input");
    }
  }
  static bool is_thought(const value& block) {
    const auto type = string_at(object_of(block, "block"), "type");
    return type == "thinking" || type == "redacted_thinking";
  }
};

void check_anthropic(const object& body) {
  only(body, {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking",
              "output_config", "stop_sequences", "stream", "temperature", "top_p", "top_k",
              "metadata", "service_tier"});
  words_at(body, "model");
  const auto max_tokens = positive_at(body, "max_tokens");
  require(json::find_bool(body, "stream").value_or(false), "no stream was asked for");
  AnthropicCheck check;
  if (body.contains("system"))
    for (const auto& block : filled_array_at(body, "system")) {
      check.breakpoint(object_of(block, "system"));
      check.text(block.as_object());
    }
  std::set<std::string> names;
  if (body.contains("tools"))
    for (const auto& item : filled_array_at(body, "tools")) {
      const auto& tool = object_of(item, "tool");
      only(tool, {"name", "description", "input_schema", "cache_control"});
      check.breakpoint(tool);
      const auto name = string_at(tool, "name");
      name_like(name, "_-", 64, "tool");
      require(names.insert(name).second, "tool names must be unique");
      object_schema(object_at(tool, "input_schema"));
    }
  bool forced = false;
  if (const auto* choice = body.if_contains("tool_choice")) {
    require(!names.empty(), "tool_choice without tools");
    const auto type = string_at(object_of(*choice, "tool_choice"), "type");
    one_of(type, {"auto", "any", "tool", "none"}, "tool_choice");
    forced = type == "any" || type == "tool";
    if (type == "tool")
      require(names.contains(string_at(choice->as_object(), "name")), "tool_choice names no tool");
  }
  bool budgeted = false;
  bool thinks = false;
  if (const auto* thinking = body.if_contains("thinking")) {
    const auto type = string_at(object_of(*thinking, "thinking"), "type");
    one_of(type, {"enabled", "adaptive", "disabled"}, "thinking");
    thinks = type != "disabled";
    budgeted = type == "enabled";
    if (budgeted) {
      const auto budget = positive_at(thinking->as_object(), "budget_tokens");
      require(budget >= 1024 && budget < max_tokens, "budget_tokens out of range");
    }
    require(!thinks || !forced, "thinking with a forced tool");
  }
  Roles roles("user", "assistant");
  // The assistant's first message after the user last spoke.
  const array* loop_start = nullptr;
  for (const auto& item : filled_array_at(body, "messages")) {
    const auto& message = object_of(item, "message");
    only(message, {"role", "content"});
    const bool user = roles.next(string_at(message, "role"));
    const auto& content = filled_array_at(message, "content");
    bool after_results = false;
    for (const auto& block : content) {
      const auto& object = object_of(block, "block");
      user ? check.user_block(object, after_results) : check.assistant_block(object);
    }
    check.pairs.end_turn();
    if (user) {
      if (string_at(content[0].as_object(), "type") != "tool_result") loop_start = nullptr;
    } else {
      require(!AnthropicCheck::is_thought(content.back()),
              "the final block of an assistant message cannot be thinking");
      if (!loop_start) loop_start = &content;
    }
  }
  roles.end();
  require(!check.pairs.any() || !names.empty(), "tool_use without tools");
  require(!budgeted || !loop_start || AnthropicCheck::is_thought((*loop_start)[0]),
          "expected thinking at the start of the tool loop");
  if (body.contains("stop_sequences"))
    for (const auto& words : filled_array_at(body, "stop_sequences"))
      require(words.is_string() && !words.as_string().empty(), "an empty stop sequence");
}

}  // namespace

std::string validate_anthropic(const json::value& body) {
  return verdict(body, check_anthropic);
}

}  // namespace reef::test
