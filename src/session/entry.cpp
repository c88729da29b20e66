#include "session/entry.h"

namespace reef::session {

Draft draft_message(const Message& message) {
  Draft draft{"message", json::object{{"message", to_json(message)}}};
  const auto* reply = std::get_if<AssistantMessage>(&message);
  if (reply && !reply->agent.empty()) draft.fields["agent"] = reply->agent;
  if (is_hidden(message)) draft.fields["hidden"] = true;
  if (reply && reply->hides > 0) draft.fields["hides"] = reply->hides;
  return draft;
}

Draft draft_meta(json::object patch) {
  return Draft{"custom", json::object{{"customType", kMetaType}, {"data", std::move(patch)}}};
}

Draft draft_rewind(const EntryId& to, const std::optional<EntryId>& from) {
  json::object data{{"to", to.text}};
  if (from) data["from"] = from->text;
  return Draft{"custom", json::object{{"customType", "reef.rewind"}, {"data", std::move(data)}}};
}

std::string header_line(const Header& header) {
  json::object body{{"type", "session"},
                    {"version", header.version},
                    {"id", header.id},
                    {"timestamp", format_iso(header.time)},
                    {"cwd", header.cwd}};
  if (!header.parent_session.empty()) body["parentSession"] = header.parent_session;
  auto line = json::write(body) + "\n";
  if (line.size() > Header::kBytesMax) {
    body["cwd"] = "";
    line = json::write(body) + "\n";
  }
  if (line.size() > Header::kBytesMax) {
    body.erase("parentSession");
    line = json::write(body) + "\n";
  }
  return line;
}

std::string entry_line(const Entry& entry) {
  std::string line;
  append_line(line, entry);
  return line;
}

void append_line(std::string& out, const Entry& entry) {
  json::append(out, entry.body);
  out.push_back('\n');
}

Entry make_entry(Draft draft, EntryId id, std::optional<EntryId> parent, TimePoint time) {
  Entry entry;
  entry.body.reserve(draft.fields.size() + 4);
  entry.body["type"] = draft.type;
  entry.body["id"] = id.text;
  entry.body["parentId"] = parent ? json::value(parent->text) : json::value(nullptr);
  entry.body["timestamp"] = format_iso(time);
  for (auto& [key, value] : draft.fields) entry.body[key] = std::move(value);
  entry.type = std::move(draft.type);
  entry.id = std::move(id);
  entry.parent = std::move(parent);
  entry.time = time;
  return entry;
}

std::optional<Header> header_from(const json::object& body) {
  if (json::find_string(body, "type") != "session") return std::nullopt;
  Header header;
  header.id = std::string(json::find_string(body, "id").value_or(""));
  header.version = static_cast<int>(json::find_int(body, "version").value_or(1));
  header.time = parse_iso(json::find_string(body, "timestamp").value_or("")).value_or(TimePoint());
  header.cwd = std::string(json::find_string(body, "cwd").value_or(""));
  header.parent_session = std::string(json::find_string(body, "parentSession").value_or(""));
  header.body = body;
  return header;
}

std::optional<Entry> entry_from(json::object body) {
  const auto type = json::find_string(body, "type");
  if (!type) return std::nullopt;
  Entry entry;
  entry.type = std::string(*type);
  entry.id.text = std::string(json::find_string(body, "id").value_or(""));
  if (const auto parent = json::find_string(body, "parentId"))
    entry.parent = EntryId{std::string(*parent)};
  entry.time = parse_iso(json::find_string(body, "timestamp").value_or("")).value_or(TimePoint());
  entry.body = std::move(body);
  return entry;
}

std::optional<Message> message_of(const Entry& entry) {
  if (entry.type != "message") return std::nullopt;
  const auto* message = json::find_object(entry.body, "message");
  if (!message) return std::nullopt;
  auto out = message_from_json(*message);
  if (auto* reply = std::get_if<AssistantMessage>(&out)) {
    reply->agent = std::string(json::find_string(entry.body, "agent").value_or(""));
    reply->hidden = is_hidden(entry);
  } else if (auto* words = std::get_if<UserMessage>(&out)) {
    words->hidden = is_hidden(entry);
  } else if (auto* result = std::get_if<ToolResultMessage>(&out)) {
    result->hidden = is_hidden(entry);
  }
  return out;
}

bool is_hidden(const Entry& entry) {
  return json::find_bool(entry.body, "hidden").value_or(false);
}

std::int64_t hides(const Entry& entry) {
  return is_hidden(entry) ? json::find_int(entry.body, "hides").value_or(0) : 0;
}

const json::object* meta_of(const Entry& entry) {
  if (entry.type != "custom") return nullptr;
  if (json::find_string(entry.body, "customType") != kMetaType) return nullptr;
  return json::find_object(entry.body, "data");
}

}  // namespace reef::session
