// Any bytes, cut anywhere, must give the same frames as a plain reading of the whole, and no crash.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "transport/frame.h"

namespace {

using namespace reef::transport;

struct Read {
  std::vector<std::string> payloads;
  bool refused = false;
};

// Obviously correct, but slow.
Read read_plainly(std::string_view bytes) {
  Read out;
  while (bytes.size() >= kFrameHeaderBytes) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < kFrameHeaderBytes; ++i)
      length = length * 256 + static_cast<std::uint8_t>(bytes[i]);
    if (length > kFramePayloadBytesMax) {
      out.refused = true;
      break;
    }
    if (bytes.size() - kFrameHeaderBytes < length) break;
    out.payloads.emplace_back(bytes.substr(kFrameHeaderBytes, length));
    bytes.remove_prefix(kFrameHeaderBytes + length);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // The first byte decides how the rest is cut.
  const std::size_t step = 1 + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto expected = read_plainly(bytes);

  FrameReader reader;
  Read got;
  for (std::size_t at = 0; at < bytes.size() && !got.refused; at += step) {
    reader.feed(bytes.substr(at, step));
    for (;;) {
      auto payload = reader.next();
      if (!payload) {
        got.refused = true;
        break;
      }
      if (!*payload) break;
      got.payloads.emplace_back(**payload);
    }
    REEF_ASSERT(reader.unfinished() <= bytes.size());
  }
  REEF_ASSERT(got.refused == expected.refused);
  REEF_ASSERT(got.payloads == expected.payloads);
  for (const auto& payload : got.payloads) {
    FrameReader again;
    again.feed(make_frame(payload));
    auto same = again.next();
    REEF_ASSERT(same && *same && **same == payload);
  }
  return 0;
}
