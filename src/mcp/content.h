// Reads the tools, results, resources and prompts of servers from their JSON. The input is foreign,
// so it is bounded; content of unknown kind is named. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace reef::mcp {

struct Tool {
  std::string name;
  std::string description;
  json::object schema;     // of its arguments, as the server sent it
  bool read_only = false;  // the server says that the tool changes nothing
  // Arguments that are repeated in headers (x-mcp-header): the path to each, and its part of the
  // header.
  std::vector<std::pair<std::vector<std::string>, std::string>> mirrors = {};
};
// Fails for a tool that cannot be called: it has no name, or its headers break the rules.
Result<Tool> tool_from(const json::value& value);

struct Image {
  std::string data;  // base64
  std::string mime_type;
};
// A result of tools/call for a model: content that is not text is described; images are kept apart.
struct CallResult {
  std::string text;
  bool is_error = false;
  std::vector<Image> images = {};
  json::object structured = {};  // as it came; empty if absent
};
CallResult call_result_from(const json::object& result);

struct Resource {
  std::string uri;  // or a template for URIs
  std::string name, description, mime_type;
};
std::optional<Resource> resource_from(const json::value& value);
// Returns the contents of resources/read as text; other content is named.
std::string resource_text_from(const json::object& result);

struct Prompt {
  std::string name, description;
  std::vector<std::string> arguments;  // "topic", "style (optional)"
};
std::optional<Prompt> prompt_from(const json::value& value);
// Returns the messages of prompts/get, each after its role.
std::string prompt_text_from(const json::object& result);

// Makes a header value of any text: unchanged, or =?base64?...?= if it could not be a header.
std::string header_value(std::string_view text);
// Returns the headers that repeat a call's arguments: "Mcp-Param-X", value.
std::vector<std::pair<std::string, std::string>> mirrored(const Tool& tool,
                                                          const json::object& arguments);

}  // namespace reef::mcp
