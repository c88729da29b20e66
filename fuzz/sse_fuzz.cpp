// Any bytes, cut anywhere, must give the same events as a plain reading of the whole.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "http/sse.h"

namespace {

using Events = std::vector<std::pair<std::string, std::string>>;
constexpr std::size_t kBytesMax = 512;

// Follows the wording of the standard on the whole text.
Events read_plainly(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  Events events;
  std::string type;
  std::string data;
  std::string line;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != '\r' && bytes[i] != '\n') {
      line += bytes[i];
      continue;
    }
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') ++i;
    if (line.empty()) {
      if (!data.empty()) {
        data.pop_back();
        events.emplace_back(type, data);
      }
      type.clear();
      data.clear();
      continue;
    }
    const auto colon = line.find(':');
    const auto field = line.substr(0, colon);
    auto value = colon == std::string::npos ? std::string() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.erase(0, 1);
    if (field == "event") type = value;
    if (field == "data") data += value + "\n";
    line.clear();
  }
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* input, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = 1 + input[0] % 64U;
  const std::string_view bytes(reinterpret_cast<const char*>(input) + 1, size - 1);

  reef::http::sse::Parser parser(kBytesMax);
  Events events;
  bool refused = false;
  for (std::size_t at = 0; at < bytes.size() && !refused; at += step) {
    parser.feed(bytes.substr(at, step));
    for (;;) {
      auto event = parser.next();
      refused = !event;
      if (refused || !*event) break;
      events.emplace_back((*event)->type, (*event)->data);
    }
  }
  const auto expected = read_plainly(bytes);
  if (!refused) {
    REEF_ASSERT(events == expected);
  } else {
    // The events read before the refusal must be correct.
    REEF_ASSERT(events.size() <= expected.size());
    for (std::size_t i = 0; i < events.size(); ++i) REEF_ASSERT(events[i] == expected[i]);
    REEF_ASSERT(bytes.size() > kBytesMax);
  }
  static_cast<void>(parser.rest());
  return 0;
}
