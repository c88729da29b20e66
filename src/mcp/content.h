// What servers offer and answer, read from their JSON: foreign, bounded, every kind of content
// understood or named. Pure functions.
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
  json::object schema;     // of its arguments, as the server wrote it
  bool read_only = false;  // it says that it changes nothing
  // Arguments that are repeated in headers (x-mcp-header): the way to each, and the header's word.
  std::vector<std::pair<std::vector<std::string>, std::string>> mirrors = {};
};
// Fails on one that cannot be called: no name, or headers against the rules.
Result<Tool> tool_from(const json::value& value);

struct Image {
  std::string data;  // base64
  std::string mime_type;
};
// A result of tools/call for a model: what is no text is told in words; images go beside them.
struct CallResult {
  std::string text;
  bool is_error = false;
  std::vector<Image> images = {};
  json::object structured = {};  // as it came; empty when there was none
};
CallResult call_result_from(const json::object& result);

struct Resource {
  std::string uri;  // or a template of ones
  std::string name, description, mime_type;
};
std::optional<Resource> resource_from(const json::value& value);
// The contents of resources/read as text; what is none is named.
std::string resource_text_from(const json::object& result);

struct Prompt {
  std::string name, description;
  std::vector<std::string> arguments;  // "topic", "style (optional)"
};
std::optional<Prompt> prompt_from(const json::value& value);
// The messages of prompts/get, each behind who says it.
std::string prompt_text_from(const json::object& result);

// A header's value for any text: as it is, or =?base64?...?= where it could not be one.
std::string header_value(std::string_view text);
// The headers a call's arguments are repeated in: "Mcp-Param-X", value.
std::vector<std::pair<std::string, std::string>> mirrored(const Tool& tool,
                                                          const json::object& arguments);

}  // namespace reef::mcp
