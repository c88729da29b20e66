#include "mcp/content.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/utf8.h"

namespace reef::mcp {
namespace {

constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kDescriptionBytesMax = 16U << 10;
constexpr std::size_t kSchemaBytesMax = 256U << 10;
constexpr std::size_t kImagesMax = 20;
constexpr int kSchemaDepthMax = 16;

std::string text_of(const json::object& in, std::string_view key) {
  return std::string(json::find_string(in, key).value_or(""));
}

bool is_token(std::string_view word) {
  return !word.empty() && word.size() <= 100 && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

struct Mirrors {
  Tool& tool;
  std::set<std::string> words = {};

  Status collect(const json::object& schema, std::vector<std::string>& path, int depth) {
    if (depth > kSchemaDepthMax) return Ok{};
    const auto* properties = json::find_object(schema, "properties");
    if (!properties) return Ok{};
    for (const auto& [name, value] : *properties) {
      const auto* property = value.if_object();
      if (!property) continue;
      path.emplace_back(name);
      if (const auto* word = property->if_contains("x-mcp-header"))
        REEF_CHECK(take(*property, *word, path));
      REEF_CHECK(collect(*property, path, depth + 1));
      path.pop_back();
    }
    return Ok{};
  }

  Status take(const json::object& property, const json::value& word,
              const std::vector<std::string>& path) {
    const auto* text = word.if_string();
    if (!text || !is_token(*text))
      return Error(Errc::invalid, "x-mcp-header must be the name of a header");
    const auto type = json::find_string(property, "type").value_or("");
    if (type != "string" && type != "integer" && type != "boolean")
      return Error(Errc::invalid, "x-mcp-header is only for texts, whole numbers and booleans");
    if (!words.insert(utf8::lower_ascii(*text)).second)
      return Error(Errc::invalid, "x-mcp-header names one header twice");
    tool.mirrors.emplace_back(path, std::string(*text));
    return Ok{};
  }
};

std::string described_bytes(const json::object& block, std::string_view what) {
  const auto data = json::find_string(block, "data").value_or("");
  return fmt::format("[{}: {}, {} bytes]", what,
                     utf8::excerpt(json::find_string(block, "mimeType").value_or("unknown kind")),
                     data.size() / 4 * 3);
}

std::string resource_contents(const json::object& resource) {
  if (const auto text = json::find_string(resource, "text")) return std::string(*text);
  if (const auto blob = json::find_string(resource, "blob"))
    return fmt::format("[{}: {}, {} bytes, not text]", utf8::excerpt(text_of(resource, "uri"), 200),
                       utf8::excerpt(json::find_string(resource, "mimeType").value_or("unknown")),
                       blob->size() / 4 * 3);
  return fmt::format("[{}: empty]", utf8::excerpt(text_of(resource, "uri"), 200));
}

// Describes one block as text; if `images` is given, an image goes there.
std::string block_text(const json::object& block, std::vector<Image>* images) {
  const auto type = json::find_string(block, "type").value_or("");
  if (type == "text") return text_of(block, "text");
  if (type == "image") {
    const auto data = json::find_string(block, "data").value_or("");
    const auto mime = text_of(block, "mimeType");
    if (images && images->size() < kImagesMax && mime.starts_with("image/") && !data.empty() &&
        from_base64(data)) {
      images->push_back({std::string(data), mime});
      return {};
    }
    return described_bytes(block, "image");
  }
  if (type == "audio") return described_bytes(block, "audio");
  if (type == "resource_link")
    return fmt::format("[resource {}: {}]", text_of(block, "uri"), text_of(block, "name"));
  if (type == "resource")
    if (const auto* resource = json::find_object(block, "resource")) {
      const auto uri = text_of(*resource, "uri");
      return (uri.empty() ? "" : fmt::format("[resource {}]\n", uri)) +
             resource_contents(*resource);
    }
  return fmt::format("[content of a kind that is not known: {}]", utf8::excerpt(type));
}

void add_line(std::string& out, const std::string& line) {
  if (line.empty()) return;
  if (!out.empty()) out += '\n';
  out += line;
}

}  // namespace

Result<Tool> tool_from(const json::value& value) {
  const auto* fields = value.if_object();
  if (!fields) return Error(Errc::invalid, "a tool must be an object");
  Tool tool;
  tool.name = text_of(*fields, "name");
  if (tool.name.empty() || tool.name.size() > kNameBytesMax)
    return Error(Errc::invalid, "a tool without a name, or with a very long one");
  const auto description = text_of(*fields, "description");
  tool.description = utf8::prefix(description, kDescriptionBytesMax);
  if (tool.description.empty()) tool.description = text_of(*fields, "title");
  if (const auto* schema = json::find_object(*fields, "inputSchema")) tool.schema = *schema;
  // The backends of models insist on these fields.
  if (json::find_string(tool.schema, "type") != "object") tool.schema["type"] = "object";
  if (!json::find_object(tool.schema, "properties")) tool.schema["properties"] = json::object();
  if (json::write(tool.schema).size() > kSchemaBytesMax)
    return Error(Errc::too_large,
                 fmt::format("tool '{}': its schema is too large", utf8::excerpt(tool.name)));
  if (const auto* notes = json::find_object(*fields, "annotations"))
    tool.read_only = json::find_bool(*notes, "readOnlyHint").value_or(false);
  std::vector<std::string> path;
  if (auto good = Mirrors{tool}.collect(tool.schema, path, 0); !good)
    return std::move(good).error().with(fmt::format("tool '{}'", utf8::excerpt(tool.name)));
  return tool;
}

CallResult call_result_from(const json::object& result) {
  CallResult out;
  out.is_error = json::find_bool(result, "isError").value_or(false);
  if (const auto* blocks = json::find_array(result, "content"))
    for (const auto& block : *blocks)
      if (const auto* fields = block.if_object())
        add_line(out.text, block_text(*fields, &out.images));
  if (const auto* structured = json::find_object(result, "structuredContent")) {
    out.structured = *structured;
    // The specification only recommends that servers repeat it as text.
    if (out.text.empty()) out.text = json::write(*structured);
  }
  return out;
}

std::optional<Resource> resource_from(const json::value& value) {
  const auto* fields = value.if_object();
  if (!fields) return std::nullopt;
  Resource out;
  out.uri = text_of(*fields, "uri");
  if (out.uri.empty()) out.uri = text_of(*fields, "uriTemplate");
  if (out.uri.empty()) return std::nullopt;
  out.name = text_of(*fields, "name");
  out.description = text_of(*fields, "description");
  out.mime_type = text_of(*fields, "mimeType");
  return out;
}

std::string resource_text_from(const json::object& result) {
  std::string out;
  if (const auto* contents = json::find_array(result, "contents"))
    for (const auto& one : *contents)
      if (const auto* fields = one.if_object()) add_line(out, resource_contents(*fields));
  return out;
}

std::optional<Prompt> prompt_from(const json::value& value) {
  const auto* fields = value.if_object();
  if (!fields) return std::nullopt;
  Prompt out{text_of(*fields, "name"), text_of(*fields, "description"), {}};
  if (out.name.empty()) return std::nullopt;
  if (const auto* arguments = json::find_array(*fields, "arguments"))
    for (const auto& argument : *arguments)
      if (const auto* one = argument.if_object(); one && !text_of(*one, "name").empty())
        out.arguments.push_back(text_of(*one, "name") +
                                (json::find_bool(*one, "required") == true ? "" : " (optional)"));
  return out;
}

std::string prompt_text_from(const json::object& result) {
  std::string out;
  const auto* messages = json::find_array(result, "messages");
  if (!messages) return out;
  for (const auto& message : *messages) {
    const auto* fields = message.if_object();
    if (!fields) continue;
    const auto* content = fields->if_contains("content");
    std::string said;
    if (content && content->is_object()) said = block_text(content->get_object(), nullptr);
    if (content && content->is_array())
      for (const auto& block : content->get_array())
        if (block.is_object()) add_line(said, block_text(block.get_object(), nullptr));
    add_line(out, fmt::format("{}: {}", text_of(*fields, "role"), said));
  }
  return out;
}

std::string header_value(std::string_view text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  const bool padded = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  const bool looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
  if (plain && !padded && !looks_encoded) return std::string(text);
  return "=?base64?" + to_base64(text) + "?=";
}

std::vector<std::pair<std::string, std::string>> mirrored(const Tool& tool,
                                                          const json::object& arguments) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [path, word] : tool.mirrors) {
    const auto* in = &arguments;
    const json::value* value = nullptr;
    for (std::size_t i = 0; in && i < path.size(); ++i) {
      value = in->if_contains(path[i]);
      in = value ? value->if_object() : nullptr;
    }
    if (!value) continue;
    std::string text;
    if (value->is_string()) {
      text = std::string_view(value->get_string());
    } else if (value->is_bool()) {
      text = value->get_bool() ? "true" : "false";
    } else if (value->is_int64() || value->is_uint64()) {
      text = json::write(*value);
    } else if (value->is_double()) {
      text = fmt::format("{}", value->get_double());
    } else {
      continue;
    }
    out.emplace_back("Mcp-Param-" + word, header_value(text));
  }
  return out;
}

}  // namespace reef::mcp
