// Any bytes in place of a pi transcript: the intake's contract holds (it ends the program when
// not), and reading them again gives the same ids.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "exchange/pi.h"
#include "exchange/redact.h"
#include "support/exchange.h"
#include "support/memory_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> before;
  for (const std::size_t piece : {std::size_t{5}, SIZE_MAX}) {
    reef::test::MemoryFiles files;
    reef::test::MemoryIntake intake(files);
    files.put("/s.jsonl", bytes);
    files.read_at_most(piece);
    REEF_ASSERT(reef::exchange::read_pi(files, "/s.jsonl", intake));
    std::vector<std::string> ids;
    for (const auto& session : intake.sessions()) {
      REEF_ASSERT(session.ended);
      for (const auto& entry : session.entries) ids.push_back(entry.id.text);
      REEF_ASSERT(session.transcript().damage().empty());
    }
    if (piece == SIZE_MAX) REEF_ASSERT(ids == before);
    before = ids;
  }
  std::size_t end = 0;
  for (const auto& secret : reef::exchange::find_secrets(bytes)) {
    REEF_ASSERT(secret.at >= end && secret.size > 0 && secret.at + secret.size <= size);
    end = secret.at + secret.size;
  }
  return 0;
}
