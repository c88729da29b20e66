// Any bytes must be read without a crash or a hang, keep the tree's promises, and read the same
// again after being written.
#include <cstddef>
#include <cstdint>
#include <set>

#include "base/assert.h"
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
  REEF_ASSERT(build_context(transcript).size() <= branch.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto reading = read_transcript(bytes);
  REEF_ASSERT(reading.whole_bytes <= bytes.size());
  const Transcript transcript{Reading(reading)};
  check(transcript);

  // In pieces, the same.
  TranscriptReader pieces;
  std::string held;
  for (std::size_t at = 0; at < size; at += 7) {
    held += bytes.substr(at, 7);
    held.erase(0, pieces.feed(held, at + 7 >= size));
  }
  REEF_ASSERT(pieces.reading().entries.size() == reading.entries.size());

  // Written out again, every entry is there and has found its parent.
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
