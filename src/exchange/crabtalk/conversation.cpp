#include "exchange/crabtalk/conversation.h"

#include <algorithm>

#include <fmt/format.h>

#include "exchange/crabtalk/blocks.h"
#include "exchange/foreign_file.h"

namespace reef::exchange {
namespace {

constexpr std::string_view kProvider = "crabtalk";
constexpr std::size_t kHeldEventsMax = 4096;

// {"type":"image_url","image_url":{"url":"data:image/png;base64,..."}}
json::value image_from(json::value part) {
  auto& object = part.get_object();
  const auto* link = json::find_object(object, "image_url");
  const auto url = link ? json::find_string(*link, "url").value_or("") : "";
  constexpr std::string_view kData = "data:";
  constexpr std::string_view kBase64 = ";base64,";
  const auto comma = url.find(kBase64);
  if (!url.starts_with(kData) || comma == std::string_view::npos) return part;
  return json::object{{"type", "image"},
                      {"data", url.substr(comma + kBase64.size())},
                      {"mimeType", url.substr(kData.size(), comma - kData.size())}};
}

// OpenAI's content: a text, nothing, or a list of parts.
json::array blocks_from(json::value content) {
  json::array out;
  if (auto* text = content.if_string()) {
    if (!text->empty()) out.push_back(json::object{{"type", "text"}, {"text", std::move(*text)}});
  } else if (auto* parts = content.if_array()) {
    for (auto& part : *parts) {
      if (part.is_string()) {
        out.push_back(json::object{{"type", "text"}, {"text", std::move(part)}});
      } else if (part.is_object() && json::find_string(part.get_object(), "type") == "image_url") {
        out.push_back(image_from(std::move(part)));
      } else {
        out.push_back(std::move(part));
      }
    }
  } else if (!content.is_null()) {
    out.push_back(json::object{{"type", "text"}, {"text", json::write(content)}});
  }
  return out;
}

json::object call_from(json::value in) {
  json::object out{{"type", "toolCall"}, {"id", ""}, {"name", ""}, {"arguments", json::object()}};
  auto* call = in.if_object();
  if (!call) return out;
  out["id"] = take_text(*call, "id");
  auto* function = call->if_contains("function");
  if (!function || !function->is_object()) return out;
  out["name"] = take_text(function->get_object(), "name");
  auto arguments = take(function->get_object(), "arguments");
  if (arguments.is_object()) {
    out["arguments"] = std::move(arguments);
  } else if (auto* text = arguments.if_string(); text && !text->empty()) {
    auto parsed = json::parse_lenient(*text);
    out["arguments"] = parsed && parsed->is_object()
                           ? *std::move(parsed)
                           : json::value(json::object{{"arguments", std::move(*text)}});
  }
  return out;
}

json::object usage_from(const json::object& in) {
  const auto count = [&](std::string_view name) {
    return std::max<std::int64_t>(0, json::find_int(in, name).value_or(0));
  };
  const auto cached = std::min(count("prompt_cache_hit_tokens"), count("prompt_tokens"));
  auto out = no_usage();
  out["input"] = count("prompt_tokens") - cached;
  out["output"] = count("completion_tokens");
  out["cacheRead"] = cached;
  out["totalTokens"] = count("prompt_tokens") + count("completion_tokens");
  return out;
}

}  // namespace

Status CrabTalkConversation::flush() {
  if (held_) {
    const auto time = held_->time.value_or(feed_.last_time());
    held_->fields["message"].get_object().emplace("timestamp", unix_millis(time));
    REEF_CHECK(feed_.add("message", std::move(held_->id), time, std::move(held_->fields)));
    held_.reset();
  }
  for (auto& [id, event] : events_) {
    const auto time = time_from(event.if_contains("ts"));
    const auto* usage = json::find_object(event, "usage");
    if (json::find_string(event, "event") == "done" && usage) {
      json::object fields{{"provider", kProvider},
                          {"model", json::find_string(event, "model").value_or("")},
                          {"usage", usage_from(*usage)}};
      fields["crabtalk"] = std::move(event);
      REEF_CHECK(feed_.add("usage", std::move(id), time, std::move(fields)));
    } else {
      json::object fields{{"customType", "crabtalk.event"}};
      fields["data"] = std::move(event);
      REEF_CHECK(feed_.add("custom", std::move(id), time, std::move(fields)));
    }
  }
  events_.clear();
  return Ok{};
}

Status CrabTalkConversation::about(json::object rest) {
  if (rest.empty()) return Ok{};
  return feed_.add("custom", feed_.claim(stable_id("crabtalk.meta").text), std::nullopt,
                   json::object{{"customType", "crabtalk.meta"}, {"data", std::move(rest)}});
}

Status CrabTalkConversation::finish(std::optional<TimePoint> updated) {
  if (held_ && !held_->time && updated && *updated > feed_.last_time()) held_->time = updated;
  return flush();
}

Result<std::string> CrabTalkConversation::take_line(json::object line, std::string_view place,
                                                    std::optional<TimePoint> time) {
  Extra extra(line);
  auto id = extra.id.empty() ? std::string(place) : extra.id;
  const bool is_event = json::find_string(line, "event").has_value();
  if (is_event && !extra.entry && json::find_string(line, "event") == kExtra)
    if (auto* entry = line.if_contains("entry"); entry && entry->is_object())
      extra.entry = std::move(entry->get_object());

  if (extra.entry) {
    REEF_CHECK(flush());
    if (!is_verbatim(*extra.entry)) return std::string("not an entry a conversation may bring");
    REEF_CHECK(add_verbatim(feed_, *std::move(extra.entry)));
    return std::string();
  }
  if (is_event) {
    REEF_CHECK(event(std::move(line), std::move(id)));
    return std::string();
  }
  REEF_CHECK(flush());
  if (json::find_string(line, "archive_name") || json::find_string(line, "compact"))
    return compaction(std::move(line), std::move(extra), std::move(id));
  if (json::find_object(line, "message") || json::find_string(line, "role")) {
    if (extra.time) time = extra.time;
    if (extra.there) {
      message(std::move(line), std::move(extra), std::move(id), time);
      return std::string();
    }
    std::size_t part = 0;
    for (auto& one : flat_lines(std::move(line))) {
      REEF_CHECK(flush());
      const auto own = part++ == 0 ? id : stable_id(fmt::format("{}\n{}", id, part)).text;
      message(std::move(one), extra, own, time);
    }
    return std::string();
  }
  REEF_CHECK(feed_.add("custom", feed_.claim(std::move(id)), time,
                       json::object{{"customType", "crabtalk.line"}, {"data", std::move(line)}}));
  return std::string("neither a message, an event nor a compact marker; kept as it is");
}

Result<std::string> CrabTalkConversation::compaction(json::object line, Extra extra,
                                                     std::string id) {
  const auto time = extra.time ? extra.time : time_from(line.if_contains("archived_at"));
  auto entry_id = feed_.claim(std::move(id));
  json::object fields;
  if (line.if_contains("compact") && line["compact"].is_string()) {
    fields["summary"] = take(line, "compact");
  } else {
    const std::string name(json::find_string(line, "archive_name").value_or(""));
    const auto found = archives_.find(name);
    if (found == archives_.end()) {
      // Without its summary the marker would only hide what was said.
      REEF_CHECK(
          feed_.add("custom", std::move(entry_id), time,
                    json::object{{"customType", "crabtalk.compact"}, {"data", std::move(line)}}));
      return fmt::format("its archive '{}' is not in memory.db; what it stands for is kept", name);
    }
    const auto& archive = *found->second;
    fields["summary"] = archive.content;
    fields["archive"] = name;
    Definition definition;
    definition.kind = Definition::Kind::archive;
    definition.name = name;
    definition.text = archive.content;
    definition.body["created_at"] = archive.created_at;
    REEF_CHECK(intake_.define(std::move(definition)));
  }
  // The replay begins at the marker: nothing before it is kept.
  fields["firstKeptEntryId"] = entry_id.text;
  fields["tokensBefore"] = 0;
  if (extra.there) {
    for (auto& [key, value] : extra.with)
      if (key != "summary" && key != "type" && key != "id" && key != "parentId" &&
          key != "timestamp")
        fields[key] = std::move(value);
  } else {
    fields["crabtalk"] = std::move(line);
  }
  REEF_CHECK(feed_.add("compaction", std::move(entry_id), time, std::move(fields)));
  return std::string();
}

Status CrabTalkConversation::event(json::object line, std::string id) {
  if (held_ && !held_->settled && json::find_string(line, "event") == "done") {
    auto& message = held_->fields["message"].get_object();
    if (json::find_string(message, "role") == "assistant") {
      message["model"] = json::find_string(line, "model").value_or("");
      if (const auto time = time_from(line.if_contains("ts"))) held_->time = time;
    }
  }
  events_.push_back(Event{feed_.claim(std::move(id)), std::move(line)});
  return events_.size() > kHeldEventsMax ? flush() : Ok{};
}

void CrabTalkConversation::message(json::object line, Extra extra, std::string id,
                                   std::optional<TimePoint> time) {
  // Older lines are the message itself.
  if (!json::find_object(line, "message")) {
    auto guest = take(line, "agent");
    line = json::object{{"message", std::move(line)}};
    if (guest.is_string()) line["agent"] = std::move(guest);
  }
  auto inner = std::move(take(line, "message").get_object());
  auto made = native(inner, extra);
  json::object fields;
  if (extra.there) {
    fields = message_fields(std::move(made), time.value_or(feed_.last_time()), extra);
  } else {
    fields["message"] = std::move(made);
    if (!inner.empty()) line["message"] = std::move(inner);
  }
  // Another agent than the conversation's own spoke.
  if (auto guest = take_text(line, "agent"); !guest.empty()) fields["agent"] = std::move(guest);
  if (!extra.there && !line.empty()) fields["crabtalk"] = std::move(line);
  held_ = Held{feed_.claim(std::move(id)), time, std::move(fields), extra.there};
}

// Returns our message; members that have no place in it stay in `message`.
json::object CrabTalkConversation::native(json::object& message, Extra& extra) {
  const auto role = take_text(message, "role");
  auto content = take(message, "content");
  if (role == "assistant") {
    tools_.clear();
    Plain parts;
    parts.thinking = take_text(message, "reasoning_content");
    auto list = take(message, "tool_calls");
    if (auto* calls = list.if_array()) {
      for (auto& call : *calls) {
        parts.calls.push_back(call_from(std::move(call)));
        const auto& made = parts.calls.back().get_object();
        tools_[std::string(made.at("id").get_string())] = made.at("name").get_string();
      }
    }
    parts.layout = std::move(extra.layout);
    const bool calls = !parts.calls.empty();
    json::object out{{"role", "assistant"}};
    if (content.is_array()) {
      auto said = blocks_from(std::move(content));
      auto rest = put_together(std::move(parts));
      said.insert(said.begin(), rest.begin(), rest.end());
      out["content"] = std::move(said);
    } else {
      if (auto* text = content.if_string()) parts.text = std::move(*text);
      out["content"] = put_together(std::move(parts));
    }
    if (!extra.there) {
      out["api"] = kProvider;
      out["provider"] = kProvider;
      out["model"] = "";
      out["usage"] = no_usage();
      out["stopReason"] = calls ? "toolUse" : "stop";
    }
    return out;
  }
  json::object out;
  json::array blocks;
  if (!extra.layout.empty() && content.is_string()) {
    Plain parts;
    parts.text = std::move(content.get_string());
    parts.layout = std::move(extra.layout);
    blocks = put_together(std::move(parts));
  } else {
    blocks = blocks_from(std::move(content));
  }
  if (role == "tool") {
    const auto call = take_text(message, "tool_call_id");
    auto tool = take_text(message, "name");
    if (tool.empty() && !extra.there)
      if (const auto known = tools_.find(std::string_view(call)); known != tools_.end())
        tool = known->second;
    out = json::object{{"role", "toolResult"}, {"toolCallId", call}, {"toolName", tool}};
    out["content"] = std::move(blocks);
    out["isError"] = json::find_bool(message, "is_error").value_or(false);
    message.erase("is_error");
    return out;
  }
  out["role"] = role;
  out["content"] = std::move(blocks);
  return out;
}

}  // namespace reef::exchange
