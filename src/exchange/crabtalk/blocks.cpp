#include "exchange/crabtalk/blocks.h"

#include <algorithm>

#include <fmt/format.h>

#include "exchange/content.h"

namespace reef::exchange {
namespace {

bool is_block(const json::value& part, std::string_view type) {
  const auto* object = part.if_object();
  return object && json::find_string(*object, "type") == type;
}

void add_text(std::string& to, std::string_view text) {
  if (!to.empty() && !text.empty()) to += "\n\n";
  to += text;
}

// Turns {"type":"image","source":{"type":"base64","media_type","data"}} into the older form.
json::value image_part(json::value part) {
  const auto* source = json::find_object(part.get_object(), "source");
  const auto data = source ? json::find_string(*source, "data") : std::nullopt;
  if (!data) return part;
  const auto type = json::find_string(*source, "media_type").value_or("image/png");
  return json::object{
      {"type", "image_url"},
      {"image_url", json::object{{"url", fmt::format("data:{};base64,{}", type, *data)}}}};
}

void flatten_reply(json::object& message) {
  std::string text, thinking;
  json::array calls, other;
  for (auto& part : message.at("content").get_array()) {
    if (part.is_string()) {
      add_text(text, part.get_string());
    } else if (is_block(part, "text")) {
      add_text(text, json::find_string(part.get_object(), "text").value_or(""));
    } else if (is_block(part, "thinking")) {
      add_text(thinking, json::find_string(part.get_object(), "thinking").value_or(""));
    } else if (is_block(part, "tool_use")) {
      auto& call = part.get_object();
      auto input = take(call, "input");
      calls.push_back(json::object{
          {"id", take_text(call, "id")},
          {"type", "function"},
          {"function",
           json::object{{"name", take_text(call, "name")},
                        {"arguments",
                         input.is_object() ? std::move(input) : json::value(json::object())}}}});
    } else {
      other.push_back(std::move(part));
    }
  }
  if (!thinking.empty()) message["reasoning_content"] = thinking;
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  if (other.empty()) {
    message["content"] = text;
  } else {
    if (!text.empty()) other.insert(other.begin(), json::object{{"type", "text"}, {"text", text}});
    message["content"] = std::move(other);
  }
}

json::object result_line(json::object block) {
  json::object message{{"role", "tool"}, {"tool_call_id", take_text(block, "tool_use_id")}};
  if (auto name = take_text(block, "name"); !name.empty()) message["name"] = std::move(name);
  auto content = take(block, "content");
  if (auto* parts = content.if_array())
    for (auto& part : *parts)
      if (is_block(part, "image")) part = image_part(std::move(part));
  message["content"] = std::move(content);
  if (json::find_bool(block, "is_error").value_or(false)) message["is_error"] = true;
  return json::object{{"message", std::move(message)}};
}

}  // namespace

std::vector<json::object> flat_lines(json::object line) {
  std::vector<json::object> out;
  auto* inner = line.if_contains("message");
  auto* message = inner && inner->is_object() ? &inner->get_object()
                  : line.contains("role")     ? &line
                                              : nullptr;
  auto* content = message ? message->if_contains("content") : nullptr;
  if (!content || !content->is_array()) {
    out.push_back(std::move(line));
    return out;
  }
  if (json::find_string(*message, "role") == "assistant") {
    flatten_reply(*message);
    out.push_back(std::move(line));
    return out;
  }
  json::array rest;
  for (auto& part : content->get_array()) {
    if (is_block(part, "tool_result")) {
      out.push_back(result_line(std::move(part.get_object())));
    } else {
      rest.push_back(is_block(part, "image") ? image_part(std::move(part)) : std::move(part));
    }
  }
  if (!rest.empty() || out.empty()) {
    *content = std::move(rest);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace reef::exchange
