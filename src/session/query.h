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
  std::string text;  // in the name or the preview, without regard to ASCII case
  std::optional<bool> flagged, archived, unread;
  std::optional<TimePoint> after, before;  // of the last message
  std::function<bool(const Row&)> where;   // when set, must hold as well
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
// Nothing to compare: most lists are of everything.
bool takes_all(const Query& query);

// The matching rows in an order that stands still: a session that changes between two pages neither
// comes twice nor is left out. Sorts only as far as it is read. The rows must outlive it, or be
// dropped from it.
class Listing {
 public:
  Listing(const Query& query, const std::vector<const Row*>& rows);
  // Everything by time of the last message: most lists. `times` stand beside their rows, so that a
  // hundred thousand of them are frozen without touching a row.
  struct Dated {
    std::int64_t updated = 0;
    const Row* row = nullptr;
  };
  Listing(bool ascending, const std::vector<Dated>& times);

  std::size_t total() const { return placed_.size(); }
  // What the row before `at` was ordered by, as text; for a cursor that outlives this.
  std::string place_before(std::size_t at) const;
  // Where the rows behind such a place begin; sorts everything.
  std::size_t find_behind(std::string_view place);
  // Rows from `at` on, at most `limit` places further; those dropped meanwhile are left out.
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
    std::string_view id;  // where there is no row: what stands for its id
  };

  std::vector<Placed> placed_;
  std::size_t sorted_ = 0;
  bool ascending_;
};

// "" is updated; else one of updated, created, name, messages.
Result<Query::Sort> sort_from(std::string_view name);

}  // namespace reef::session
