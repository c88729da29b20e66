// record := checksum ' ' object '\n'      checksum: XXH3 of the object's bytes, 16 hex digits
// object := a row (session/row.cpp), or {"id":ID,"gone":true}

#include "session/catalog.h"

#include <algorithm>
#include <array>
#include <charconv>
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

// One record as read; without a row the session is gone.
struct Record {
  SessionId id;
  std::optional<Row> row;
};

struct Part {
  std::vector<Record> records;
  bool damaged = false;
};

std::optional<Record> record_from(const json::object& object) {
  if (json::find_bool(object, "gone").value_or(false)) {
    auto id = SessionId::parse(json::find_string(object, "id").value_or(""));
    if (!id) return std::nullopt;
    return Record{*std::move(id), std::nullopt};
  }
  auto row = row_from_json(object);
  if (!row) return std::nullopt;
  auto id = row->id;
  return Record{std::move(id), std::move(row)};
}

// Up to the first record that is not whole.
Part read_part(std::string_view bytes) {
  Part out;
  std::array<unsigned char, 16U << 10> space;
  boost::json::monotonic_resource scratch(space.data(), space.size());
  // Rows are large: they are not moved once they are here.
  out.records.reserve(static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')));
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto line = bytes.substr(0, end);
    const bool whole = end != std::string_view::npos && line.size() > kChecksumDigits + 1 &&
                       line[kChecksumDigits] == ' ';
    const auto text = whole ? line.substr(kChecksumDigits + 1) : std::string_view();
    out.damaged = !whole || !is_checksum(line.substr(0, kChecksumDigits), text);
    if (out.damaged) return out;
    scratch.release();
    const auto body = json::parse(text, &scratch);
    const auto* object = body ? body->if_object() : nullptr;
    auto record = object ? record_from(*object) : std::nullopt;
    out.damaged = !record;
    if (out.damaged) return out;
    out.records.push_back(*std::move(record));
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
  CatalogReading out;
  std::size_t records = 0;
  for (const auto& part : parts) records += part.records.size();
  out.rows.reserve(records);
  for (auto& part : parts) {
    out.records += part.records.size();
    for (auto& record : part.records) {
      if (record.row) {
        out.rows.insert_or_assign(std::move(record.id), *std::move(record.row));
      } else {
        out.rows.erase(record.id);
      }
    }
    out.damaged = part.damaged;
    if (out.damaged) return out;
  }
  return out;
}

}  // namespace reef::session
