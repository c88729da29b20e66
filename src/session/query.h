// Lists of sessions: filter, sort, page. Pure functions over rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/row.h"

namespace reef::session {

struct Query {
  std::string agent, sender, key, status, label, source;
  std::string text;  // in the name or the preview, without regard to ASCII case
  std::optional<bool> flagged, archived, unread;
  std::optional<TimePoint> after, before;  // of the last message
  enum class Sort : std::uint8_t { updated, created, name, messages };
  Sort sort = Sort::updated;
  bool ascending = false;
  std::size_t limit = 0;  // 0: all
  std::string cursor;     // of the page before
};

struct Page {
  std::vector<const Row*> rows;
  std::string cursor;     // empty: this was the last page
  std::size_t total = 0;  // that match, on all pages
};

bool matches(const Query& query, const Row& row);

// A page continues after the place its cursor names, so sessions that come, go or change between
// two pages never make another one appear twice or be left out.
Result<Page> run_query(const Query& query, std::vector<const Row*> rows);

// "" is updated; else one of updated, created, name, messages.
Result<Query::Sort> sort_from(std::string_view name);

}  // namespace reef::session
