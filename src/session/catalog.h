// The catalog's bytes: one record a line, the newest of an id counts. Derived data: anything
// doubtful is left out, and the session it was about is read again. Format:
// docs/formats/catalog.md.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "session/row.h"
#include "session/tail.h"

namespace reef::session {

std::string catalog_record(const Row& row);
// The session is not there any more.
std::string catalog_removal(const SessionId& id);

struct CatalogReading {
  std::unordered_map<SessionId, Row> rows;
  std::size_t records = 0;
  bool damaged = false;  // a record was not whole; it and what follows was not read
};
// Large ones on several threads.
Result<CatalogReading> read_catalog(const ByteSource& source);

}  // namespace reef::session
