#include "session/usage.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::session {
namespace {

constexpr std::string_view kUnknown = "unknown";
// The provider/model of a reply that names neither.
constexpr std::string_view kNameless = "/";

std::string day_text(std::int32_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  return fmt::format("{:04}-{:02}-{:02}", int(date.year()), unsigned(date.month()),
                     unsigned(date.day()));
}

std::string name_for(const UsageQuery& query, const Row& row, const std::string& model,
                     std::int32_t day) {
  using By = UsageQuery::By;
  switch (query.by) {
    case By::session:
      return row.id.text();
    case By::agent:
      return std::string(row.agent().empty() ? kUnknown : row.agent());
    case By::model:
      return model == kNameless ? std::string(kUnknown) : model;
    case By::day:
      return day_text(day);
  }
  return {};
}

}  // namespace

Result<UsageQuery::By> usage_by_from(std::string_view text) {
  using By = UsageQuery::By;
  for (const auto& [name, by] : {std::pair("session", By::session), std::pair("agent", By::agent),
                                 std::pair("model", By::model), std::pair("day", By::day)})
    if (text == name) return by;
  if (text.empty()) return By::model;
  return Error(Errc::invalid, fmt::format("usage by '{}'; there are: session, agent, model, day",
                                          utf8::excerpt(text)));
}

Result<std::int32_t> day_from(std::string_view text) {
  constexpr std::size_t kDateBytes = 10;
  const auto time =
      parse_iso(text.size() == kDateBytes ? std::string(text) + "T00:00:00Z" : std::string(text));
  if (!time)
    return Error(Errc::invalid,
                 fmt::format("'{}' is not a day like 2026-01-31", utf8::excerpt(text)));
  return static_cast<std::int32_t>(
      std::chrono::floor<std::chrono::days>(time->time_since_epoch()).count());
}

UsageReport add_up_usage(const std::vector<const Row*>& rows, const UsageQuery& query) {
  UsageReport report;
  std::unordered_map<std::string, TokenTotals> by_name;
  for (const auto* row : rows) {
    for (const auto& [model, days] : row->usage_by_model) {
      for (const auto& [day, totals] : days) {
        if (query.from_day && day < *query.from_day) continue;
        if (query.before_day && day >= *query.before_day) continue;
        by_name[name_for(query, *row, model, day)] += totals;
        report.total += totals;
      }
    }
  }
  for (auto& [name, totals] : by_name) report.lines.push_back(UsageLine{name, totals});
  const bool by_day = query.by == UsageQuery::By::day;
  std::sort(report.lines.begin(), report.lines.end(), [&](const auto& a, const auto& b) {
    if (!by_day && a.totals.cost != b.totals.cost) return a.totals.cost > b.totals.cost;
    if (!by_day && a.totals.tokens() != b.totals.tokens())
      return a.totals.tokens() > b.totals.tokens();
    return a.name < b.name;
  });
  return report;
}

}  // namespace reef::session
