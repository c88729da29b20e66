// Any line can be peeked at, and the result must keep its bounds. The test recall.Peek checks that
// it agrees with reading the line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "recall/peek.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t bytes_max = data[0] % 64;
  const std::string_view line(reinterpret_cast<const char*>(data + 1), size - 1);
  reef::recall::Peek peeked;
  for (const bool text_only : {false, true}) {
    if (!(text_only ? reef::recall::peek_text(line, bytes_max, peeked)
                    : reef::recall::peek(line, bytes_max, peeked)))
      continue;
    REEF_ASSERT(!peeked.text.empty() && peeked.text.size() <= bytes_max + 1);
    REEF_ASSERT(!peeked.entry.empty());
  }
  return 0;
}
