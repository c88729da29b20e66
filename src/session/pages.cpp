#include "session/pages.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_scanner.h"
#include "base/notify.h"
#include "session/entry.h"
#include "session/reader.h"

namespace reef::session {
namespace {

constexpr std::uint64_t kPageBlockBytes = 128U << 10;
constexpr std::size_t kIdBytesMax = 1024;
// The names of a line that is too long stand in its beginning.
constexpr std::size_t kHeadBytes = 64U << 10;

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

struct Head {
  std::string id;
  std::string type;
};

// Finds the names in a line that we or pi wrote, where they come before what may be long. In a line
// that was cut, it finds what stands before the cut.
Head head_of(std::string_view text) {
  Head head;
  json::Scanner scanner(text);
  static_cast<void>(scanner.members([&](std::string_view name) {
    bool high = false;
    if (name == "id") return scanner.string(head.id, kIdBytesMax, high);
    if (name == "type") return scanner.string(head.type, kIdBytesMax, high);
    return scanner.skip();
  }));
  return head;
}

// nullopt when it is no entry.
std::optional<Line> line_from(std::string_view text, std::uint64_t at, std::uint64_t bytes) {
  Line line{{}, {}, at, bytes};
  const auto body = without_blanks(text);
  if (body.empty()) return std::nullopt;
  auto parsed = json::parse_lenient(body);
  if (parsed && parsed->is_object()) {
    auto& object = parsed->get_object();
    if (header_from(object)) return std::nullopt;
    auto entry = entry_from(std::move(object));
    if (!entry) return std::nullopt;
    line.id = std::move(entry->id.text);
    line.json = std::string(body);
    return line;
  }
  // An entry behind the fragment of another one: the reader knows how to tell.
  auto reading = read_transcript(std::string(body) + "\n");
  if (reading.entries.empty()) return std::nullopt;
  auto& entry = reading.entries.back();
  line.json = json::write(entry.body);
  if (const auto id = json::find_string(entry.body, "id")) line.id = std::string(*id);
  return line;
}

std::optional<Line> long_line(std::string_view beginning, std::uint64_t at, std::uint64_t bytes) {
  auto head = head_of(without_blanks(beginning));
  if (head.type.empty() || head.type == "session") return std::nullopt;
  return Line{std::move(head.id), {}, at, bytes, true};
}

// Takes a line into a page; whether the page is full.
bool take(LinePage& page, std::optional<Line> line, const PageLimits& limits, std::size_t& bytes) {
  if (!line) return false;
  bytes += line->json.size();
  page.lines.push_back(*std::move(line));
  return page.lines.size() >= limits.lines_max || bytes >= limits.bytes_max;
}

}  // namespace

Task<Result<LinePage>> lines_after(Transcripts& transcripts, SessionId id, std::uint64_t from,
                                   PageLimits limits) {
  LinePage page;
  page.from = page.to = from;
  page.begins = from == 0;
  std::size_t taken = 0;
  std::string held;              // from the beginning of a line on
  std::uint64_t held_bytes = 0;  // as many as there were, where `held` was cut
  if (from >= limits.end) co_return page;
  for (;;) {
    const auto at = page.to + held_bytes;
    REEF_CO_TRY(const auto piece, co_await transcripts.read(id, at, kPageBlockBytes));
    if (piece.empty()) {
      page.ends = true;
      co_return page;
    }
    std::size_t used = 0;
    for (;;) {
      const auto newline = piece.find('\n', used);
      const auto end = newline == std::string::npos ? piece.size() : newline + 1;
      const auto part = std::string_view(piece).substr(used, end - used);
      held_bytes += part.size();
      const bool too_long = held_bytes > limits.line_bytes_max;
      held += too_long ? part.substr(0, kHeadBytes) : part;
      if (too_long) held.resize(std::min(held.size(), kHeadBytes));
      used = end;
      if (newline == std::string::npos) break;
      auto line =
          too_long ? long_line(held, page.to, held_bytes) : line_from(held, page.to, held_bytes);
      page.to += held_bytes;
      held.clear();
      held_bytes = 0;
      if (take(page, std::move(line), limits, taken) || page.to >= limits.end) co_return page;
    }
    // A long page is a while on the loop.
    co_await yield_to_loop();
  }
}

Task<Result<LinePage>> lines_before(Transcripts& transcripts, SessionId id, std::uint64_t to,
                                    PageLimits limits) {
  LinePage page;
  page.from = page.to = to;
  bool full = false;
  std::size_t taken = 0;
  std::string held;  // up to page.from; of a line that is too long, its beginning so far
  std::uint64_t held_bytes = 0;  // as many as there were
  while (page.from > 0) {
    const auto read_to = page.from - held_bytes;
    const auto size = std::min(read_to, kPageBlockBytes);
    std::string piece;
    if (size > 0) {
      REEF_CO_TRY(piece, co_await transcripts.read(id, read_to - size, size));
      if (piece.size() != size)
        co_return Error(Errc::invalid, "the transcript ends before this place");
    }
    // The newline that ends the line stands at its end, and separates none.
    std::size_t left = piece.size();
    for (;;) {
      const auto skip = held_bytes == 0 && left > 0 ? 1U : 0U;
      const auto newline = left > skip ? piece.rfind('\n', left - skip - 1) : std::string::npos;
      const bool begun = newline != std::string::npos || read_to == size;
      const auto begin = newline == std::string::npos ? 0 : newline + 1;
      const auto part = std::string_view(piece).substr(begin, left - begin);
      held_bytes += part.size();
      left = begin;
      held.insert(0, part);
      const bool too_long = held_bytes > limits.line_bytes_max;
      if (too_long) held.resize(std::min(held.size(), kHeadBytes));
      if (!begun) break;
      const auto at = page.from - held_bytes;
      auto line = too_long ? long_line(held, at, held_bytes) : line_from(held, at, held_bytes);
      page.from = at;
      held.clear();
      held_bytes = 0;
      full = take(page, std::move(line), limits, taken);
      if (full || left == 0) break;
    }
    if (full) break;
    co_await yield_to_loop();
  }
  page.begins = page.from == 0;
  std::reverse(page.lines.begin(), page.lines.end());
  co_return page;
}

std::string place_name(const Line& line) {
  return fmt::format("{}@{}", line.id, line.at);
}

Task<Result<std::optional<Line>>> find_line(Transcripts& transcripts, SessionId id,
                                            std::string name, std::uint64_t size) {
  auto old_id = name;
  const auto sign = name.size() > kIdBytesMax ? std::string::npos : name.rfind('@');
  if (sign != std::string::npos) {
    std::uint64_t at = 0;
    const auto* const end = name.data() + name.size();
    const auto [last, failed] = std::from_chars(name.data() + sign + 1, end, at);
    if (failed == std::errc() && last == end && at < size) {
      PageLimits one{.lines_max = 1};
      REEF_CO_TRY(auto page, co_await lines_after(transcripts, id, at, one));
      if (!page.lines.empty() && page.lines.front().at == at &&
          page.lines.front().id == std::string_view(name).substr(0, sign))
        co_return std::optional<Line>(std::move(page.lines.front()));
      // The file was made anew: its id is still its id.
      old_id = name.substr(0, sign);
    }
  }
  if (old_id.empty() || name.size() > kIdBytesMax) co_return std::optional<Line>();
  PageLimits limits{.lines_max = 1000};
  for (auto to = size; to > 0;) {
    REEF_CO_TRY(auto page, co_await lines_before(transcripts, id, to, limits));
    for (auto line = page.lines.rbegin(); line != page.lines.rend(); ++line)
      if (line->id == name || line->id == old_id) co_return std::optional<Line>(std::move(*line));
    to = page.from;
  }
  co_return std::optional<Line>();
}

}  // namespace reef::session
