// record := checksum ' ' object '\n'      checksum: XXH3 of the object's bytes, 16 hex digits
// object := a row (session/row.cpp), or {"id":ID,"gone":true}

#include "session/catalog.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/side_by_side.h"

namespace reef::session {
namespace {

constexpr std::size_t kChecksumDigits = 16;

std::string checksum(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

bool is_checksum(std::string_view digits, std::string_view text) {
  std::uint64_t said = 0;
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), said, 16);
  return failed == std::errc() && end == digits.data() + digits.size() &&
         said == XXH3_64bits(text.data(), text.size());
}

std::string record(const json::object& body) {
  const auto text = json::write(body);
  return fmt::format("{} {}\n", checksum(text), text);
}

}  // namespace

std::string catalog_record(const Row& row) {
  return record(to_json(row));
}

std::string catalog_removal(const SessionId& id) {
  return record(json::object{{"id", id.text()}, {"gone", true}});
}

namespace {

// Bytes to read at once: so few that they stay in the processor's cache.
constexpr std::uint64_t kPieceBytes = 256U << 10;
// No record comes near this size.
constexpr std::size_t kLineBytesMax = 64U << 20;

// The lines that begin in [from, to) of a source.
class Lines {
 public:
  Lines(const ByteSource& source, std::uint64_t from, std::uint64_t to)
      : source_(source), to_(to), next_(from) {}

  // Skips the rest of a line that began before.
  Status skip_begun() {
    if (next_ == 0) return Ok{};
    --next_;
    return read_line();
  }
  // False when no line is left. A line that was cut short, or is far too long, is not whole().
  Result<bool> next() {
    if (begin() >= to_) return false;
    REEF_CHECK(read_line());
    return true;
  }
  std::string_view line() const { return line_; }  // valid until next()
  bool whole() const { return whole_; }            // its newline was found

 private:
  // Where the next line begins.
  std::uint64_t begin() const { return next_ - (piece_.size() - used_); }
  Status read_line() {
    auto end = piece_.find('\n', used_);
    while (end == std::string::npos && next_ < source_.size) {
      const auto looked = piece_.size() - used_;
      if (looked > kLineBytesMax) break;
      piece_.erase(0, std::exchange(used_, 0));
      REEF_TRY(const auto more, source_.read(next_, kPieceBytes));
      if (more.empty()) break;  // the file became shorter meanwhile
      piece_ += more;
      next_ += more.size();
      end = piece_.find('\n', looked);
    }
    whole_ = end != std::string::npos;
    const auto size = (whole_ ? end : piece_.size()) - used_;
    line_ = std::string_view(piece_).substr(used_, size);
    used_ += size + (whole_ ? 1 : 0);
    return Ok{};
  }

  const ByteSource& source_;
  std::uint64_t to_;
  std::uint64_t next_;     // where the next read begins
  std::string piece_;      // the bytes up to there
  std::size_t used_ = 0;   // bytes of piece_ already used
  std::string_view line_;  // within piece_
  bool whole_ = false;
};

struct Part {
  std::unordered_map<SessionId, Row> rows;
  std::vector<SessionId> gone;
  std::size_t records = 0;
  bool damaged = false;
  Status read = Ok{};
};

void take(Part& part, RowRecord&& record) {
  ++part.records;
  auto id = record.row.id;
  if (record.gone) {
    part.rows.erase(id);
    part.gone.push_back(std::move(id));
  } else {
    part.rows.insert_or_assign(std::move(id), std::move(record.row));
  }
}

std::optional<RowRecord> read_checked(std::string_view line) {
  if (line.size() <= kChecksumDigits + 1 || line[kChecksumDigits] != ' ') return std::nullopt;
  const auto text = line.substr(kChecksumDigits + 1);
  if (!is_checksum(line.substr(0, kChecksumDigits), text)) return std::nullopt;
  return read_record(text);
}

// Reads up to the first record that is not whole.
Status read_part(Lines lines, Part& out) {
  REEF_CHECK(lines.skip_begun());
  for (;;) {
    REEF_TRY(const bool any, lines.next());
    if (!any) return Ok{};
    auto record = lines.whole() ? read_checked(lines.line()) : std::nullopt;
    out.damaged = !record;
    if (out.damaged) return Ok{};
    take(out, *std::move(record));
  }
}

}  // namespace

Result<CatalogReading> read_catalog(const ByteSource& source) {
  // Small catalogs are not worth a thread.
  constexpr std::uint64_t kShareMin = 1U << 20;
  constexpr std::uint64_t kUsualRecordBytes = 512;
  constexpr std::uint64_t kRowsMax = 1U << 20;
  const auto count = std::clamp<std::uint64_t>(
      source.size / kShareMin, 1, std::clamp(std::thread::hardware_concurrency(), 1U, 8U));
  std::vector<Part> parts(count);
  std::atomic<std::uint64_t> next = 0;
  side_by_side(count, [&] {
    for (auto n = next++; n < count; n = next++) {
      const auto from = source.size / count * n;
      const auto to = n + 1 < count ? source.size / count * (n + 1) : source.size;
      // The rows of the others are merged into the last part, whose rows are the newest.
      const auto bytes = n + 1 < count ? to - from : source.size;
      parts[n].rows.reserve(std::min(bytes / kUsualRecordBytes, kRowsMax));
      parts[n].read = read_part(Lines(source, from, to), parts[n]);
    }
  });
  CatalogReading out;
  // Parts behind a damaged place do not count.
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].damaged) parts.resize(i + 1);
  for (const auto& part : parts) {
    REEF_CHECK(part.read);
    out.records += part.records;
    out.damaged = part.damaged;
  }
  // From the last to the first, because rows that are there already are newer.
  std::vector<SessionId> gone;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    for (const auto& id : gone) part->rows.erase(id);
    if (out.rows.empty())
      out.rows = std::move(part->rows);
    else
      out.rows.merge(part->rows);
    std::move(part->gone.begin(), part->gone.end(), std::back_inserter(gone));
  }
  return out;
}

}  // namespace reef::session
