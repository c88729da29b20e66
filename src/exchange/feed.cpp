#include "exchange/feed.h"

#include <algorithm>

#include <fmt/format.h>

#include "exchange/foreign_file.h"
#include "session/metadata.h"

namespace reef::exchange {
namespace {

constexpr std::size_t kIdBytesMax = 128;

bool is_entry_member(std::string_view key) {
  return key == "type" || key == "id" || key == "parentId" || key == "timestamp" ||
         key == "message";
}

json::object take_object(json::object& from, std::string_view key) {
  auto* found = from.if_contains(key);
  if (!found || !found->is_object()) return {};
  auto out = std::move(found->get_object());
  from.erase(key);
  return out;
}

}  // namespace

session::EntryId Feed::claim(std::string wanted) {
  // The id of a damaged line may be empty; an entry always has one.
  if (wanted.empty()) wanted = stable_id(wanted).text;
  auto id = wanted;
  for (int n = 2; !ids_.insert(hash_of(id)); ++n)
    id = stable_id(fmt::format("{}\n{}", wanted, n)).text;
  return session::EntryId{std::move(id)};
}

Status Feed::add(std::string_view type, session::EntryId id, std::optional<TimePoint> time,
                 json::object fields) {
  last_ = time.value_or(last_);
  auto entry =
      session::make_entry(session::Draft{std::string(type), std::move(fields)}, id, parent_, last_);
  parent_ = std::move(id);
  return intake_.entry(std::move(entry));
}

Foreign to_foreign(const session::Entry& entry, std::initializer_list<std::string_view> held,
                   Thinking thinking) {
  Foreign out;
  out.extra["id"] = entry.id.text;
  const auto* message = json::find_object(entry.body, "message");
  if (message) out.parts = take_apart(*message, thinking);
  json::object rest;
  if (message)
    for (const auto& [key, value] : *message) {
      const auto is_held = [&](std::string_view name) { return name == key; };
      if (key == "role" || key == "content" || std::any_of(held.begin(), held.end(), is_held))
        continue;
      if (key == "timestamp" && value.is_int64() && value.get_int64() == unix_millis(entry.time))
        continue;
      if (key == "isError" && value.is_bool() && !value.get_bool()) continue;
      rest[key] = value;
    }
  json::object with;
  for (const auto& [key, value] : entry.body)
    if (!is_entry_member(key)) with[key] = value;
  if (!rest.empty()) out.extra["message"] = std::move(rest);
  if (!with.empty()) out.extra["with"] = std::move(with);
  if (!out.parts.layout.empty()) out.extra["layout"] = std::move(out.parts.layout);
  return out;
}

Extra::Extra(json::object& line) {
  auto* found = line.if_contains(kExtra);
  if (!found || !found->is_object()) return;
  there = true;
  more = std::move(found->get_object());
  line.erase(kExtra);
  if (const auto text = json::find_string(more, "id"); text && text->size() <= kIdBytesMax)
    id = *text;
  time = time_from(more.if_contains("time"));
  with = take_object(more, "with");
  message = take_object(more, "message");
  if (auto* list = more.if_contains("layout"); list && list->is_array())
    layout = std::move(list->get_array());
  if (more.contains("entry")) entry = take_object(more, "entry");
  for (const auto* known : {"id", "time", "layout"}) more.erase(known);
}

json::object message_fields(json::object message, TimePoint time, Extra& extra) {
  for (auto& [key, value] : extra.message)
    if (key != "role" && key != "content") message[key] = std::move(value);
  if (!message.contains("timestamp")) message["timestamp"] = unix_millis(time);
  json::object fields{{"message", std::move(message)}};
  for (auto& [key, value] : extra.with)
    if (!is_entry_member(key)) fields[key] = std::move(value);
  return fields;
}

bool is_verbatim(const json::object& entry) {
  const auto type = json::find_string(entry, "type").value_or("");
  return !type.empty() && type != "session" && type != "session_info" &&
         !(type == "custom" && json::find_string(entry, "customType") == session::kMetaType);
}

Status add_verbatim(Feed& feed, json::object entry) {
  const std::string type(json::find_string(entry, "type").value_or(""));
  std::string id(json::find_string(entry, "id").value_or(""));
  if (id.empty() || id.size() > kIdBytesMax) id = stable_id(json::write(entry)).text;
  const auto time = time_from(entry.if_contains("timestamp"));
  for (const auto* own : {"type", "id", "parentId", "timestamp"}) entry.erase(own);
  return feed.add(type, feed.claim(std::move(id)), time, std::move(entry));
}

json::object portable_meta(const session::Row& row) {
  auto meta = row.meta;
  for (const auto* own : {"source", "origin", "originMark", "originUsage", "boundAt"})
    meta.erase(own);
  return meta;
}

bool set_meta(json::object& meta, std::string_view field, json::value value) {
  json::object patch;
  patch[field] = std::move(value);
  if (patch[field].is_null() || !session::check_patch(patch)) return false;
  meta[field] = std::move(patch[field]);
  return true;
}

json::object believable_meta(const json::object& in) {
  json::object out;
  for (const auto& [field, value] : in) {
    if (set_meta(out, field, value)) continue;
    if ((field == "uptimeSecs" || field == "lastUsedAt") && value.is_int64() &&
        value.get_int64() > 0) {
      out[field] = value;
      continue;
    }
    const auto text = value.if_string();
    if (!text || !text) continue;
    const bool named = field == "agent" || field == "sender";
    if ((named && session::check_part(field, *text)) ||
        (field == "key" && session::Key::parse(*text)))
      out[field] = value;
  }
  return out;
}

bool is_meta(const session::Entry& entry) {
  return entry.type == "session_info" || session::meta_of(entry) != nullptr;
}

}  // namespace reef::exchange
