#include "session/query.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::session {
namespace {

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool has_label(const Row& row, std::string_view wanted) {
  const auto* labels = json::find_array(row.meta, "labels");
  if (!labels) return false;
  return std::any_of(labels->begin(), labels->end(), [&](const json::value& label) {
    if (!label.is_string()) return false;
    const std::string_view text = label.get_string();
    // `priority` finds `priority::2` as well.
    return text == wanted ||
           (text.starts_with(wanted) && text.substr(wanted.size()).starts_with("::"));
  });
}

// What rows are ordered by: a number, or a text, then the id.
struct Place {
  std::int64_t number = 0;
  std::string text;
  std::string id;
  auto operator<=>(const Place&) const = default;
};

Place place_of(const Row& row, Query::Sort sort) {
  Place place;
  place.id = row.id.text();
  switch (sort) {
    case Query::Sort::updated:
      place.number = row.updated.time_since_epoch().count();
      break;
    case Query::Sort::created:
      place.number = row.created.time_since_epoch().count();
      break;
    case Query::Sort::messages:
      place.number = static_cast<std::int64_t>(row.message_count);
      break;
    case Query::Sort::name:
      place.text = lower_ascii(row.name().empty() ? row.preview : row.name());
      break;
  }
  return place;
}

std::string cursor_of(const Place& place) {
  return fmt::format("{}/{}/{}", place.number, place.id, place.text);
}

Result<Place> parse_cursor(std::string_view text) {
  const Error bad(Errc::invalid,
                  fmt::format("'{}' is not a cursor of a list", utf8::excerpt(text)));
  const auto first = text.find('/');
  const auto second = first == std::string_view::npos ? first : text.find('/', first + 1);
  if (second == std::string_view::npos) return bad;
  Place place;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + first, place.number);
  if (failed != std::errc() || end != text.data() + first) return bad;
  place.id = std::string(text.substr(first + 1, second - first - 1));
  place.text = std::string(text.substr(second + 1));
  return place;
}

}  // namespace

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
  if (!query.status.empty()) {
    const auto status = row.text("sessionStatus");
    if ((status.empty() ? "todo" : status) != query.status) return false;
  }
  if (!query.label.empty() && !has_label(row, query.label)) return false;
  if (query.flagged && row.flag("isFlagged") != *query.flagged) return false;
  if (query.archived && row.flag("isArchived") != *query.archived) return false;
  if (query.unread && row.flag("hasUnread") != *query.unread) return false;
  if (query.after && row.updated < *query.after) return false;
  if (query.before && row.updated >= *query.before) return false;
  if (!query.text.empty()) {
    const auto wanted = lower_ascii(query.text);
    if (lower_ascii(row.name()).find(wanted) == std::string::npos &&
        lower_ascii(row.preview).find(wanted) == std::string::npos)
      return false;
  }
  return true;
}

Result<Page> run_query(const Query& query, std::vector<const Row*> rows) {
  std::erase_if(rows, [&](const Row* row) { return !matches(query, *row); });
  Page page;
  page.total = rows.size();

  std::optional<Place> after;
  if (!query.cursor.empty()) {
    REEF_TRY(after, parse_cursor(query.cursor));
  }
  std::vector<std::pair<Place, const Row*>> placed;
  placed.reserve(rows.size());
  for (const auto* row : rows) {
    auto place = place_of(*row, query.sort);
    if (after && (query.ascending ? place <= *after : place >= *after)) continue;
    placed.emplace_back(std::move(place), row);
  }
  const auto limit = query.limit == 0 ? placed.size() : std::min(query.limit, placed.size());
  const auto order = [&](const auto& a, const auto& b) {
    return query.ascending ? a.first < b.first : b.first < a.first;
  };
  std::partial_sort(placed.begin(), placed.begin() + static_cast<std::ptrdiff_t>(limit),
                    placed.end(), order);
  for (std::size_t i = 0; i < limit; ++i) page.rows.push_back(placed[i].second);
  if (limit > 0 && limit < placed.size()) page.cursor = cursor_of(placed[limit - 1].first);
  return page;
}

}  // namespace reef::session
