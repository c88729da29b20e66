// Tokens and cost of many sessions, added up from their rows. Pure; transcripts are never read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/row.h"

namespace reef::session {

struct UsageQuery {
  enum class By : std::uint8_t { session, agent, model, day };
  By by = By::model;
  // UTC days, as in DayUsage.
  std::optional<std::int32_t> from_day;
  std::optional<std::int32_t> before_day;
};
Result<UsageQuery::By> usage_by_from(std::string_view text);
// 2026-01-31, or a time of that day in UTC.
Result<std::int32_t> day_from(std::string_view text);

struct UsageLine {
  std::string name;
  TokenTotals totals;
};
struct UsageReport {
  std::vector<UsageLine> lines;  // days in their order, else the dearest first
  TokenTotals total;
};
UsageReport add_up_usage(const std::vector<const Row*>& rows, const UsageQuery& query);

}  // namespace reef::session
