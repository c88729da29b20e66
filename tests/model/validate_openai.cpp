#include <optional>
#include <vector>

#include "model/checking.h"
#include "model/validators.h"

namespace reef::test {
namespace {

void check_openai_function(const object& function, std::set<std::string>& names) {
  const auto name = string_at(function, "name");
  name_like(name, "_-", 64, "function");
  require(names.insert(name).second, "function names must be unique");
  if (function.contains("parameters")) object_schema(object_at(function, "parameters"));
}

void arguments_like(const object& in) {
  const auto parsed = json::parse(string_at(in, "arguments"));
  require(parsed && parsed->is_object(), "arguments are no JSON object");
}

void check_openai_choice(const object& body, const std::set<std::string>& names, bool nested) {
  const auto* choice = body.if_contains("tool_choice");
  if (!choice) return;
  require(!names.empty(), "tool_choice without tools");
  if (choice->is_string()) {
    one_of(std::string(choice->as_string()), {"auto", "none", "required"}, "tool_choice");
    return;
  }
  const auto& object = object_of(*choice, "tool_choice");
  require(string_at(object, "type") == "function", "unknown tool_choice");
  require(names.contains(string_at(nested ? object_at(object, "function") : object, "name")),
          "tool_choice names no tool");
}

void chat_text_or_parts(const object& message, bool images) {
  const auto& content = member(message, "content");
  if (content.is_string()) {
    require(!content.as_string().empty(), "content is empty");
    return;
  }
  for (const auto& item : filled_array_at(message, "content")) {
    const auto& part = object_of(item, "part");
    const auto type = string_at(part, "type");
    if (type == "text") {
      require(!string_at(part, "text").empty(), "an empty text");
    } else {
      require(images && type == "image_url", "unknown part");
      const auto url = string_at(object_at(part, "image_url"), "url");
      require(url.starts_with("data:image/") && url.find(";base64,") != std::string::npos,
              "a bad image URL");
    }
  }
}

void check_chat(const object& body) {
  words_at(body, "model");
  std::set<std::string> names;
  if (body.contains("tools"))
    for (const auto& tool : filled_array_at(body, "tools")) {
      require(string_at(object_of(tool, "tool"), "type") == "function", "unknown tool");
      check_openai_function(object_at(tool.as_object(), "function"), names);
    }
  check_openai_choice(body, names, true);
  if (body.contains("stream_options"))
    require(json::find_bool(body, "stream").value_or(false), "stream_options without stream");
  for (const auto* key : {"max_tokens", "max_completion_tokens"})
    if (body.contains(key)) positive_at(body, key);
  std::set<std::string> open;
  for (const auto& item : filled_array_at(body, "messages")) {
    const auto& message = object_of(item, "message");
    const auto role = string_at(message, "role");
    if (role == "tool") {
      require(open.erase(string_at(message, "tool_call_id")) == 1,
              "a tool message must answer a call of the message before");
      chat_text_or_parts(message, false);
      continue;
    }
    require(open.empty(), "calls must be followed by tool messages for each of them");
    if (role == "assistant") {
      const auto* content = message.if_contains("content");
      const bool says = content && !content->is_null();
      if (says) chat_text_or_parts(message, false);
      require(says || message.contains("tool_calls"), "an assistant message without content");
      if (!message.contains("tool_calls")) continue;
      for (const auto& call_item : filled_array_at(message, "tool_calls")) {
        const auto& call = object_of(call_item, "call");
        require(string_at(call, "type") == "function", "unknown call");
        const auto id = string_at(call, "id");
        require(!id.empty() && id.size() <= 40, "a bad id");
        require(open.insert(id).second, "an id twice in a message");
        const auto& function = object_at(call, "function");
        name_like(string_at(function, "name"), "_-", 64, "function");
        arguments_like(function);
      }
    } else {
      one_of(role, {"system", "developer", "user"}, "role");
      chat_text_or_parts(message, role == "user");
    }
  }
  require(open.empty(), "calls without results at the end");
}

void check_responses_content(const object& message, const std::string& role) {
  const auto& content = member(message, "content");
  if (content.is_string()) {
    require(!content.as_string().empty(), "content is empty");
    return;
  }
  for (const auto& item : filled_array_at(message, "content")) {
    const auto& part = object_of(item, "part");
    const auto type = string_at(part, "type");
    if (role == "assistant") {
      one_of(type, {"output_text", "refusal"}, "part of the assistant");
      if (type == "output_text") require(!string_at(part, "text").empty(), "an empty text");
    } else if (type == "input_text") {
      require(!string_at(part, "text").empty(), "an empty text");
    } else {
      require(type == "input_image" && role == "user", "unknown part");
      require(string_at(part, "image_url").starts_with("data:image/"), "a bad image URL");
    }
  }
}

void check_responses(const object& body) {
  words_at(body, "model");
  require(!body.contains("messages"), "messages is no field of this API");
  std::set<std::string> names;
  if (body.contains("tools"))
    for (const auto& item : filled_array_at(body, "tools")) {
      const auto& tool = object_of(item, "tool");
      require(string_at(tool, "type") == "function", "unknown tool");
      check_openai_function(tool, names);
    }
  check_openai_choice(body, names, false);
  if (body.contains("max_output_tokens"))
    require(positive_at(body, "max_output_tokens") >= 16, "max_output_tokens below 16");
  const bool stored = json::find_bool(body, "store").value_or(true);
  std::set<std::string> made, answered;
  bool reasoning_open = false;
  for (const auto& element : filled_array_at(body, "input")) {
    const auto& item = object_of(element, "item");
    const auto type = std::string(json::find_string(item, "type").value_or("message"));
    const auto id_starts = [&](std::string_view prefix) {
      if (item.contains("id"))
        require(string_at(item, "id").starts_with(prefix), "an id with a wrong prefix");
    };
    if (type == "reasoning") {
      id_starts("rs_");
      array_at(item, "summary");
      require(stored || item.contains("encrypted_content"), "reasoning that was not stored");
      reasoning_open = true;
      continue;
    }
    if (type == "function_call") {
      id_starts("fc_");
      const auto id = string_at(item, "call_id");
      require(!id.empty() && id.size() <= 64, "a bad call_id");
      require(made.insert(id).second, "a call_id twice");
      name_like(string_at(item, "name"), "_-", 64, "function");
      arguments_like(item);
    } else if (type == "function_call_output") {
      const auto id = string_at(item, "call_id");
      require(made.contains(id), "no tool call found for this output");
      require(answered.insert(id).second, "two outputs for a call");
      const auto& output = member(item, "output");
      require(output.is_string() || output.is_array(), "a bad output");
      require(!reasoning_open, "reasoning without its following item");
    } else {
      require(type == "message", "unknown item");
      const auto role = string_at(item, "role");
      one_of(role, {"user", "assistant", "system", "developer"}, "role");
      if (role == "assistant") {
        id_starts("msg_");
      } else {
        require(!reasoning_open, "reasoning without its following item");
      }
      check_responses_content(item, role);
    }
    reasoning_open = false;
  }
  require(!reasoning_open, "reasoning without its following item");
  require(made == answered, "no tool output found for a function call");
}

}  // namespace

std::string validate_openai_chat(const json::value& body) {
  return verdict(body, check_chat);
}
std::string validate_openai_responses(const json::value& body) {
  return verdict(body, check_responses);
}

}  // namespace reef::test
