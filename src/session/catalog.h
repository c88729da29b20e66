// The catalog's bytes: one record a line, where the newest of an id counts. They are derived data:
// a doubtful record is left out, and the session it was about is read again. Format:
// docs/formats/catalog.md.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "session/row.h"
#include "session/tail.h"

namespace reef::session {

std::string catalog_record(const Row& row);
// The record of a session that is gone.
std::string catalog_removal(const SessionId& id);

struct CatalogReading {
  std::unordered_map<SessionId, Row> rows;
  std::size_t records = 0;
  bool damaged = false;  // a record was not whole; it and all that follows was not read
};
// Reads large catalogs on several threads.
Result<CatalogReading> read_catalog(const ByteSource& source);

}  // namespace reef::session
