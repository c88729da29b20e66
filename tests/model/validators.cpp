#include "model/validators.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace reef::test {
namespace {

using json::array;
using json::object;
using json::value;

struct Refused {
  std::string why;
};

void require(bool holds, std::string_view why) {
  if (!holds) throw Refused{std::string(why)};
}

const object& object_of(const value& in, std::string_view what) {
  require(in.is_object(), fmt::format("{} is no object", what));
  return in.as_object();
}
const value& member(const object& in, std::string_view key) {
  const auto* found = in.if_contains(key);
  require(found != nullptr, fmt::format("{} is missing", key));
  return *found;
}
const object& object_at(const object& in, std::string_view key) {
  return object_of(member(in, key), key);
}
const array& array_at(const object& in, std::string_view key) {
  const auto& found = member(in, key);
  require(found.is_array(), fmt::format("{} is no array", key));
  return found.as_array();
}
const array& filled_array_at(const object& in, std::string_view key) {
  const auto& found = array_at(in, key);
  require(!found.empty(), fmt::format("{} is empty", key));
  return found;
}
std::string string_at(const object& in, std::string_view key) {
  const auto& found = member(in, key);
  require(found.is_string(), fmt::format("{} is no string", key));
  return std::string(found.as_string());
}
std::string words_at(const object& in, std::string_view key) {
  auto text = string_at(in, key);
  require(text.find_first_not_of(" \t\r\n\f\v") != std::string::npos,
          fmt::format("{} is blank", key));
  return text;
}
std::int64_t positive_at(const object& in, std::string_view key) {
  const auto number = json::find_int(in, key);
  require(number && *number >= 1, fmt::format("{} is no positive number", key));
  return *number;
}
void only(const object& in, std::initializer_list<std::string_view> known) {
  for (const auto& [key, unused] : in)
    require(std::find(known.begin(), known.end(), std::string_view(key)) != known.end(),
            fmt::format("unknown field {}", std::string_view(key)));
}
void name_like(const std::string& name, std::string_view also, std::size_t length_max,
               std::string_view what) {
  require(!name.empty() && name.size() <= length_max, fmt::format("{} has a bad length", what));
  for (const char c : name)
    require((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                also.find(c) != std::string_view::npos,
            fmt::format("{} '{}' has a bad character", what, name));
}
void base64_like(const std::string& data) {
  require(!data.empty() && data.size() % 4 == 0, "bad base64");
  name_like(data, "+/=", data.size(), "base64");
}
void one_of(const std::string& text, std::initializer_list<std::string_view> all,
            std::string_view what) {
  require(std::find(all.begin(), all.end(), std::string_view(text)) != all.end(),
          fmt::format("{} '{}' is not known", what, text));
}
void object_schema(const object& schema) {
  require(string_at(schema, "type") == "object", "a schema must be of an object");
}

template <class Check>
std::string verdict(const value& body, Check check) {
  try {
    check(object_of(body, "body"));
    return {};
  } catch (const Refused& refused) {
    return refused.why;
  }
}

// The calls of one turn, and their results in the next: every one, none else.
class Pairs {
 public:
  void call(const std::string& id) {
    require(ids_.insert(id).second, fmt::format("the id {} is used twice", id));
    made_.insert(id);
  }
  void result(const std::string& id) {
    require(open_.erase(id) == 1, fmt::format("a result for {}, which is not open", id));
  }
  void end_turn() {
    require(open_.empty(), "a call without a result in the next turn");
    open_ = std::move(made_);
    made_.clear();
  }
  bool any() const { return !ids_.empty(); }
  bool open() const { return !open_.empty(); }

 private:
  std::set<std::string> ids_, open_, made_;
};

// Alternate, and the user first and last.
class Roles {
 public:
  Roles(std::string user, std::string assistant)
      : user_(std::move(user)), assistant_(std::move(assistant)) {}
  bool next(const std::string& role) {
    one_of(role, {user_, assistant_}, "role");
    require(last_.empty() ? role == user_ : role != last_, "roles do not alternate from the user");
    last_ = role;
    return role == user_;
  }
  void end() const { require(last_ == user_, "the last message is not the user's"); }

 private:
  std::string user_, assistant_, last_;
};

// ---- Anthropic

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
  // The assistant's first message since the user last spoke.
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

// ---- OpenAI

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

// ---- Gemini

void gemini_name(const std::string& name) {
  name_like(name, "_.:-", 64, "function");
  require(!(name[0] >= '0' && name[0] <= '9') && name[0] != '.' && name[0] != ':' && name[0] != '-',
          "a function name must start with a letter or an underscore");
}

void gemini_schema(const object& schema) {
  only(schema,
       {"type",      "format",    "title",      "description", "nullable",      "enum",
        "maxItems",  "minItems",  "properties", "required",    "minProperties", "maxProperties",
        "minLength", "maxLength", "pattern",    "example",     "anyOf",         "propertyOrdering",
        "default",   "items",     "minimum",    "maximum"});
  if (schema.contains("anyOf")) {
    for (const auto& item : filled_array_at(schema, "anyOf"))
      gemini_schema(object_of(item, "anyOf"));
    return;
  }
  auto type = string_at(schema, "type");
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  one_of(type, {"string", "number", "integer", "boolean", "array", "object", "null"}, "type");
  if (type == "object") {
    const auto& properties = object_at(schema, "properties");
    require(!properties.empty(), "properties: should be non-empty for OBJECT type");
    for (const auto& [key, property] : properties) gemini_schema(object_of(property, key));
    if (schema.contains("required"))
      for (const auto& name : array_at(schema, "required"))
        require(name.is_string() && properties.contains(name.as_string()),
                "required names no property");
  } else {
    require(!schema.contains("properties"), "only allowed for OBJECT type");
  }
  if (type == "array") gemini_schema(object_at(schema, "items"));
  if (schema.contains("enum")) {
    require(type == "string", "enum: only allowed for STRING type");
    for (const auto& word : filled_array_at(schema, "enum"))
      require(word.is_string() && !word.as_string().empty(), "enum: cannot be empty");
  }
  if (schema.contains("format")) {
    const auto format = string_at(schema, "format");
    if (type == "string") one_of(format, {"enum", "date-time"}, "format");
    if (type == "number") one_of(format, {"float", "double"}, "format");
    if (type == "integer") one_of(format, {"int32", "int64"}, "format");
  }
}

void check_gemini(const object& body) {
  only(body, {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig",
              "safetySettings", "cachedContent"});
  if (body.contains("systemInstruction"))
    for (const auto& part : filled_array_at(object_at(body, "systemInstruction"), "parts"))
      words_at(object_of(part, "part"), "text");
  std::set<std::string> names;
  if (body.contains("tools"))
    for (const auto& tool : filled_array_at(body, "tools"))
      for (const auto& item : filled_array_at(object_of(tool, "tool"), "functionDeclarations")) {
        const auto& function = object_of(item, "function");
        only(function, {"name", "description", "parameters"});
        const auto name = string_at(function, "name");
        gemini_name(name);
        require(names.insert(name).second, "duplicate function declaration");
        if (function.contains("parameters")) gemini_schema(object_at(function, "parameters"));
      }
  if (body.contains("toolConfig")) {
    require(!names.empty(), "toolConfig without tools");
    const auto& config = object_at(object_at(body, "toolConfig"), "functionCallingConfig");
    const auto mode = string_at(config, "mode");
    one_of(mode, {"AUTO", "ANY", "NONE"}, "mode");
    if (config.contains("allowedFunctionNames")) {
      require(mode == "ANY", "allowed names only go with ANY");
      for (const auto& name : filled_array_at(config, "allowedFunctionNames"))
        require(name.is_string() && names.contains(std::string(name.as_string())),
                "an allowed name that is not declared");
    }
  }
  std::vector<std::pair<std::string, std::string>> open;  // id, name
  std::string last;
  for (const auto& item : filled_array_at(body, "contents")) {
    const auto& content = object_of(item, "content");
    only(content, {"role", "parts"});
    const auto role = string_at(content, "role");
    one_of(role, {"user", "model"}, "role");
    require(!last.empty() || role == "user", "the first content must be the user's");
    require(role == "user" || last == "user", "a model's content must follow the user's");
    const bool responses_due = !open.empty();
    std::vector<std::pair<std::string, std::string>> made;
    std::size_t responses = 0;
    const auto& parts = filled_array_at(content, "parts");
    for (const auto& element : parts) {
      const auto& part = object_of(element, "part");
      only(part, {"text", "thought", "thoughtSignature", "inlineData", "functionCall",
                  "functionResponse"});
      const auto kinds = part.contains("text") + part.contains("inlineData") +
                         part.contains("functionCall") + part.contains("functionResponse");
      require(kinds == 1, "a part has exactly one kind of data");
      if (part.contains("thoughtSignature")) {
        require(role == "model", "a signature of the user's");
        words_at(part, "thoughtSignature");
      }
      if (part.contains("text")) {
        require(!string_at(part, "text").empty(), "an empty text");
      } else if (part.contains("inlineData")) {
        require(role == "user", "inline data of the model's");
        const auto& data = object_at(part, "inlineData");
        one_of(string_at(data, "mimeType"),
               {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}, "MIME type");
        base64_like(string_at(data, "data"));
      } else if (part.contains("functionCall")) {
        require(role == "model", "a call of the user's");
        const auto& call = object_at(part, "functionCall");
        only(call, {"id", "name", "args"});
        gemini_name(string_at(call, "name"));
        if (call.contains("args")) object_at(call, "args");
        made.emplace_back(std::string(json::find_string(call, "id").value_or("")),
                          string_at(call, "name"));
      } else {
        require(role == "user", "a response of the model's");
        const auto& response = object_at(part, "functionResponse");
        only(response, {"id", "name", "response"});
        object_at(response, "response");
        require(responses < open.size(), "more responses than calls");
        require(open[responses] ==
                    std::pair(std::string(json::find_string(response, "id").value_or("")),
                              string_at(response, "name")),
                "a response that does not match its call");
        ++responses;
      }
    }
    require(responses == open.size() && (!responses_due || responses == parts.size()),
            "the number of function response parts must equal that of the function call parts of "
            "the function call turn");
    open = std::move(made);
    last = role;
  }
  require(last == "user", "the last content must be the user's");
  if (body.contains("generationConfig")) {
    const auto& config = object_at(body, "generationConfig");
    if (config.contains("maxOutputTokens")) positive_at(config, "maxOutputTokens");
    if (config.contains("stopSequences"))
      require(filled_array_at(config, "stopSequences").size() <= 5, "more than 5 stop sequences");
    if (config.contains("thinkingConfig")) {
      const auto& thinking = object_at(config, "thinkingConfig");
      only(thinking, {"thinkingBudget", "thinkingLevel", "includeThoughts"});
      require(!(thinking.contains("thinkingBudget") && thinking.contains("thinkingLevel")),
              "a budget and a level");
    }
  }
}

// ---- Bedrock

struct BedrockCheck {
  Pairs pairs;
  int points = 0;

  void point(const object& in) {
    const auto& cache = object_at(in, "cachePoint");
    require(string_at(cache, "type") == "default", "unknown cachePoint");
    require(++points <= 4, "more than 4 cache points");
  }
  static void image(const object& in) {
    const auto& image = object_at(in, "image");
    one_of(string_at(image, "format"), {"png", "jpeg", "gif", "webp"}, "image format");
    base64_like(string_at(object_at(image, "source"), "bytes"));
  }
  void block(const object& in, bool user, bool first) {
    require(in.size() == 1, "a content block is a union of one member");
    const auto kind = std::string(in.begin()->key());
    if (kind == "text") {
      words_at(in, "text");
    } else if (kind == "image") {
      require(user, "an image of the assistant's");
      image(in);
    } else if (kind == "cachePoint") {
      require(!first, "a cache point before any content");
      point(in);
    } else if (kind == "toolUse") {
      require(!user, "a toolUse of the user's");
      const auto& use = object_at(in, "toolUse");
      only(use, {"toolUseId", "name", "input"});
      const auto id = string_at(use, "toolUseId");
      name_like(id, "_-", 64, "toolUseId");
      pairs.call(id);
      name_like(string_at(use, "name"), "_-", 64, "name");
      object_at(use, "input");
    } else if (kind == "toolResult") {
      require(user, "a toolResult of the assistant's");
      const auto& result = object_at(in, "toolResult");
      only(result, {"toolUseId", "content", "status"});
      pairs.result(string_at(result, "toolUseId"));
      if (result.contains("status"))
        one_of(string_at(result, "status"), {"success", "error"}, "status");
      for (const auto& item : filled_array_at(result, "content")) {
        const auto& part = object_of(item, "content of a result");
        require(part.size() == 1, "a union of one member");
        if (part.contains("image")) {
          image(part);
        } else if (!part.contains("json")) {
          words_at(part, "text");
        }
      }
    } else {
      require(kind == "reasoningContent" && !user, "unknown block");
      const auto& reasoning = object_at(in, "reasoningContent");
      require(reasoning.size() == 1, "a union of one member");
      if (reasoning.contains("redactedContent")) {
        base64_like(string_at(reasoning, "redactedContent"));
      } else {
        const auto& text = object_at(reasoning, "reasoningText");
        string_at(text, "text");
        words_at(text, "signature");
      }
    }
  }
};

void check_bedrock(const object& body) {
  only(body, {"messages", "system", "inferenceConfig", "toolConfig", "guardrailConfig",
              "additionalModelRequestFields", "additionalModelResponseFieldPaths",
              "promptVariables", "requestMetadata", "performanceConfig", "serviceTier"});
  BedrockCheck check;
  if (body.contains("system"))
    for (const auto& item : filled_array_at(body, "system")) {
      const auto& block = object_of(item, "system");
      require(block.size() == 1, "a union of one member");
      if (block.contains("cachePoint")) {
        check.point(block);
      } else {
        words_at(block, "text");
      }
    }
  std::set<std::string> names;
  if (body.contains("toolConfig")) {
    const auto& config = object_at(body, "toolConfig");
    only(config, {"tools", "toolChoice"});
    for (const auto& item : filled_array_at(config, "tools")) {
      const auto& tool = object_of(item, "tool");
      require(tool.size() == 1, "a union of one member");
      if (tool.contains("cachePoint")) {
        check.point(tool);
        continue;
      }
      const auto& spec = object_at(tool, "toolSpec");
      only(spec, {"name", "description", "inputSchema"});
      const auto name = string_at(spec, "name");
      name_like(name, "_-", 64, "tool");
      require(names.insert(name).second, "tool names must be unique");
      if (spec.contains("description")) words_at(spec, "description");
      object_schema(object_at(object_at(spec, "inputSchema"), "json"));
    }
    if (config.contains("toolChoice")) {
      const auto& choice = object_at(config, "toolChoice");
      require(choice.size() == 1, "a union of one member");
      one_of(std::string(choice.begin()->key()), {"auto", "any", "tool"}, "toolChoice");
      if (choice.contains("tool"))
        require(names.contains(string_at(object_at(choice, "tool"), "name")),
                "toolChoice names no tool");
    }
  }
  Roles roles("user", "assistant");
  for (const auto& item : filled_array_at(body, "messages")) {
    const auto& message = object_of(item, "message");
    only(message, {"role", "content"});
    const bool user = roles.next(string_at(message, "role"));
    const auto& content = filled_array_at(message, "content");
    for (std::size_t i = 0; i < content.size(); ++i)
      check.block(object_of(content[i], "block"), user, i == 0);
    check.pairs.end_turn();
    if (!user)
      require(!content.back().as_object().contains("reasoningContent"),
              "the final block of an assistant message cannot be thinking");
  }
  roles.end();
  require(!check.pairs.any() || !names.empty(),
          "the toolConfig field must be defined when using toolUse and toolResult");
  if (body.contains("inferenceConfig")) {
    const auto& config = object_at(body, "inferenceConfig");
    only(config, {"maxTokens", "temperature", "topP", "stopSequences"});
    if (config.contains("maxTokens")) positive_at(config, "maxTokens");
    if (config.contains("stopSequences"))
      for (const auto& words : filled_array_at(config, "stopSequences"))
        require(words.is_string() && !words.as_string().empty(), "an empty stop sequence");
  }
}

}  // namespace

std::string validate_anthropic(const json::value& body) {
  return verdict(body, check_anthropic);
}
std::string validate_openai_chat(const json::value& body) {
  return verdict(body, check_chat);
}
std::string validate_openai_responses(const json::value& body) {
  return verdict(body, check_responses);
}
std::string validate_gemini(const json::value& body) {
  return verdict(body, check_gemini);
}
std::string validate_bedrock(const json::value& body) {
  return verdict(body, check_bedrock);
}

}  // namespace reef::test
