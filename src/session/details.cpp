#include "session/row.h"

namespace reef::session {
namespace {

json::ObjectText usage_text(const TokenTotals& totals) {
  constexpr std::size_t kUsualBytes = 200;
  json::ObjectText out(kUsualBytes);
  out.number("inputTokens", totals.input);
  out.number("outputTokens", totals.output);
  out.number("cacheReadTokens", totals.cache_read);
  out.number("cacheCreationTokens", totals.cache_write);
  out.number("totalTokens", totals.tokens());
  out.number("costUsd", totals.cost);
  return out;
}

// False for fields that are the engine's own. A set value of the others wins over a derived one.
bool is_shown(std::string_view name) {
  return name != "boundAt" && name != "lastUsedAt" && name != "uptimeSecs" && name != "madeFor" &&
         (name == "origin" || !name.starts_with("origin"));
}

}  // namespace

std::string details_of(const Row& row, std::string_view status) {
  constexpr std::size_t kUsualBytes = 1200;
  json::ObjectText out(kUsualBytes + row.preview.size());
  const auto derived = [&row](std::string_view name) {
    return row.meta.empty() || !row.meta.contains(name) || !is_shown(name);
  };
  const auto text = [&](std::string_view name, std::string_view value) {
    if (derived(name)) out.text(name, value);
  };
  const auto number = [&](std::string_view name, auto value) {
    if (derived(name)) out.number(name, value);
  };
  text("id", row.id.text());
  for (const auto* name : {"key", "agent", "sender", "name"}) text(name, row.text(name));
  if (const auto type = row.chat_type(); !type.empty()) text("chatType", type);
  text("preview", row.preview);
  number("messageCount", row.message_count);
  text("createdAt", format_iso(row.created));
  const auto updated = format_iso(row.updated);
  text("updatedAt", updated);
  text("lastMessageAt", updated);
  text("lastMessageRole", row.last_role);
  if (derived("labels")) out.member("labels", json::array());
  for (const auto* name : {"isFlagged", "isArchived", "hasUnread"})
    if (derived(name)) out.flag(name, row.flag(name));
  text("workingDirectory", row.cwd);
  number("contextTokens", row.context_tokens);
  if (row.context_estimated) out.flag("contextEstimated", true);
  out.number("uptimeSecs", row.uptime_secs());
  number("compactionCount", std::uint64_t{row.compaction_count});
  number("bytes", row.bytes);
  if (derived("tokenUsage")) {
    auto usage = usage_text(row.usage);
    json::ObjectText by_model;
    for (const auto& [model, days] : row.usage_by_model)
      if (const auto totals = sum(days); totals.tokens() != 0 || totals.cost != 0)
        by_model.member(model, usage_text(totals));
    usage.member("byModel", std::move(by_model));
    out.member("tokenUsage", std::move(usage));
  }
  if (!row.parent_session.empty()) text("parentSession", row.parent_session);
  if (row.damage > 0) number("damage", std::uint64_t{row.damage});
  number("lastUsedAt", std::int64_t{row.last_used().time_since_epoch().count()});
  for (const auto& [name, value] : row.meta)
    if (is_shown(name) && name != "sessionStatus" && name != "storedStatus")
      out.member(name, value);
  out.text("sessionStatus", status);
  if (const auto stored = row.text("sessionStatus"); !stored.empty() && stored != status)
    out.text("storedStatus", stored);
  else if (const auto* set = row.meta.if_contains("storedStatus"))
    out.member("storedStatus", *set);
  return out.take();
}

}  // namespace reef::session
