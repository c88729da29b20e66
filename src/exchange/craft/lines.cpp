#include "exchange/craft/lines.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::exchange {
namespace {

constexpr std::string_view kCraftProvider = "craft";

// Takes a message's words: a text, or the texts of a list of parts; any other value as JSON.
boost::json::string take_words(json::object& from, std::string_view key) {
  auto* found = from.if_contains(key);
  if (!found) return {};
  auto value = std::move(*found);
  from.erase(key);
  if (auto* text = value.if_string()) return std::move(*text);
  if (value.is_null()) return {};
  const auto* parts = value.if_array();
  if (!parts) return boost::json::string(json::write(value));
  boost::json::string out;
  for (const auto& part : *parts) {
    const auto* object = part.if_object();
    const auto text = object             ? json::find_string(*object, "text")
                      : part.is_string() ? std::optional<std::string_view>(part.get_string())
                                         : std::nullopt;
    if (!out.empty()) out.push_back('\n');
    if (text) {
      out.append(*text);
    } else {
      out.append(json::write(part));
    }
  }
  return out;
}

json::array one_text(boost::json::string text) {
  json::array out;
  if (!text.empty()) out.push_back(json::object{{"type", "text"}, {"text", std::move(text)}});
  return out;
}

json::object assistant(json::array content, std::string_view stop_reason) {
  return json::object{{"role", "assistant"},
                      {"content", std::move(content)},
                      {"api", kCraftProvider},
                      {"provider", kCraftProvider},
                      {"model", ""},
                      {"usage", no_usage()},
                      {"stopReason", stop_reason}};
}

json::object call_of(json::object& line) {
  json::object call{{"type", "toolCall"},
                    {"id", take_text(line, "toolUseId")},
                    {"name", take_text(line, "toolName")}};
  auto* input = line.if_contains("toolInput");
  if (input && input->is_object()) {
    call["arguments"] = std::move(*input);
  } else if (input && !input->is_null()) {
    call["arguments"] = json::object{{"input", std::move(*input)}};
  } else {
    call["arguments"] = json::object();
  }
  line.erase("toolInput");
  return call;
}

// Expands ~/x, $HOME/x and ${HOME}/x, which headers may hold.
std::string expanded(std::string_view path) {
  const char* home = std::getenv("HOME");
  for (const std::string_view start : {"~", "${HOME}", "$HOME"}) {
    if (!path.starts_with(start)) continue;
    const auto rest = path.substr(start.size());
    if (home && (rest.empty() || rest.starts_with('/'))) return home + std::string(rest);
  }
  return std::string(path);
}

std::string_view permission_mode(std::string_view mode) {
  if (mode == "explore") return "safe";
  if (mode == "ask-to-edit") return "ask";
  if (mode == "execute") return "allow-all";
  return mode;
}

std::string_view thinking_level(std::string_view level) {
  if (level == "max") return "xhigh";
  if (level == "think") return "medium";
  return level;
}

// Moves the fields we know out of the header.
json::object meta_of(json::object& header) {
  json::object meta;
  const auto move_over = [&](std::string_view from, std::string_view to, auto change) {
    const auto* value = header.if_contains(from);
    if (value && set_meta(meta, to, change(*value))) header.erase(from);
  };
  const auto same = [](const json::value& value) { return value; };
  const auto through = [](auto word) {
    return [word](const json::value& value) {
      return value.is_string() ? json::value(word(value.get_string())) : value;
    };
  };
  move_over("name", "name", same);
  move_over("todoState", "sessionStatus", same);
  move_over("sessionStatus", "sessionStatus", same);
  move_over("labels", "labels", same);
  move_over("isFlagged", "isFlagged", same);
  move_over("isArchived", "isArchived", same);
  move_over("hasUnread", "hasUnread", same);
  move_over("permissionMode", "permissionMode", through(permission_mode));
  move_over("thinkingLevel", "thinkingLevel", through(thinking_level));
  move_over("workingDirectory", "workingDirectory", through(expanded));
  for (const std::string_view time : {"lastUsedAt", "archivedAt"})
    if (const auto at = time_from(header.if_contains(time))) meta[time] = unix_millis(*at);
  if (const auto* used = json::find_object(header, "tokenUsage")) {
    const auto count = [&](std::string_view field) {
      return std::max<std::int64_t>(0, json::find_int(*used, field).value_or(0));
    };
    const auto* cost = used->if_contains("costUsd");
    meta["originUsage"] = json::object{{"input", count("inputTokens")},
                                       {"output", count("outputTokens")},
                                       {"cost", cost && cost->is_number() ? *cost : json::value(0)},
                                       {"model", json::find_string(header, "model").value_or("")}};
  }
  // Craft never lists a hidden session; an archived one is out of the way here.
  if (json::find_bool(header, "hidden").value_or(false)) meta["isArchived"] = true;
  return meta;
}

// Drops the fields that are counted anew wherever they are needed.
void forget_computed(json::object& header) {
  for (const auto* name : {"id", "createdAt", "lastUsedAt", "lastMessageAt", "messageCount",
                           "lastMessageRole", "preview", "lastFinalMessageId", "sdkCwd"})
    header.erase(name);
}

}  // namespace

std::string craft_origin(const json::object& header, std::string_view id) {
  const auto created = time_from(header.if_contains("createdAt"));
  return fmt::format("craft:{}{}", utf8::sanitize(id),
                     created ? fmt::format("@{}", unix_millis(*created)) : "");
}

Status CraftSession::begin(const json::object* first) {
  // Our writer puts the session's data into the first line, because Craft keeps it there.
  const auto* ours = json::find_object(first ? *first : header_, kExtra);
  const auto* session = ours ? json::find_object(*ours, "session") : nullptr;
  const auto created = time_from(header_.if_contains("createdAt"));
  Head head;
  head.origin = craft_origin(header_, place_.id);
  head.path = place_.path;
  head.mark = place_.mark;
  head.parent = place_.parent;
  head.created = created.value_or(place_.modified);
  head.id = utf8::sanitize(place_.id);
  if (const auto cwd = json::find_string(header_, "workingDirectory")) {
    head.cwd = expanded(*cwd);
  } else if (const auto backend = json::find_string(header_, "sdkCwd")) {
    head.cwd = expanded(*backend);
  }
  auto natural = exchange::meta_of(header_);
  if (session) {
    if (const auto* meta = json::find_object(*session, "meta")) head.meta = believable_meta(*meta);
    head.id = json::find_string(*session, "id").value_or(head.id);
    head.cwd = json::find_string(*session, "cwd").value_or(head.cwd);
    // These are counted from the messages.
    for (const auto* derived : {"originUsage", "lastUsedAt", "archivedAt"}) natural.erase(derived);
    // A field that was changed in Craft since is newer; a field Craft never had stays.
    for (auto& [field, value] : natural) head.meta[field] = std::move(value);
  } else {
    head.meta = std::move(natural);
  }
  const auto* carried = ours && !first ? json::find_array(*ours, "after") : nullptr;
  if (carried) after_ = *carried;
  header_.erase(kExtra);
  forget_computed(header_);

  begun_ = true;
  const auto start = head.created;
  REEF_TRY(const bool wanted, intake_.begin(std::move(head)));
  if (!wanted) return Ok{};
  feed_.emplace(intake_, start);
  REEF_TRY(moved_, bring_());
  if (header_.empty() || session) return Ok{};
  return feed_->add("custom", feed_->claim(stable_id("craft.header").text), std::nullopt,
                    json::object{{"customType", "craft.header"}, {"data", std::move(header_)}});
}

std::optional<std::string> CraftSession::moved(std::string_view path) const {
  const auto sessions = fmt::format("/sessions/{}/", place_.id);
  std::string_view inside;
  if (path.starts_with(kSessionPath) && path.substr(kSessionPath.size()).starts_with('/')) {
    inside = path.substr(kSessionPath.size() + 1);
  } else if (const auto at = path.rfind(sessions); at != std::string_view::npos) {
    inside = path.substr(at + sessions.size());
  } else if (path.starts_with(place_.path + "/")) {
    inside = path.substr(place_.path.size() + 1);
  } else {
    inside = path;
  }
  const auto found = moved_.find(inside);
  if (found == moved_.end()) return std::nullopt;
  return found->second;
}

void CraftSession::move_references(json::object& line) const {
  const auto move_one = [&](json::object& in, std::string_view key) {
    if (const auto path = json::find_string(in, key))
      if (auto now = moved(*path)) in[key] = *std::move(now);
  };
  move_one(line, "planPath");
  auto* attachments = line.if_contains("attachments");
  if (!attachments || !attachments->is_array()) return;
  for (auto& attachment : attachments->get_array())
    if (auto* object = attachment.if_object())
      for (const auto* key : {"storedPath", "thumbnailPath", "markdownPath"})
        move_one(*object, key);
}

Result<std::string> CraftSession::line(json::object line, std::string_view seed) {
  if (!begun_) REEF_CHECK(begin(&line));
  if (!feed_) return std::string();
  Extra extra(line);
  std::string wrong;
  const auto of = json::find_string(extra.more, "of").value_or("");
  const bool continues = group_ && !of.empty() && of == group_->id;
  if (!continues) REEF_CHECK(flush());
  if (auto* before = extra.more.if_contains("before"); before && before->is_array()) {
    REEF_TRY(wrong, add_carried(std::move(before->get_array())));
  }
  if (auto* after = extra.more.if_contains("after"); after && after->is_array())
    after_ = std::move(after->get_array());

  move_references(line);
  if (extra.entry) {
    if (!is_verbatim(*extra.entry)) return std::string("not an entry a conversation may bring");
    REEF_CHECK(add_verbatim(*feed_, *std::move(extra.entry)));
    return wrong;
  }
  const auto type = std::string(
      json::find_string(line, "type").value_or(json::find_string(line, "role").value_or("")));
  const bool own = continues || !extra.id.empty() || json::find_bool(extra.more, "orphan");
  if (own && (type == "user" || type == "assistant" || type == "tool" || type == "plan" ||
              type == "error")) {
    REEF_CHECK(add_own(std::move(line), std::move(extra)));
    return wrong;
  }
  const auto name = json::find_string(line, "id").value_or("");
  auto id =
      stable_id(name.empty() ? fmt::format("craft\n{}", seed) : fmt::format("craft:{}", name));
  REEF_CHECK(add_foreign(std::move(line), type, std::move(id.text)));
  if (type.empty()) return std::string("neither type nor role; kept as it is");
  return wrong;
}

Status CraftSession::finish() {
  if (!begun_) REEF_CHECK(begin(nullptr));
  if (!feed_) return Ok{};
  REEF_CHECK(flush());
  return intake_.end();
}

Result<std::string> CraftSession::add_carried(json::array entries) {
  for (auto& entry : entries) {
    auto* object = entry.if_object();
    if (!object || !is_verbatim(*object))
      return std::string("not an entry a conversation may bring");
    REEF_CHECK(add_verbatim(*feed_, std::move(*object)));
  }
  return std::string();
}

Status CraftSession::flush() {
  if (group_) {
    auto group = *std::move(group_);
    group_.reset();
    const auto time = group.time.value_or(feed_->last_time());
    group.parts.layout = std::move(group.extra.layout);
    json::object message{{"role", "assistant"}, {"content", put_together(std::move(group.parts))}};
    REEF_CHECK(feed_->add("message", feed_->claim(std::move(group.id)), time,
                          message_fields(std::move(message), time, group.extra)));
    std::stable_sort(group.results.begin(), group.results.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    for (auto& result : group.results) REEF_CHECK(add_result(std::move(result)));
  }
  if (!after_.empty()) {
    REEF_TRY(const auto wrong, add_carried(std::exchange(after_, {})));
    if (!wrong.empty()) intake_.problem({place_.path, 0, wrong});
  }
  return Ok{};
}

Status CraftSession::add_result(Group::Result result) {
  const auto time = result.time.value_or(feed_->last_time());
  auto id = result.extra.id.empty() ? stable_id(json::write(result.message)).text : result.extra.id;
  return feed_->add("message", feed_->claim(std::move(id)), time,
                    message_fields(std::move(result.message), time, result.extra));
}

// Adds a line our writer made; its extra completes it.
Status CraftSession::add_own(json::object line, Extra extra) {
  const auto type = json::find_string(line, "type").value_or("");
  auto time = time_from(line.if_contains("timestamp"));
  if (extra.time) time = extra.time;
  if (type == "user") {
    Plain parts;
    parts.text = take_words(line, "content");
    parts.layout = std::move(extra.layout);
    json::object message{{"role", "user"}, {"content", put_together(std::move(parts))}};
    auto id = feed_->claim(extra.id);
    auto fields = message_fields(std::move(message), time.value_or(feed_->last_time()), extra);
    // The files may have moved since, so the line's attachments replace the entry's.
    if (auto* attachments = line.if_contains("attachments")) {
      auto& craft = fields["craft"];
      if (!craft.is_object()) craft = json::object();
      craft.get_object()["attachments"] = std::move(*attachments);
    }
    return feed_->add("message", std::move(id), time, std::move(fields));
  }

  std::optional<Group::Result> result;
  if (type == "tool" && json::find_object(extra.more, "result")) {
    // Extra takes itself out of a line, so the result's extra is put into one.
    json::object as_line{{kExtra, std::move(extra.more["result"])}};
    Extra own(as_line);
    Plain parts;
    parts.text = take_words(line, "toolResult");
    parts.layout = std::move(own.layout);
    json::object message{{"role", "toolResult"},
                         {"toolCallId", json::find_string(line, "toolUseId").value_or("")},
                         {"toolName", json::find_string(line, "toolName").value_or("")},
                         {"content", put_together(std::move(parts))},
                         {"isError", json::find_bool(line, "isError").value_or(false)}};
    const auto at = json::find_int(own.more, "at").value_or(0);
    const auto own_time = own.time;
    result = Group::Result{at, own_time, std::move(message), std::move(own)};
  }
  if (json::find_bool(extra.more, "orphan").value_or(false))
    return result ? add_result(*std::move(result)) : Ok{};

  if (!group_) {
    group_.emplace(Group{extra.id, time, {}, std::move(extra), {}});
    if (type == "assistant" || type == "plan") group_->parts.text = take_words(line, "content");
  }
  if (type == "tool") group_->parts.calls.push_back(call_of(line));
  if (result) group_->results.push_back(*std::move(result));
  return Ok{};
}

Status CraftSession::add_message(std::string id, std::optional<TimePoint> time,
                                 json::object message, json::object rest) {
  message["timestamp"] = unix_millis(time.value_or(feed_->last_time()));
  json::object fields{{"message", std::move(message)}};
  for (const auto* known : {"type", "role", "timestamp"}) rest.erase(known);
  if (!rest.empty()) fields["craft"] = std::move(rest);
  return feed_->add("message", feed_->claim(std::move(id)), time, std::move(fields));
}

Status CraftSession::add_tool(json::object line, const std::string& id,
                              std::optional<TimePoint> time) {
  const auto status = json::find_string(line, "toolStatus").value_or("");
  const bool failed = status == "error" || json::find_bool(line, "isError").value_or(false);
  const auto* raw = line.if_contains("toolResult");
  const bool done = (raw && !raw->is_null()) || status == "completed" || status == "error" ||
                    status == "backgrounded";
  auto text = take_words(line, "toolResult");
  auto call = call_of(line);
  json::object result{{"role", "toolResult"},
                      {"toolCallId", call["id"]},
                      {"toolName", call["name"]},
                      {"content", one_text(std::move(text))},
                      {"isError", failed}};
  json::array content;
  content.push_back(std::move(call));
  REEF_CHECK(add_message(id, time, assistant(std::move(content), "toolUse"), std::move(line)));
  if (!done) return Ok{};
  return add_message(stable_id(id + "\nresult").text, time, std::move(result), {});
}

Status CraftSession::add_foreign(json::object line, std::string_view type, std::string id) {
  const auto time = time_from(line.if_contains("timestamp"));
  if (type == "tool" && (line.contains("toolName") || line.contains("toolUseId")))
    return add_tool(std::move(line), id, time);
  if (type == "user") {
    auto content = one_text(take_words(line, "content"));
    // A picture that is in the line whole was shown to the model.
    if (auto* attachments = line.if_contains("attachments"); attachments && attachments->is_array())
      for (auto& attachment : attachments->get_array())
        if (auto* object = attachment.if_object())
          if (auto data = take_text(*object, "resizedBase64"); !data.empty())
            content.push_back(
                json::object{{"type", "image"},
                             {"data", std::move(data)},
                             {"mimeType", json::find_string(*object, "mimeType").value_or("")}});
    return add_message(std::move(id), time,
                       json::object{{"role", "user"}, {"content", std::move(content)}},
                       std::move(line));
  }
  if (type == "assistant" || type == "plan") {
    auto message = assistant(one_text(take_words(line, "content")), "stop");
    // The kind and the other members of the line tell a plan from an answer.
    json::object kind;
    if (type == "plan") kind["kind"] = type;
    for (auto& [key, value] : line) kind[key] = std::move(value);
    return add_message(std::move(id), time, std::move(message), std::move(kind));
  }
  if (type == "error") {
    auto message = assistant({}, "error");
    message["errorMessage"] = take_words(line, "content");
    return add_message(std::move(id), time, std::move(message), std::move(line));
  }
  const auto name = type.empty() ? std::string("craft.line") : "craft." + utf8::excerpt(type, 40);
  return feed_->add("custom", feed_->claim(std::move(id)), time,
                    json::object{{"customType", name}, {"data", std::move(line)}});
}

}  // namespace reef::exchange
