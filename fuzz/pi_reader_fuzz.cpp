// Puts any bytes in place of a pi transcript, and looks for secrets in any bytes.
#include <cstddef>
#include <cstdint>

#include "exchange/pi/pi.h"
#include "exchange/redact.h"
#include "exchange_reading.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  reef::test::MemoryFiles disk;
  disk.put("/s.jsonl", bytes);
  static_cast<void>(reef::exchange::is_pi(disk, "/s.jsonl"));
  reef::fuzz::check_reader(reef::exchange::read_pi, disk, "/s.jsonl", 5);
  std::size_t end = 0;
  for (const auto& secret : reef::exchange::find_secrets(bytes)) {
    REEF_ASSERT(secret.at >= end && secret.size > 0 && secret.at + secret.size <= size);
    end = secret.at + secret.size;
  }
  return 0;
}
