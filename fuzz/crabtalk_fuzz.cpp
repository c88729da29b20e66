// Any bytes in place of CrabTalk's conversations must be read without a crash or a hang, keep the
// intake's contract (the intake in memory checks it), and be read the same again.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "exchange/crabtalk.h"
#include "exchange_disk.h"
#include "support/exchange.h"

namespace {

using namespace reef;

std::string everything(test::MemoryFiles& disk, const std::string& path) {
  test::MemoryIntake intake(disk);
  const auto read = exchange::read_crabtalk(disk, path, intake);
  std::string out = read ? "" : read.error().what;
  for (const auto& session : intake.sessions()) {
    REEF_ASSERT(session.ended);
    out += session.bytes();
    // What was taken in is a transcript without damage.
    REEF_ASSERT(session.transcript().damage().empty());
  }
  for (const auto& problem : intake.problems()) out += problem.path + problem.why;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  test::MemoryFiles disk;
  disk.put("/one/sessions/crab_a_1.jsonl", std::string(bytes));
  fuzz::put_files(disk, "/many", bytes);
  for (const std::string path : {"/one", "/many"}) {
    disk.read_at_most(SIZE_MAX);
    const auto whole = everything(disk, path);
    disk.read_at_most(1 + size % 13);
    REEF_ASSERT(everything(disk, path) == whole);
  }
  return 0;
}
