// Brings a row up to date with its transcript. Pure but for the source of bytes; any thread.
#pragma once

#include <optional>

#include "session/row.h"
#include "session/tail.h"

namespace reef::session {

struct Refresh {
  SessionId id;
  std::optional<Row> known;
};

// The row of the transcript in `source`. `known` is continued from the bytes it covers when these
// are still the beginning of the file as far as can be told, else everything is read.
Result<Row> refresh_row(const ByteSource& source, Refresh request);

}  // namespace reef::session
