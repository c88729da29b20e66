// Any record of the catalog can be read; an accepted one must be the same after writing and
// reading.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/json.h"
#include "session/row.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reef;
  const auto record =
      session::read_record(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!record || record->gone) return 0;
  const auto written = json::write(session::to_json(record->row));
  const auto again = session::read_record(written);
  REEF_ASSERT(again && json::write(session::to_json(again->row)) == written);
  return 0;
}
