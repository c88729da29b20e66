#include "session/row.h"

#include <cmath>
#include <limits>

#include "base/utf8.h"
#include "session/client_mark.h"
#include "session/reader.h"

namespace reef::session {
namespace {

// Longer is not work: a question may have waited for its answer over night.
constexpr std::chrono::milliseconds kActiveGapMax = std::chrono::hours(1);
constexpr std::size_t kBytesPerToken = 4;
constexpr std::size_t kPreviewChars = 150;

void add_to(std::int64_t& sum, std::int64_t more) {
  if (__builtin_add_overflow(sum, more, &sum)) sum = std::numeric_limits<std::int64_t>::max();
}

std::vector<DayUsage>& days_of(Row& row, const std::string& model) {
  const auto found = row.usage_by_model.find(model);
  if (found != row.usage_by_model.end()) return found->second;
  if (row.usage_by_model.size() < Row::kUsageModelsMax) return row.usage_by_model[model];
  return row.usage_by_model[std::string(Row::kOtherModels)];
}

void count(Row& row, const std::string& model, TimePoint time, const TokenTotals& more) {
  if (more.tokens() == 0 && more.cost == 0 && more.replies == 0) return;
  row.usage += more;
  auto& days = days_of(row, model);
  const auto day = static_cast<std::int32_t>(
      std::chrono::floor<std::chrono::days>(time.time_since_epoch()).count());
  // It is nearly always the last day.
  auto at = days.end();
  while (at != days.begin() && std::prev(at)->day >= day) --at;
  if (at == days.end() || at->day != day) at = days.insert(at, DayUsage{day, {}});
  at->totals += more;
  if (days.size() > Row::kUsageDaysMax) {
    days[1].totals += days[0].totals;
    days.erase(days.begin());
  }
}

TokenTotals totals_of(const Usage& usage, bool is_reply) {
  return TokenTotals{usage.input,       usage.output,     usage.cache_read,
                     usage.cache_write, usage.cost.total, is_reply ? 1 : 0};
}

// As much of a message's text as a preview can need, however long the text is.
std::string beginning_of(const json::object& message) {
  constexpr std::size_t kBytes = kPreviewChars * 8;
  if (const auto text = json::find_string(message, "content"))
    return std::string(utf8::prefix(*text, kBytes));
  std::string out;
  const auto* blocks = json::find_array(message, "content");
  if (!blocks) return out;
  for (const auto& item : *blocks) {
    const auto* block = item.if_object();
    if (!block || json::find_string(*block, "type") != "text") continue;
    if (!out.empty()) out.push_back('\n');
    out += utf8::prefix(json::find_string(*block, "text").value_or(""), kBytes);
    if (out.size() >= kBytes) break;
  }
  return std::string(utf8::prefix(out, kBytes));
}

std::string model_of(const json::object& in) {
  std::string out(json::find_string(in, "provider").value_or(""));
  out.push_back('/');
  out += json::find_string(in, "model").value_or("");
  return out;
}

TimePoint from_millis(std::int64_t value) {
  return TimePoint(std::chrono::milliseconds(value));
}

}  // namespace

std::int64_t TokenTotals::given() const {
  std::int64_t sum = input;
  add_to(sum, cache_read);
  add_to(sum, cache_write);
  return sum;
}

std::int64_t TokenTotals::tokens() const {
  std::int64_t sum = given();
  add_to(sum, output);
  return sum;
}

TokenTotals& TokenTotals::operator+=(const TokenTotals& more) {
  add_to(input, more.input);
  add_to(output, more.output);
  add_to(cache_read, more.cache_read);
  add_to(cache_write, more.cache_write);
  add_to(replies, more.replies);
  if (const auto total = cost + more.cost; std::isfinite(total)) cost = total;
  return *this;
}

TokenTotals sum(const std::vector<DayUsage>& days) {
  TokenTotals total;
  for (const auto& day : days) total += day.totals;
  return total;
}

std::string_view Row::text(std::string_view field) const {
  return json::find_string(meta, field).value_or("");
}

bool Row::flag(std::string_view field) const {
  return json::find_bool(meta, field).value_or(false);
}

TimePoint Row::last_used() const {
  return std::max(updated, from_millis(json::find_int(meta, "lastUsedAt").value_or(0)));
}

TimePoint Row::archived_at() const {
  const auto noted = json::find_int(meta, "archivedAt");
  return noted ? from_millis(*noted) : last_used();
}

namespace {

// Returns which of `these` is a part of the key, other than its last part and the agent's name.
std::string_view part_among(std::string_view key, std::initializer_list<std::string_view> these) {
  if (key.starts_with("agent:")) key.remove_prefix(std::min(key.find(':', 6), key.size() - 1) + 1);
  for (auto end = key.find(':'); end != std::string_view::npos; end = key.find(':')) {
    for (const auto one : these)
      if (key.substr(0, end) == one) return one;
    key.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace

std::string_view Row::chat_type() const {
  if (const auto set = text("chatType"); !set.empty() || key().empty()) return set;
  const auto type = part_among(key(), {"group", "room", "channel"});
  return type.empty() ? "direct" : type;
}

bool Row::is_live() const {
  const auto type = chat_type();
  return (type.empty() || type == "direct") && part_among(key(), {"cron", "hook", "event"}).empty();
}

std::int64_t Row::uptime_secs() const {
  const auto counted = std::chrono::duration_cast<std::chrono::seconds>(active).count();
  return std::max(std::int64_t{counted}, json::find_int(meta, "uptimeSecs").value_or(0));
}

std::int64_t Row::bound_at() const {
  return json::find_int(meta, "boundAt").value_or(unix_millis(created));
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
  if (has_mark(entry.body)) ++row.marks;
  fold_decision(row.waiting, row.id, entry);
  if (entry.type == "message") {
    ++row.message_count;
    const bool hidden = is_hidden(entry);
    if (!hidden) row.updated = std::max(row.updated, entry.time);
    const auto* message = json::find_object(entry.body, "message");
    if (!message) return;
    const auto role = json::find_string(*message, "role").value_or("");
    if ((role == "assistant" || role == "toolResult") && row.last_said != TimePoint() &&
        entry.time > row.last_said)
      row.active += std::min(entry.time - row.last_said, kActiveGapMax);
    row.last_said = std::max(row.last_said, entry.time);
    if (!hidden) row.last_role = std::string(role);
    if (role == "user") {
      if (!hidden && row.preview.empty())
        row.preview = utf8::prefix_chars(utf8::single_line(beginning_of(*message)), kPreviewChars);
    } else if (role == "assistant") {
      // Only the counts are read, because the text may be long.
      const auto* used = json::find_object(*message, "usage");
      const auto usage = used ? usage_from_json(*used) : Usage{};
      const bool failed = json::find_string(*message, "stopReason") == name_of(StopReason::error);
      if (!hidden) row.last_assistant = entry.time;
      count(row, model_of(*message), entry.time, totals_of(usage, !failed));
      if (usage.total() > 0) {
        row.context_tokens = usage.total();
        row.context_estimated = usage.estimated;
      }
    }
  } else if (const auto* patch = meta_of(entry)) {
    if (patch->contains("madeFor")) ++row.marks;
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
    // pi does not write what is left after a compaction: at least the summary is.
    const auto summary = json::find_string(entry.body, "summary").value_or("");
    row.context_tokens = std::max<std::int64_t>(
        0, json::find_int(entry.body, "tokensAfter")
               .value_or(static_cast<std::int64_t>(summary.size() / kBytesPerToken)));
    row.context_estimated = true;
  } else if (entry.type == "thinking_level_change") {
    row.meta["thinkingLevel"] = json::find_string(entry.body, "thinkingLevel").value_or("off");
  }
  // Summaries and titles carry what making them cost, when they name a model.
  const bool made =
      entry.type == "compaction" || entry.type == "branch_summary" || entry.type == "session_info";
  const auto* usage = json::find_object(entry.body, "usage");
  if (usage && (entry.type == "usage" || (made && json::find_string(entry.body, "model"))))
    count(row, model_of(entry.body), entry.time, totals_of(usage_from_json(*usage), false));
}

Row make_row(SessionId id, std::string_view bytes) {
  const auto reading = read_transcript(bytes);
  auto row = start_row(std::move(id), reading.header.value_or(Header{}));
  for (const auto& entry : reading.entries) fold(row, entry);
  row.bytes = bytes.size();
  row.damage = static_cast<std::uint32_t>(reading.damage.size());
  return row;
}

}  // namespace reef::session
