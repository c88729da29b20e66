#include "session/row.h"

#include "base/utf8.h"
#include "session/reader.h"

namespace reef::session {
namespace {

constexpr std::size_t kPreviewChars = 150;

void add(TokenTotals& totals, const Usage& usage) {
  totals.input += usage.input;
  totals.output += usage.output;
  totals.cache_read += usage.cache_read;
  totals.cache_write += usage.cache_write;
  totals.cost += usage.cost.total;
}

void count(Row& row, const std::string& model, const Usage& usage) {
  if (usage.total() == 0 && usage.cost.total == 0) return;
  add(row.usage, usage);
  add(row.usage_by_model[model], usage);
}

std::int64_t millis(TimePoint time) {
  return time.time_since_epoch().count();
}
TimePoint from_millis(std::int64_t value) {
  return TimePoint(std::chrono::milliseconds(value));
}

json::array to_json(const TokenTotals& totals) {
  return json::array{totals.input, totals.output, totals.cache_read, totals.cache_write,
                     totals.cost};
}

TokenTotals totals_from(const json::array* in) {
  TokenTotals out;
  if (!in || in->size() != 5) return out;
  const auto number = [&](std::size_t i) {
    const auto& v = (*in)[i];
    return v.is_int64()    ? static_cast<double>(v.get_int64())
           : v.is_uint64() ? static_cast<double>(v.get_uint64())
           : v.is_double() ? v.get_double()
                           : 0.0;
  };
  out.input = static_cast<std::int64_t>(number(0));
  out.output = static_cast<std::int64_t>(number(1));
  out.cache_read = static_cast<std::int64_t>(number(2));
  out.cache_write = static_cast<std::int64_t>(number(3));
  out.cost = number(4);
  return out;
}

}  // namespace

std::string_view Row::text(std::string_view field) const {
  return json::find_string(meta, field).value_or("");
}

bool Row::flag(std::string_view field) const {
  return json::find_bool(meta, field).value_or(false);
}

TimePoint Row::last_used() const {
  return std::max(updated, from_millis(json::find_int(meta, "lastUsedAt").value_or(0)));
}

std::int64_t Row::bound_at() const {
  return json::find_int(meta, "boundAt").value_or(millis(created));
}

Row start_row(SessionId id, const Header& header) {
  Row row(std::move(id));
  row.created = header.time;
  row.updated = header.time;
  row.cwd = header.cwd;
  row.parent_session = header.parent_session;
  return row;
}

void fold(Row& row, const Entry& entry) {
  if (entry.type == "message") {
    ++row.message_count;
    row.updated = std::max(row.updated, entry.time);
    const auto* message = json::find_object(entry.body, "message");
    if (!message) return;
    row.last_role = std::string(json::find_string(*message, "role").value_or(""));
    if (row.last_role == "user" && row.preview.empty()) {
      const auto text = text_of(content_from_json(*message));
      row.preview = utf8::prefix_chars(utf8::single_line(utf8::prefix(text, kPreviewChars * 8)),
                                       kPreviewChars);
    } else if (row.last_role == "assistant") {
      const auto parsed = message_from_json(*message);
      const auto& reply = std::get<AssistantMessage>(parsed);
      row.last_assistant = entry.time;
      count(row, reply.provider + "/" + reply.model, reply.usage);
      if (reply.usage.total() > 0) row.context_tokens = reply.usage.total();
    }
  } else if (const auto* patch = meta_of(entry)) {
    json::merge_patch(row.meta, *patch);
  } else if (entry.type == "session_info") {
    const auto name = json::find_string(entry.body, "name").value_or("");
    if (name.empty()) {
      row.meta.erase("name");
    } else {
      row.meta["name"] = name;
    }
  } else if (entry.type == "compaction") {
    ++row.compaction_count;
  } else if (entry.type == "usage") {
    if (const auto* usage = json::find_object(entry.body, "usage"))
      count(row,
            std::string(json::find_string(entry.body, "provider").value_or("")) + "/" +
                std::string(json::find_string(entry.body, "model").value_or("")),
            usage_from_json(*usage));
  } else if (entry.type == "thinking_level_change") {
    row.meta["thinkingLevel"] = json::find_string(entry.body, "thinkingLevel").value_or("off");
  }
}

Row make_row(SessionId id, std::string_view bytes) {
  const auto reading = read_transcript(bytes);
  auto row = start_row(std::move(id), reading.header.value_or(Header{}));
  for (const auto& entry : reading.entries) fold(row, entry);
  row.bytes = bytes.size();
  row.damage = static_cast<std::uint32_t>(reading.damage.size());
  return row;
}

json::object to_json(const Row& row) {
  json::object by_model;
  for (const auto& [model, totals] : row.usage_by_model) by_model[model] = to_json(totals);
  return json::object{{"id", row.id.text()},
                      {"bytes", row.bytes},
                      {"created", millis(row.created)},
                      {"updated", millis(row.updated)},
                      {"lastAssistant", millis(row.last_assistant)},
                      {"lastRole", row.last_role},
                      {"preview", row.preview},
                      {"messages", row.message_count},
                      {"contextTokens", row.context_tokens},
                      {"usage", to_json(row.usage)},
                      {"byModel", std::move(by_model)},
                      {"compactions", row.compaction_count},
                      {"parent", row.parent_session},
                      {"cwd", row.cwd},
                      {"damage", row.damage},
                      {"meta", row.meta}};
}

std::optional<Row> row_from_json(const json::object& in) {
  auto id = SessionId::parse(json::find_string(in, "id").value_or(""));
  const auto bytes = json::find_int(in, "bytes");
  const auto* meta = json::find_object(in, "meta");
  if (!id || !bytes || *bytes < 0 || !meta) return std::nullopt;
  Row row(*std::move(id));
  row.bytes = static_cast<std::uint64_t>(*bytes);
  const auto time = [&](std::string_view name) {
    return from_millis(json::find_int(in, name).value_or(0));
  };
  const auto text = [&](std::string_view name) {
    return std::string(json::find_string(in, name).value_or(""));
  };
  const auto number = [&](std::string_view name) { return json::find_int(in, name).value_or(0); };
  row.created = time("created");
  row.updated = time("updated");
  row.last_assistant = time("lastAssistant");
  row.last_role = text("lastRole");
  row.preview = text("preview");
  row.message_count = static_cast<std::uint64_t>(number("messages"));
  row.context_tokens = number("contextTokens");
  row.usage = totals_from(json::find_array(in, "usage"));
  if (const auto* models = json::find_object(in, "byModel"))
    for (const auto& [model, totals] : *models)
      row.usage_by_model[model] = totals_from(totals.if_array());
  row.compaction_count = static_cast<std::uint32_t>(number("compactions"));
  row.parent_session = text("parent");
  row.cwd = text("cwd");
  row.damage = static_cast<std::uint32_t>(number("damage"));
  row.meta = *meta;
  return row;
}

}  // namespace reef::session
