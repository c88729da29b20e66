#include <optional>
#include <vector>

#include "model/checking.h"
#include "model/validators.h"

namespace reef::test {
namespace {

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

}  // namespace

std::string validate_gemini(const json::value& body) {
  return verdict(body, check_gemini);
}

}  // namespace reef::test
