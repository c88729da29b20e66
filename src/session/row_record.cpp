// Rows as the catalog writes them. They are read without a JSON tree, as a start reads them all.

#include <utility>

#include "base/json_scanner.h"
#include "base/utf8.h"
#include "session/row.h"

namespace reef::session {
namespace {

// Rows of another version are made from their transcripts again.
constexpr std::int64_t kVersion = 3;

void append(json::array& out, const TokenTotals& totals) {
  out.insert(out.end(), {totals.input, totals.output, totals.cache_read, totals.cache_write,
                         totals.cost, totals.replies});
}

// DAY, totals, DAY, totals, ...
json::array days_to_json(const std::vector<DayUsage>& days) {
  constexpr std::size_t kNumbers = 7;
  json::array out;
  out.reserve(days.size() * kNumbers);
  for (const auto& [day, totals] : days) {
    out.emplace_back(day);
    append(out, totals);
  }
  return out;
}

// One record while it is read.
struct RecordReader {
  json::Scanner in;
  bool high = false;  // some text is not ASCII
  std::int64_t version = 0;
  bool has_meta = false;

  bool text(std::string& out) { return in.string(out, SIZE_MAX, high); }
  bool time(TimePoint& out) {
    std::int64_t value = 0;
    if (!in.whole(value)) return false;
    out = TimePoint(std::chrono::milliseconds(value));
    return true;
  }
  template <class T>
  bool count(T& out) {
    std::int64_t value = 0;
    if (!in.whole(value) || !std::in_range<T>(value)) return false;
    out = static_cast<T>(value);
    return true;
  }
  bool totals(TokenTotals& out) {
    return in.whole(out.input) && in.take(',') && in.whole(out.output) && in.take(',') &&
           in.whole(out.cache_read) && in.take(',') && in.whole(out.cache_write) && in.take(',') &&
           in.real(out.cost) && in.take(',') && in.whole(out.replies);
  }
  bool days(std::vector<DayUsage>& out) {
    return in.elements([&] {
      auto& day = out.emplace_back();
      return count(day.day) && in.take(',') && totals(day.totals);
    });
  }
  bool models(Row& row) {
    if (!in.take('{')) return false;
    if (in.take('}')) return true;
    do {
      std::string name;
      if (!text(name) || !in.take(':') || !days(row.usage_by_model[std::move(name)])) return false;
    } while (in.take(','));
    return in.take('}');
  }
  bool meta(Row& row) {
    std::string_view object;
    if (!in.next_is('{') || !in.span(object)) return false;
    has_meta = true;
    if (object == "{}") return true;
    auto parsed = json::parse(object);
    if (!parsed || !parsed->is_object()) return false;
    row.meta = std::move(parsed->get_object());
    return true;
  }
  bool waiting(Row& row) {
    std::string_view list;
    if (!in.next_is('[') || !in.span(list)) return false;
    const auto parsed = json::parse(list);
    if (!parsed || !parsed->is_array()) return false;
    row.waiting = waiting_from(parsed->get_array());
    return true;
  }
  bool member(std::string_view name, Row& row) {
    if (name == "v") return in.whole(version);
    if (name == "bytes") return count(row.bytes);
    if (name == "created") return time(row.created);
    if (name == "updated") return time(row.updated);
    if (name == "lastAssistant") return time(row.last_assistant);
    if (name == "lastRole") return text(row.last_role);
    if (name == "preview") return text(row.preview);
    if (name == "messages") return count(row.message_count);
    if (name == "contextTokens") return in.whole(row.context_tokens);
    if (name == "contextEstimated") return in.truth(row.context_estimated);
    if (name == "activeMs") {
      std::int64_t active = 0;
      if (!in.whole(active)) return false;
      row.active = std::chrono::milliseconds(active);
      return true;
    }
    if (name == "lastSaid") return time(row.last_said);
    if (name == "usage") return in.take('[') && totals(row.usage) && in.take(']');
    if (name == "byModel") return models(row);
    if (name == "compactions") return count(row.compaction_count);
    if (name == "parent") return text(row.parent_session);
    if (name == "cwd") return text(row.cwd);
    if (name == "damage") return count(row.damage);
    if (name == "meta") return meta(row);
    if (name == "marks") return count(row.marks);
    if (name == "waiting") return waiting(row);
    return in.skip();
  }
};

}  // namespace

json::object to_json(const Row& row) {
  json::array usage;
  append(usage, row.usage);
  json::object by_model;
  for (const auto& [model, days] : row.usage_by_model) by_model[model] = days_to_json(days);
  json::object out{{"id", row.id.text()},
                   {"v", kVersion},
                   {"bytes", row.bytes},
                   {"created", unix_millis(row.created)},
                   {"updated", unix_millis(row.updated)},
                   {"lastAssistant", unix_millis(row.last_assistant)},
                   {"lastRole", row.last_role},
                   {"preview", row.preview},
                   {"messages", row.message_count},
                   {"contextTokens", row.context_tokens},
                   {"contextEstimated", row.context_estimated},
                   {"activeMs", row.active.count()},
                   {"lastSaid", unix_millis(row.last_said)},
                   {"usage", std::move(usage)},
                   {"byModel", std::move(by_model)},
                   {"compactions", row.compaction_count},
                   {"parent", row.parent_session},
                   {"cwd", row.cwd},
                   {"damage", row.damage},
                   {"meta", row.meta}};
  if (row.marks > 0) out["marks"] = row.marks;
  if (!row.waiting.empty()) out["waiting"] = to_json(row.waiting);
  return out;
}

std::optional<RowRecord> read_record(std::string_view object) {
  RecordReader reading{json::Scanner(object)};
  std::optional<RowRecord> out;
  const bool read = reading.in.members([&](std::string_view name) {
    if (out) return name == "gone" ? reading.in.truth(out->gone) : reading.member(name, out->row);
    std::string_view text;
    if (name != "id" || !reading.in.plain_string(text)) return false;
    auto id = SessionId::parse(text);
    if (!id) return false;
    out.emplace(RowRecord{Row(*std::move(id))});
    return true;
  });
  if (!read || !out || reading.in.left() > 0) return std::nullopt;
  if (!out->gone && (reading.version != kVersion || !reading.has_meta)) return std::nullopt;
  const auto& row = out->row;
  if (reading.high && !(utf8::valid(row.last_role) && utf8::valid(row.preview) &&
                        utf8::valid(row.parent_session) && utf8::valid(row.cwd)))
    return std::nullopt;
  for (const auto& [model, days] : row.usage_by_model)
    if (reading.high && !utf8::valid(model)) return std::nullopt;
  return out;
}

}  // namespace reef::session
