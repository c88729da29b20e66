#include "recall/items.h"

#include "base/utf8.h"
#include "recall/peek.h"
#include "recall/reading.h"
#include "search/snippet.h"

namespace reef::recall {
namespace {

// Lines no further apart than this are read as one piece.
constexpr std::uint64_t kGapBytesMax = 16U << 10;
constexpr std::uint64_t kSpanBytesMax = 256U << 10;
// The last line of a piece usually has no more than this.
constexpr std::uint64_t kSlackBytes = 6U << 10;
constexpr std::uint64_t kLineBytesMax = 16U << 20;

std::uint64_t offset_of(const ItemLine& line) {
  return Place::of(line.row.key).offset;
}

Item start_item(const search::DocumentRow& row) {
  Item item;
  item.role = role_in(row.facets);
  item.index = Place::of(row.key).ordinal;
  item.time = TimePoint(std::chrono::milliseconds(row.time_ms));
  return item;
}

void show_beginning(Item& item, std::string text, std::size_t bytes_max) {
  item.truncated = text.size() > bytes_max;
  if (item.truncated) text.resize(utf8::prefix(text, bytes_max).size());
  item.snippet = std::move(text);
}

void show_around_matches(Item& item, std::string_view text, const search::Snippets& snippets,
                         std::size_t bytes_max) {
  const auto snippet = snippets.make(text, bytes_max);
  item.snippet = std::string(snippet.text);
  item.matches = snippet.matches;
  item.truncated = snippet.cut_before || snippet.cut_after;
}

// False: more of the line must be read. `whole` says that there is no more.
bool fill_item(Item& item, std::string_view line, bool whole, const ItemLine& from,
               const search::Snippets& snippets, std::size_t bytes_max) {
  if (!calls_in(from.row.facets) && (whole || !from.hit)) {
    if (auto peeked = peek(line, from.hit ? SIZE_MAX - 1 : bytes_max)) {
      item.entry = std::move(peeked->entry);
      item.tool = std::move(peeked->tool);
      if (from.hit)
        show_around_matches(item, peeked->text, snippets, bytes_max);
      else
        show_beginning(item, std::move(peeked->text), bytes_max);
      return true;
    }
  }
  if (!whole) return false;
  const auto read = read_line(line, 0);
  if (!read) {
    item.truncated = true;
    return true;
  }
  item.entry = read->entry;
  item.tool = read->said.tool;
  if (from.hit)
    show_around_matches(item, read->said.text(), snippets, bytes_max);
  else
    show_beginning(item, read->said.text(), bytes_max);
  return true;
}

}  // namespace

Task<std::vector<Item>> read_items(session::Store& store, const std::vector<ItemLine>& lines,
                                   const search::Query& query, std::size_t bytes_max,
                                   std::function<void()> meanwhile) {
  const search::Snippets snippets(query);
  std::vector<Item> items;
  items.reserve(lines.size());
  std::vector<session::Range> ranges;
  std::vector<std::size_t> firsts;  // lines of the ranges
  for (std::size_t i = 0; i < lines.size(); ++i) {
    items.push_back(start_item(lines[i].row));
    const auto offset = offset_of(lines[i]);
    const auto* range = ranges.empty() ? nullptr : &ranges.back();
    const bool joins = range && range->id == lines[i].id && offset > offset_of(lines[i - 1]) &&
                       offset - range->from < kSpanBytesMax &&
                       (lines[i - 1].hit || offset - offset_of(lines[i - 1]) <= kGapBytesMax);
    if (!joins) {
      ranges.push_back(session::Range{lines[i].id, offset, 0});
      firsts.push_back(i);
    }
    ranges.back().size = offset - ranges.back().from + kSlackBytes;
  }
  firsts.push_back(lines.size());

  // Told apart by their places, so that several threads can write at once.
  std::vector<std::uint8_t> missing(lines.size());
  const auto use = [&](std::size_t n, const Result<std::string_view>& bytes) {
    for (auto i = firsts[n]; i < firsts[n + 1]; ++i) {
      const auto at = offset_of(lines[i]) - ranges[n].from;
      auto line = bytes && at < bytes->size() ? bytes->substr(at) : std::string_view();
      const auto end = line.find('\n');
      line = line.substr(0, end);
      if (!fill_item(items[i], line, end != std::string_view::npos, lines[i], snippets, bytes_max))
        missing[i] = 1;
    }
  };
  co_await store.read_each(ranges, use, std::move(meanwhile));

  std::vector<session::Range> longer;
  std::vector<std::size_t> longer_of;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (missing[i] == 0) continue;
    longer.push_back(session::Range{lines[i].id, offset_of(lines[i]), kLineBytesMax});
    longer_of.push_back(i);
  }
  if (longer.empty()) co_return items;
  const auto use_longer = [&](std::size_t n, const Result<std::string_view>& bytes) {
    const auto i = longer_of[n];
    const auto line = bytes ? bytes->substr(0, bytes->find('\n')) : std::string_view();
    static_cast<void>(fill_item(items[i], line, true, lines[i], snippets, bytes_max));
  };
  co_await store.read_each(std::move(longer), use_longer, [] {});
  co_return items;
}

}  // namespace reef::recall
