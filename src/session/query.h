// Lists of sessions: filter, sort, page. Pure functions over rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/row.h"

namespace reef::session {

struct Query {
  std::string agent, sender, key, source;
  std::string text;  // found in the name or the preview, whatever its ASCII case
  std::optional<bool> flagged, archived, unread;
  std::optional<TimePoint> after, before;  // of the last message
  std::function<bool(const Row&)> where;   // a further condition, when set
  enum class Sort : std::uint8_t { updated, created, name, messages };
  Sort sort = Sort::updated;
  bool ascending = false;
  std::size_t limit = 0;  // 0: all
  std::string cursor;     // of the page before
};

struct Page {
  std::vector<const Row*> rows;
  std::string cursor;     // empty: this was the last page
  std::size_t total = 0;  // matching rows on all pages
};

bool matches(const Query& query, const Row& row);
// Whether the query restricts nothing, as most do.
bool takes_all(const Query& query);

// The matching rows in a fixed order: a session that changes between two pages neither comes twice
// nor is left out. Sorts only as far as it is read. The rows must outlive it, or be dropped from
// it.
class Listing {
 public:
  Listing(const Query& query, const std::vector<const Row*>& rows);
  // For everything by time of the last message, as in most lists. `times` stand beside their rows,
  // so that a hundred thousand of them are frozen without touching a row.
  struct Dated {
    std::int64_t updated = 0;
    const Row* row = nullptr;
  };
  Listing(bool ascending, const std::vector<Dated>& times);

  std::size_t total() const { return placed_.size(); }
  // The place in the order of the row before `at`, as text, for a cursor that outlives this.
  std::string place_before(std::size_t at) const;
  // Returns where the rows behind such a place begin; sorts everything.
  std::size_t find_behind(std::string_view place);
  // Returns the rows of at most `limit` places from `at` on, without those dropped meanwhile.
  std::vector<const Row*> page(std::size_t at, std::size_t limit);
  void drop(const Row* row);

 private:
  struct Placed;
  bool before(const Placed& a, const Placed& b) const;
  void sort_up_to(std::size_t end);

  struct Placed {
    std::int64_t number = 0;
    std::string text;
    const Row* row = nullptr;
    std::string_view id;  // stands for the id when there is no row
  };

  std::vector<Placed> placed_;
  std::size_t sorted_ = 0;
  bool ascending_;
};

// "" is updated; else one of updated, created, name, messages.
Result<Query::Sort> sort_from(std::string_view name);

}  // namespace reef::session
