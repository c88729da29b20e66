// Decisions and names of clients are read from transcripts anybody may have written: whatever the
// bytes are, rows and lists agree about what waits, and everything written can be read again.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "session/client_mark.h"
#include "session/row.h"
#include "session/transcript.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reef::session;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto id = *SessionId::parse("s");
  const auto row = make_row(id, bytes);
  REEF_ASSERT(row.waiting.size() <= Waiting::kMax);
  for (const auto& one : row.waiting) REEF_ASSERT(session_of_decision(one.id) == id);
  const auto again = waiting_from(to_json(row.waiting));
  REEF_ASSERT(again.size() == row.waiting.size());
  for (const auto& marked : marks_in(bytes)) {
    reef::json::object fields;
    put_mark(fields, marked.mark, marked.unanswered);
    const auto read = mark_of(fields);
    REEF_ASSERT(read && read->mark == marked.mark);
    REEF_ASSERT(is_made_for(made_for(marked.mark), marked.mark) == Made::same);
  }
  return 0;
}
