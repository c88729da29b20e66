// Brings a row up to date with its transcript. Pure but for the source of bytes; any thread.
#pragma once

#include <optional>

#include "session/row.h"
#include "session/tail.h"

namespace reef::session {

struct Refresh {
  SessionId id;
  std::optional<Row> known;
  // What to do about a last line that is not whole: end it or set it aside, or leave it to whoever
  // may be writing it just now. The row covers whole lines alone then.
  enum class End : bool { leave, mend };
  End end = End::mend;
};

// Returns the row of the transcript in `source`. Continues `known` when the bytes it covers still
// seem to be the beginning of the file; else everything is read.
Result<Row> refresh_row(const ByteSource& source, Refresh request);

}  // namespace reef::session
