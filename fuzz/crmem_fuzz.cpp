// Any bytes must be read or refused with a reason; what was read must be written back unchanged.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "memory/crmem.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reef::memory;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto contents = parse(bytes);
  if (!contents) {
    REEF_ASSERT(contents.error().code == reef::Errc::corrupt);
    return 0;
  }
  const auto written = *serialize(*contents);
  REEF_ASSERT(written == bytes);
  REEF_ASSERT(serialized_bytes(*contents) == size);
  const auto again = *parse(written);
  REEF_ASSERT(again == *contents);
  for (std::size_t i = 1; i < contents->entries.size(); ++i)
    REEF_ASSERT(contents->entries[i - 1]->id < contents->entries[i]->id);
  return 0;
}
