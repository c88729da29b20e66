#include "session/row.h"

namespace reef::session {
namespace {

json::object usage_json(const TokenTotals& totals, const boost::json::storage_ptr& storage) {
  return json::object({{"inputTokens", totals.input},
                       {"outputTokens", totals.output},
                       {"cacheReadTokens", totals.cache_read},
                       {"cacheCreationTokens", totals.cache_write},
                       {"totalTokens", totals.tokens()},
                       {"costUsd", totals.cost}},
                      storage);
}

}  // namespace

json::object details_of(const Row& row, boost::json::storage_ptr storage) {
  json::object out(
      {{"id", row.id.text()},
       {"key", row.key()},
       {"agent", row.agent()},
       {"sender", row.sender()},
       {"name", row.name()},
       {"preview", row.preview},
       {"messageCount", row.message_count},
       {"createdAt", format_iso(row.created)},
       {"updatedAt", format_iso(row.updated)},
       {"lastMessageAt", format_iso(row.updated)},
       {"lastMessageRole", row.last_role},
       {"sessionStatus", row.text("sessionStatus").empty() ? "todo" : row.text("sessionStatus")},
       {"labels", json::array()},
       {"isFlagged", row.flag("isFlagged")},
       {"isArchived", row.flag("isArchived")},
       {"hasUnread", row.flag("hasUnread")},
       {"workingDirectory", row.cwd},
       {"contextTokens", row.context_tokens},
       {"compactionCount", row.compaction_count},
       {"bytes", row.bytes}},
      storage);
  auto usage = usage_json(row.usage, storage);
  json::object by_model(storage);
  for (const auto& [model, days] : row.usage_by_model)
    if (const auto totals = sum(days); totals.tokens() != 0 || totals.cost != 0)
      by_model[model] = usage_json(totals, storage);
  usage["byModel"] = std::move(by_model);
  out["tokenUsage"] = std::move(usage);
  if (!row.parent_session.empty()) out["parentSession"] = row.parent_session;
  if (row.damage > 0) out["damage"] = row.damage;
  out["lastUsedAt"] = row.last_used().time_since_epoch().count();
  // The rest as it was set; what was set wins over what was derived.
  for (const auto& [name, value] : row.meta)
    if (name != "boundAt" && name != "lastUsedAt" &&
        !std::string_view(name).starts_with("originM") && name != "originAside")
      out[name] = value;
  return out;
}

}  // namespace reef::session
