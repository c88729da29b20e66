// Puts any bytes in place of CrabTalk's conversations.
#include <cstddef>
#include <cstdint>

#include "exchange/crabtalk/crabtalk.h"
#include "exchange_reading.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  reef::test::MemoryFiles disk;
  disk.put("/one/sessions/crab_a_1.jsonl", std::string(bytes));
  disk.put("/one/store.crmem", std::string(bytes));
  reef::fuzz::put_files(disk, "/many", bytes);
  for (const std::string path : {"/one", "/many"}) {
    static_cast<void>(reef::exchange::is_crabtalk(disk, path));
    reef::fuzz::check_reader(reef::exchange::read_crabtalk, disk, path, 1 + size % 13);
  }
  return 0;
}
