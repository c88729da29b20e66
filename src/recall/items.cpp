#include "recall/items.h"

#include "base/utf8.h"
#include "recall/peek.h"
#include "recall/reading.h"
#include "search/snippet.h"

namespace reef::recall {
namespace {

// Lines at most this far apart are read as one piece.
constexpr std::uint64_t kGapBytesMax = 16U << 10;
constexpr std::uint64_t kSpanBytesMax = 256U << 10;
// A piece has at most this many lines, so that threads can share the work.
constexpr std::size_t kPieceLinesMax = 12;
// The bytes read for the last line of a piece: a hit is usually no longer than the first number,
// and for a line beside a hit the second usually suffices.
constexpr std::uint64_t kHitBytes = 6U << 10;
constexpr std::uint64_t kOtherBytes = 2U << 10;
constexpr std::uint64_t kLineBytesMax = 16U << 20;
constexpr std::uint64_t kLongerBytes[] = {32U << 10, 256U << 10, kLineBytesMax};

std::uint64_t offset_of(const ItemLine& line) {
  return Place::of(line.row.key).offset;
}

// The buffers of one thread, kept so that their memory is used again.
struct Reading {
  Peek peeked;
  Item item;

  std::size_t bytes() const {
    std::size_t sum = item.matches.capacity() * sizeof item.matches[0];
    for (const auto* text : {&peeked.entry, &peeked.time, &peeked.tool, &peeked.agent, &peeked.text,
                             &item.entry, &item.tool, &item.agent, &item.snippet})
      sum += text->capacity();
    return sum;
  }
};

// Lends a thread its own buffers while it reads a piece.
class Borrowed {
 public:
  // Frees the memory that a long message took.
  ~Borrowed() {
    constexpr std::size_t kKeptBytesMax = 64U << 10;
    if (reading.bytes() > kKeptBytesMax) reading = Reading();
  }
  Reading& reading = mine();

 private:
  static Reading& mine() {
    static thread_local Reading reading;
    return reading;
  }
};

void start(Item& item, const search::DocumentRow& row) {
  item.role = role_in(row.facets);
  item.index = Place::of(row.key).ordinal;
  item.time = TimePoint(std::chrono::milliseconds(row.time_ms));
  item.entry.clear();
  item.tool.clear();
  item.agent.clear();
  item.snippet.clear();
  item.matches.clear();
  item.truncated = false;
}

void show_beginning(Item& item, std::string& text, std::size_t bytes_max) {
  item.truncated = text.size() > bytes_max;
  if (item.truncated) text.resize(utf8::prefix(text, bytes_max).size());
  std::swap(item.snippet, text);
}

void show_around_matches(Item& item, std::string_view text, const search::Snippets& snippets,
                         std::size_t bytes_max) {
  auto snippet = snippets.make(text, bytes_max);
  item.snippet = snippet.text;
  item.matches = std::move(snippet.matches);
  item.truncated = snippet.cut_before || snippet.cut_after;
}

// `bytes` starts with the line and may continue beyond it. Returns false when more of the line must
// be read, which `last` rules out.
bool read_item(Reading& reading, std::string_view bytes, bool last, const ItemLine& from,
               const search::Snippets& snippets, std::size_t bytes_max) {
  auto& item = reading.item;
  start(item, from.row);
  const auto show = [&](std::string& text) {
    if (from.hit)
      show_around_matches(item, text, snippets, bytes_max);
    else
      show_beginning(item, text, bytes_max);
  };
  // In the usual case we need not know where the line ends.
  if (auto& peeked = reading.peeked;
      !calls_in(from.row.facets) && !guest_in(from.row.facets) &&
      peek_text(bytes, from.hit ? SIZE_MAX - 1 : bytes_max, peeked)) {
    std::swap(item.entry, peeked.entry);
    std::swap(item.tool, peeked.tool);
    show(peeked.text);
    return true;
  }
  const auto end = bytes.find('\n');
  if (end == std::string_view::npos && !last) return false;
  const auto read = read_line(bytes.substr(0, end), 0);
  if (!read) {
    item.truncated = true;
    return true;
  }
  item.entry = read->entry;
  item.tool = read->said.tool;
  item.agent = read->said.agent;
  auto text = read->said.text();
  show(text);
  return true;
}

}  // namespace

Task<void> read_each_item(session::Transcripts& transcripts, const std::vector<ItemLine>& lines,
                          const search::Query& query, std::size_t bytes_max, UseItem use,
                          std::function<void()> meanwhile, Helper* helper) {
  const search::Snippets snippets(query);
  std::vector<session::Range> ranges;
  std::vector<std::size_t> firsts;  // first line of each range, and the end
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto offset = offset_of(lines[i]);
    const auto* range = ranges.empty() ? nullptr : &ranges.back();
    const bool joins = range && *lines[i].id == range->id && offset >= offset_of(lines[i - 1]) &&
                       offset - range->from < kSpanBytesMax && i - firsts.back() < kPieceLinesMax &&
                       (lines[i - 1].hit || offset - offset_of(lines[i - 1]) <= kGapBytesMax);
    if (!joins) {
      ranges.push_back(session::Range{*lines[i].id, offset, 0});
      firsts.push_back(i);
    }
    const auto more = !lines[i].hit && bytes_max < kOtherBytes ? kOtherBytes : kHitBytes;
    ranges.back().size = offset - ranges.back().from + more;
  }
  firsts.push_back(lines.size());

  // One byte for each line, not one bit, because several threads write at once.
  std::vector<std::uint8_t> missing(lines.size());
  const auto use_piece = [&](std::size_t n, const Result<std::string_view>& bytes) {
    const Borrowed borrowed;
    for (auto i = firsts[n]; i < firsts[n + 1]; ++i) {
      const auto at = offset_of(lines[i]) - ranges[n].from;
      const auto rest = bytes && at < bytes->size() ? bytes->substr(at) : std::string_view();
      if (read_item(borrowed.reading, rest, false, lines[i], snippets, bytes_max))
        use(i, n, borrowed.reading.item);
      else
        missing[i] = 1;
    }
  };
  co_await transcripts.read_each(ranges, use_piece, std::move(meanwhile), helper);

  // Reads the remaining long lines with growing sizes; only few are so long that they need the
  // disk.
  for (const auto size : kLongerBytes) {
    std::vector<session::Range> longer;
    std::vector<std::size_t> longer_of;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (missing[i] == 0) continue;
      longer.push_back(session::Range{*lines[i].id, offset_of(lines[i]), size});
      longer_of.push_back(i);
    }
    if (longer.empty()) co_return;
    const auto use_longer = [&](std::size_t n, const Result<std::string_view>& bytes) {
      const Borrowed borrowed;
      const auto i = longer_of[n];
      const auto rest = bytes ? *bytes : std::string_view();
      const bool last = rest.size() < size || size == kLineBytesMax;
      if (!read_item(borrowed.reading, rest, last, lines[i], snippets, bytes_max)) return;
      missing[i] = 0;
      use(i, n, borrowed.reading.item);
    };
    co_await transcripts.read_each(
        std::move(longer), use_longer, [] {}, helper);
  }
}

Task<std::vector<Item>> read_items(session::Transcripts& transcripts,
                                   const std::vector<ItemLine>& lines, const search::Query& query,
                                   std::size_t bytes_max) {
  std::vector<Item> items(lines.size());
  const auto keep = [&](std::size_t line, std::size_t, Item& item) {
    items[line] = std::move(item);
  };
  co_await read_each_item(
      transcripts, lines, query, bytes_max, keep, [] {}, nullptr);
  co_return items;
}

}  // namespace reef::recall
