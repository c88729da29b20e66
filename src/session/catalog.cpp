// record := checksum ' ' object '\n'      checksum: XXH3 of the object's bytes, 16 hex digits
// object := a row (session/row.cpp), or {"id":ID,"gone":true}

#include "session/catalog.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

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

struct Part {
  std::unordered_map<SessionId, Row> rows;
  std::vector<SessionId> gone;
  std::size_t records = 0;
  bool damaged = false;
};

void take(Part& part, RowRecord record) {
  ++part.records;
  auto id = record.row.id;
  if (record.gone) {
    part.rows.erase(id);
    part.gone.push_back(std::move(id));
  } else {
    part.rows.insert_or_assign(std::move(id), std::move(record.row));
  }
}

// Up to the first record that is not whole.
Part read_part(std::string_view bytes) {
  Part out;
  out.rows.reserve(static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')));
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto line = bytes.substr(0, end);
    const bool whole = end != std::string_view::npos && line.size() > kChecksumDigits + 1 &&
                       line[kChecksumDigits] == ' ';
    const auto text = whole ? line.substr(kChecksumDigits + 1) : std::string_view();
    auto record = whole && is_checksum(line.substr(0, kChecksumDigits), text) ? read_record(text)
                                                                              : std::nullopt;
    out.damaged = !record;
    if (out.damaged) return out;
    take(out, *std::move(record));
    bytes.remove_prefix(end + 1);
  }
  return out;
}

// Whole lines, about equal shares. Small files are not worth a thread.
std::vector<std::string_view> shares_of(std::string_view bytes) {
  constexpr std::size_t kShareMin = 1U << 20;
  const std::size_t threads = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
  const auto share = std::max(kShareMin, bytes.size() / threads + 1);
  std::vector<std::string_view> out;
  while (!bytes.empty()) {
    const auto newline = bytes.size() > share ? bytes.find('\n', share) : std::string_view::npos;
    const auto end = newline == std::string_view::npos ? bytes.size() : newline + 1;
    out.push_back(bytes.substr(0, end));
    bytes.remove_prefix(end);
  }
  return out;
}

}  // namespace

CatalogReading read_catalog(std::string_view bytes) {
  const auto shares = shares_of(bytes);
  std::vector<Part> parts(shares.size());
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < shares.size(); ++i)
      others.emplace_back([&, i] { parts[i] = read_part(shares[i]); });
    if (!shares.empty()) parts[0] = read_part(shares[0]);
  }
  // What follows a damaged place was not read.
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].damaged) parts.resize(i + 1);
  CatalogReading out;
  std::size_t rows = 0;
  for (const auto& part : parts) {
    rows += part.rows.size();
    out.records += part.records;
    out.damaged = part.damaged;
  }
  out.rows.reserve(rows);
  // From the last to the first: what is there already is newer.
  std::vector<SessionId> gone;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    for (const auto& id : gone) part->rows.erase(id);
    out.rows.merge(part->rows);
    std::move(part->gone.begin(), part->gone.end(), std::back_inserter(gone));
  }
  return out;
}

}  // namespace reef::session
