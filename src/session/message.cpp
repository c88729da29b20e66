#include "session/message.h"

#include <cmath>

#include "base/overload.h"

namespace reef::session {
namespace {

TimePoint time_from(const json::object& in) {
  return TimePoint(std::chrono::milliseconds(json::find_int(in, "timestamp").value_or(0)));
}

json::value to_json(const Block& block) {
  return std::visit(
      Overload{
          [](const TextBlock& b) -> json::value {
            json::object out{{"type", "text"}, {"text", b.text}};
            if (!b.signature.empty()) out["textSignature"] = b.signature;
            return out;
          },
          [](const ThinkingBlock& b) -> json::value {
            json::object out{{"type", "thinking"}, {"thinking", b.thinking}};
            if (!b.signature.empty()) out["thinkingSignature"] = b.signature;
            if (b.redacted) out["redacted"] = true;
            return out;
          },
          [](const ImageBlock& b) -> json::value {
            return json::object{{"type", "image"}, {"data", b.data}, {"mimeType", b.mime_type}};
          },
          [](const ToolCallBlock& b) -> json::value {
            json::object out{
                {"type", "toolCall"}, {"id", b.id}, {"name", b.name}, {"arguments", b.arguments}};
            if (!b.signature.empty()) out["thoughtSignature"] = b.signature;
            return out;
          },
          [](const OtherBlock& b) -> json::value { return b.raw; },
      },
      block);
}

json::array to_json(const std::vector<Block>& blocks) {
  json::array out;
  for (const auto& block : blocks) out.push_back(to_json(block));
  return out;
}

std::string string_or_empty(const json::object& in, std::string_view key) {
  return std::string(json::find_string(in, key).value_or(""));
}

Block block_from_json(const json::value& in) {
  const auto* object = in.if_object();
  if (!object) return OtherBlock{in};
  const auto type = json::find_string(*object, "type").value_or("");
  if (type == "text")
    return TextBlock{string_or_empty(*object, "text"), string_or_empty(*object, "textSignature")};
  if (type == "thinking")
    return ThinkingBlock{string_or_empty(*object, "thinking"),
                         string_or_empty(*object, "thinkingSignature"),
                         json::find_bool(*object, "redacted").value_or(false)};
  if (type == "image")
    return ImageBlock{string_or_empty(*object, "data"), string_or_empty(*object, "mimeType")};
  if (type == "toolCall") {
    ToolCallBlock call{string_or_empty(*object, "id"),
                       string_or_empty(*object, "name"),
                       {},
                       string_or_empty(*object, "thoughtSignature")};
    if (const auto* arguments = json::find_object(*object, "arguments"))
      call.arguments = *arguments;
    return call;
  }
  return OtherBlock{in};
}

// pi writes whole numbers without a fraction; so do we.
json::value number(double value) {
  const bool in_range = value > -1e15 && value < 1e15;
  if (in_range && value == std::trunc(value)) return static_cast<std::int64_t>(value);
  return value;
}

json::object to_json(const Usage& usage) {
  json::object out{
      {"input", usage.input},
      {"output", usage.output},
      {"cacheRead", usage.cache_read},
      {"cacheWrite", usage.cache_write},
      {"totalTokens", usage.total()},
      {"cost", json::object{{"input", number(usage.cost.input)},
                            {"output", number(usage.cost.output)},
                            {"cacheRead", number(usage.cost.cache_read)},
                            {"cacheWrite", number(usage.cost.cache_write)},
                            {"total", number(usage.cost.total)}}},
  };
  if (usage.reasoning != 0) out["reasoning"] = usage.reasoning;
  if (usage.estimated) out["estimated"] = true;
  return out;
}

constexpr std::pair<StopReason, std::string_view> kStopReasons[] = {
    {StopReason::stop, "stop"},        {StopReason::length, "length"},
    {StopReason::tool_use, "toolUse"}, {StopReason::error, "error"},
    {StopReason::aborted, "aborted"},
};

}  // namespace

std::vector<Block> content_from_json(const json::object& in) {
  std::vector<Block> out;
  if (const auto text = json::find_string(in, "content")) {
    out.push_back(TextBlock{std::string(*text)});
  } else if (const auto* blocks = json::find_array(in, "content")) {
    for (const auto& block : *blocks) out.push_back(block_from_json(block));
  }
  return out;
}

Usage usage_from_json(const json::object& in) {
  Usage out;
  out.input = json::find_int(in, "input").value_or(0);
  out.output = json::find_int(in, "output").value_or(0);
  out.cache_read = json::find_int(in, "cacheRead").value_or(0);
  out.cache_write = json::find_int(in, "cacheWrite").value_or(0);
  out.reasoning = json::find_int(in, "reasoning").value_or(0);
  out.estimated = json::find_bool(in, "estimated").value_or(false);
  if (const auto* cost = json::find_object(in, "cost")) {
    out.cost.input = json::find_number(*cost, "input").value_or(0);
    out.cost.output = json::find_number(*cost, "output").value_or(0);
    out.cost.cache_read = json::find_number(*cost, "cacheRead").value_or(0);
    out.cost.cache_write = json::find_number(*cost, "cacheWrite").value_or(0);
    out.cost.total = json::find_number(*cost, "total").value_or(0);
  }
  return out;
}

std::string_view name_of(StopReason reason) {
  for (const auto& [value, name] : kStopReasons)
    if (value == reason) return name;
  return "stop";
}

std::string_view role_of(const Message& message) {
  return std::visit(Overload{
                        [](const UserMessage&) -> std::string_view { return "user"; },
                        [](const AssistantMessage&) -> std::string_view { return "assistant"; },
                        [](const ToolResultMessage&) -> std::string_view { return "toolResult"; },
                        [](const BashMessage&) -> std::string_view { return "bashExecution"; },
                        [](const CustomMessage&) -> std::string_view { return "custom"; },
                        [](const SummaryMessage& m) -> std::string_view {
                          return m.kind == SummaryMessage::Kind::compaction ? "compactionSummary"
                                                                            : "branchSummary";
                        },
                        [](const OtherMessage& m) -> std::string_view { return m.role; },
                    },
                    message);
}

bool is_hidden(const Message& message) {
  if (const auto* words = std::get_if<UserMessage>(&message)) return words->hidden;
  if (const auto* result = std::get_if<ToolResultMessage>(&message)) return result->hidden;
  const auto* reply = std::get_if<AssistantMessage>(&message);
  return reply && reply->hidden;
}

std::string text_of(const std::vector<Block>& blocks) {
  std::string out;
  for (const auto& block : blocks) {
    const auto* text = std::get_if<TextBlock>(&block);
    if (!text) continue;
    if (!out.empty()) out.push_back('\n');
    out += text->text;
  }
  return out;
}

std::string text_of(const Message& message) {
  return std::visit(Overload{
                        [](const BashMessage& m) { return m.command + "\n" + m.output; },
                        [](const SummaryMessage& m) { return m.summary; },
                        [](const OtherMessage& m) { return text_of(content_from_json(m.raw)); },
                        [](const auto& m) { return text_of(m.content); },
                    },
                    message);
}

json::object to_json(const Message& message) {
  return std::visit(Overload{
                        [](const UserMessage& m) {
                          return json::object{{"role", "user"},
                                              {"content", to_json(m.content)},
                                              {"timestamp", unix_millis(m.time)}};
                        },
                        [](const AssistantMessage& m) {
                          json::object out{{"role", "assistant"},
                                           {"content", to_json(m.content)},
                                           {"api", m.api},
                                           {"provider", m.provider},
                                           {"model", m.model},
                                           {"usage", to_json(m.usage)},
                                           {"stopReason", name_of(m.stop_reason)}};
                          if (!m.error_message.empty()) out["errorMessage"] = m.error_message;
                          out["timestamp"] = unix_millis(m.time);
                          return out;
                        },
                        [](const ToolResultMessage& m) {
                          json::object out{{"role", "toolResult"},
                                           {"toolCallId", m.tool_call_id},
                                           {"toolName", m.tool_name},
                                           {"content", to_json(m.content)}};
                          if (!m.details.empty()) out["details"] = m.details;
                          out["isError"] = m.is_error;
                          out["timestamp"] = unix_millis(m.time);
                          return out;
                        },
                        [](const SummaryMessage& m) {
                          return json::object{{"role", role_of(m)},
                                              {"summary", m.summary},
                                              {"timestamp", unix_millis(m.time)}};
                        },
                        [](const auto& m) { return m.raw; },
                    },
                    message);
}

Message message_from_json(const json::object& in) {
  const auto role = json::find_string(in, "role").value_or("");
  if (role == "user") return UserMessage{content_from_json(in), time_from(in)};
  if (role == "assistant") {
    AssistantMessage out;
    out.content = content_from_json(in);
    out.api = string_or_empty(in, "api");
    out.provider = string_or_empty(in, "provider");
    out.model = string_or_empty(in, "model");
    if (const auto* usage = json::find_object(in, "usage")) out.usage = usage_from_json(*usage);
    const auto reason = json::find_string(in, "stopReason").value_or("stop");
    for (const auto& [value, name] : kStopReasons)
      if (name == reason) out.stop_reason = value;
    out.error_message = string_or_empty(in, "errorMessage");
    out.time = time_from(in);
    return out;
  }
  if (role == "toolResult") {
    ToolResultMessage out;
    out.tool_call_id = string_or_empty(in, "toolCallId");
    out.tool_name = string_or_empty(in, "toolName");
    out.content = content_from_json(in);
    out.is_error = json::find_bool(in, "isError").value_or(false);
    out.time = time_from(in);
    if (const auto* details = json::find_object(in, "details")) out.details = *details;
    return out;
  }
  if (role == "bashExecution") {
    BashMessage out;
    out.command = string_or_empty(in, "command");
    out.output = string_or_empty(in, "output");
    out.exit_code = json::find_int(in, "exitCode");
    out.cancelled = json::find_bool(in, "cancelled").value_or(false);
    out.truncated = json::find_bool(in, "truncated").value_or(false);
    out.full_output_path = string_or_empty(in, "fullOutputPath");
    out.exclude_from_context = json::find_bool(in, "excludeFromContext").value_or(false);
    out.raw = in;
    return out;
  }
  // Version 2 called it hookMessage.
  if (role == "custom" || role == "hookMessage")
    return CustomMessage{string_or_empty(in, "customType"), content_from_json(in), in};
  return OtherMessage{std::string(role), in};
}

}  // namespace reef::session
