#include "session/query.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::session {
Result<Query::Sort> sort_from(std::string_view name) {
  if (name.empty() || name == "updated") return Query::Sort::updated;
  if (name == "created") return Query::Sort::created;
  if (name == "name") return Query::Sort::name;
  if (name == "messages") return Query::Sort::messages;
  return Error(Errc::invalid, fmt::format("cannot sort by '{}'; there are: updated, created, name, "
                                          "messages",
                                          utf8::excerpt(name)));
}

bool matches(const Query& query, const Row& row) {
  if (!query.agent.empty() && row.agent() != query.agent) return false;
  if (!query.sender.empty() && row.sender() != query.sender) return false;
  if (!query.key.empty() && row.key() != query.key) return false;
  if (!query.source.empty() && row.text("source") != query.source) return false;
  if (query.flagged && row.flag("isFlagged") != *query.flagged) return false;
  if (query.archived && row.flag("isArchived") != *query.archived) return false;
  if (query.unread && row.flag("hasUnread") != *query.unread) return false;
  if (query.after && row.updated < *query.after) return false;
  if (query.before && row.updated >= *query.before) return false;
  if (!query.text.empty()) {
    const auto wanted = utf8::lower_ascii(query.text);
    if (utf8::lower_ascii(row.name()).find(wanted) == std::string::npos &&
        utf8::lower_ascii(row.preview).find(wanted) == std::string::npos)
      return false;
  }
  return !query.where || query.where(row);
}

bool takes_all(const Query& query) {
  return query.agent.empty() && query.sender.empty() && query.key.empty() && query.source.empty() &&
         query.text.empty() && !query.flagged && !query.archived && !query.unread && !query.after &&
         !query.before && !query.where;
}

Listing::Listing(bool ascending, const std::vector<Dated>& times) : ascending_(ascending) {
  placed_.reserve(times.size());
  for (const auto& dated : times) placed_.push_back(Placed{dated.updated, {}, dated.row, {}});
}

Listing::Listing(const Query& query, const std::vector<const Row*>& rows)
    : ascending_(query.ascending) {
  placed_.reserve(rows.size());
  const bool all = takes_all(query);
  for (const auto* row : rows) {
    if (!all && !matches(query, *row)) continue;
    Placed placed;
    placed.row = row;
    switch (query.sort) {
      case Query::Sort::updated:
        placed.number = row->updated.time_since_epoch().count();
        break;
      case Query::Sort::created:
        placed.number = row->created.time_since_epoch().count();
        break;
      case Query::Sort::messages:
        placed.number = static_cast<std::int64_t>(row->message_count);
        break;
      case Query::Sort::name:
        placed.text = utf8::lower_ascii(row->name().empty() ? row->preview : row->name());
        break;
    }
    placed_.push_back(std::move(placed));
  }
}

bool Listing::before(const Placed& a, const Placed& b) const {
  if (a.number != b.number) return ascending_ ? a.number < b.number : b.number < a.number;
  if (a.text != b.text) return ascending_ ? a.text < b.text : b.text < a.text;
  // Equal rows are ordered by id.
  const std::string_view left = a.row ? a.row->id.text() : a.id;
  const std::string_view right = b.row ? b.row->id.text() : b.id;
  return ascending_ ? left < right : right < left;
}

void Listing::sort_up_to(std::size_t end) {
  if (end <= sorted_) return;
  std::partial_sort(placed_.begin() + static_cast<std::ptrdiff_t>(sorted_),
                    placed_.begin() + static_cast<std::ptrdiff_t>(end), placed_.end(),
                    [this](const Placed& a, const Placed& b) { return before(a, b); });
  sorted_ = end;
}

std::string Listing::place_before(std::size_t at) const {
  const auto& placed = placed_[at - 1];
  return fmt::format("{}/{}/{}", placed.number, placed.row ? placed.row->id.text() : "",
                     placed.text);
}

std::size_t Listing::find_behind(std::string_view place) {
  sort_up_to(placed_.size());
  Placed wanted;
  const auto first = place.find('/');
  const auto second = first == std::string_view::npos ? first : place.find('/', first + 1);
  if (second == std::string_view::npos) return placed_.size();
  std::from_chars(place.data(), place.data() + first, wanted.number);
  wanted.id = place.substr(first + 1, second - first - 1);
  wanted.text = std::string(place.substr(second + 1));
  const auto found =
      std::upper_bound(placed_.begin(), placed_.end(), wanted,
                       [this](const Placed& a, const Placed& b) { return before(a, b); });
  return static_cast<std::size_t>(found - placed_.begin());
}

std::vector<const Row*> Listing::page(std::size_t at, std::size_t limit) {
  const auto end =
      at >= placed_.size() ? placed_.size() : at + std::min(limit, placed_.size() - at);
  sort_up_to(end);
  std::vector<const Row*> rows;
  for (auto i = at; i < end; ++i)
    if (placed_[i].row) rows.push_back(placed_[i].row);
  return rows;
}

void Listing::drop(const Row* row) {
  for (std::size_t i = 0; i < placed_.size(); ++i) {
    if (placed_[i].row != row) continue;
    if (i < sorted_) {
      placed_[i].row = nullptr;  // a page may begin behind it
    } else {
      placed_.erase(placed_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return;
  }
}

}  // namespace reef::session
