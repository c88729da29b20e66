// Puts any bytes in place of a Clawdbot store, beside a sound transcript: the transcript must be
// read, and what the store says about it must be valid.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "base/utf8.h"
#include "exchange/clawdbot/clawdbot.h"
#include "support/exchange.h"
#include "support/memory_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  reef::test::MemoryFiles files;
  reef::test::MemoryIntake intake(files);
  files.put("/c/agents/main/sessions/sessions.json", bytes);
  files.put(
      "/c/agents/main/sessions/s.jsonl",
      R"({"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":""})"
      "\n"
      R"({"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z",)"
      R"("message":{"role":"user","content":"hi"}})"
      "\n");
  static_cast<void>(reef::exchange::is_clawdbot(files, "/c"));
  REEF_ASSERT(reef::exchange::read_clawdbot(files, "/c", intake));
  REEF_ASSERT(intake.sessions().size() == 1 && intake.sessions()[0].entries.size() == 1);
  REEF_ASSERT(reef::utf8::valid(reef::json::write(intake.sessions()[0].meta)));
  return 0;
}
