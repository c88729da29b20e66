// record := checksum ' ' object '\n'      checksum: XXH3 of the object's bytes, 16 hex digits
// object := a row (session/row.cpp), or {"id":ID,"gone":true}

#include "session/catalog.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace reef::session {
namespace {

constexpr std::size_t kChecksumDigits = 16;

std::string checksum(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
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

CatalogReading read_catalog(std::string_view bytes) {
  CatalogReading out;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto line = bytes.substr(0, end);
    const bool whole = end != std::string_view::npos && line.size() > kChecksumDigits + 1 &&
                       line[kChecksumDigits] == ' ';
    const auto text = whole ? line.substr(kChecksumDigits + 1) : std::string_view();
    if (!whole || line.substr(0, kChecksumDigits) != checksum(text)) {
      out.damaged = true;
      return out;
    }
    const auto body = json::parse(text);
    const auto* object = body ? body->if_object() : nullptr;
    if (!object) {
      out.damaged = true;
      return out;
    }
    ++out.records;
    if (json::find_bool(*object, "gone").value_or(false)) {
      if (const auto id = SessionId::parse(json::find_string(*object, "id").value_or("")))
        out.rows.erase(*id);
    } else if (auto row = row_from_json(*object)) {
      auto id = row->id;
      out.rows.insert_or_assign(std::move(id), *std::move(row));
    } else {
      out.damaged = true;
      return out;
    }
    bytes.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace reef::session
