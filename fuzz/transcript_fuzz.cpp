// Any bytes must be read without a crash or a hang, keep the tree's promises, and read the same
// again after being written.
#include <cstddef>
#include <cstdint>
#include <set>

#include "base/assert.h"
#include "session/check.h"
#include "session/refresh.h"
#include "session/tail.h"
#include "session/transcript.h"

namespace {

using namespace reef::session;

void check(const Transcript& transcript) {
  const auto branch = transcript.branch();
  REEF_ASSERT(branch.size() <= transcript.entries().size());
  REEF_ASSERT(branch.empty() == transcript.entries().empty());
  // A branch goes forward in the file, so it cannot meet an entry twice.
  const Entry* before = nullptr;
  for (const auto* entry : branch) {
    REEF_ASSERT(!before || before < entry);
    before = entry;
  }
  REEF_ASSERT(build_context(branch).items.size() <= branch.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto reading = read_transcript(bytes);
  REEF_ASSERT(reading.whole_bytes <= bytes.size());
  const Transcript transcript{Reading(reading)};
  check(transcript);

  // Reading in pieces must give the same.
  TranscriptReader pieces;
  std::string held;
  for (std::size_t at = 0; at < size; at += 7) {
    held += bytes.substr(at, 7);
    held.erase(0, pieces.feed(held, at + 7 >= size));
  }
  REEF_ASSERT(pieces.reading().entries.size() == reading.entries.size());

  // Reading backwards must give the same.
  const auto source = source_of(bytes);
  const auto backwards = *read_tail(source);
  const auto forwards = *read_tail_forwards(source);
  REEF_ASSERT(backwards.leaf == forwards.leaf);
  REEF_ASSERT(backwards.context.items.size() == forwards.context.items.size());
  for (std::size_t i = 0; i < forwards.context.items.size(); ++i) {
    const auto& one = backwards.context.items[i];
    const auto& other = forwards.context.items[i];
    REEF_ASSERT(one.id == other.id);
    REEF_ASSERT(reef::json::write(to_json(*one.message)) ==
                reef::json::write(to_json(*other.message)));
  }

  // A row read in two parts must equal the row read at once.
  const auto id = *SessionId::parse("s");
  const auto whole = make_row(id, bytes);
  if (reading.whole_bytes == size && size > 0) {
    const auto half = bytes.substr(0, bytes.substr(0, size / 2).rfind('\n') + 1);
    Refresh request{id, make_row(id, half)};
    const auto continued = *refresh_row(source, std::move(request));
    REEF_ASSERT(continued.message_count == whole.message_count);
    REEF_ASSERT(reef::json::write(continued.meta) == reef::json::write(whole.meta));
  }

  // The repaired transcript must have the same entries and no damage.
  const Transcript mended{read_transcript(repaired(bytes, id))};
  REEF_ASSERT(mended.damage().empty());
  REEF_ASSERT(mended.entries().size() == transcript.entries().size());
  REEF_ASSERT(build_context(mended.branch()).items.size() == forwards.context.items.size());

  // After writing it out again every entry must be there and have found its parent.
  std::string again;
  for (const auto& entry : transcript.entries()) {
    for (const char c : entry_line(entry).substr(0, entry_line(entry).size() - 1))
      REEF_ASSERT(c != '\n');
    again += entry_line(entry);
  }
  const Transcript rewritten{read_transcript(again)};
  REEF_ASSERT(rewritten.entries().size() == transcript.entries().size());
  check(rewritten);
  return 0;
}
