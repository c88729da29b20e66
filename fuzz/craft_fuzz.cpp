// Puts any bytes in place of Craft's sessions, and of a bundle.
#include <cstddef>
#include <cstdint>

#include "exchange/craft/craft.h"
#include "exchange_reading.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  reef::test::MemoryFiles disk;
  disk.put("/one/sessions/s/session.jsonl", std::string(bytes));
  disk.put("/bundle.json", std::string(bytes));
  reef::fuzz::put_files(disk, "/many", bytes);
  for (const std::string path : {"/one", "/bundle.json", "/many"}) {
    static_cast<void>(reef::exchange::is_craft(disk, path));
    reef::fuzz::check_reader(reef::exchange::read_craft, disk, path, 1 + size % 13);
  }
  return 0;
}
