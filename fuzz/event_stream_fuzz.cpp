// Frames from outside: any cut must read the same, and every frame read must have correct
// checksums.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "model/bedrock/event_stream.h"

namespace {

using reef::model::bedrock::FrameParser;

std::string read(std::string_view bytes, std::size_t step) {
  FrameParser parser;
  std::string out;
  while (!bytes.empty()) {
    parser.feed(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
    while (true) {
      const auto frame = parser.next();
      if (!frame) return out + frame.error().what;
      if (!*frame) break;
      for (const auto& [name, value] : (*frame)->headers) out += name + "=" + value + ";";
      out += (*frame)->payload + "\n";
    }
  }
  return out;
}

// Corrects the checksums first, because a fuzzer does not guess them.
std::string mended(std::string bytes) {
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i)
      bytes[at + i] = static_cast<char>((value >> (8 * (3 - i))) & 0xFFU);
  };
  const auto get = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  for (std::size_t at = 0; at + 16 <= bytes.size();) {
    const std::size_t total = get(at);
    put(at + 8, reef::model::bedrock::crc32(std::string_view(bytes).substr(at, 8)));
    if (total < 16 || total > bytes.size() - at) break;
    put(at + total - 4, reef::model::bedrock::crc32(std::string_view(bytes).substr(at, total - 4)));
    at += total;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string raw(reinterpret_cast<const char*>(data), size);
  for (const auto& bytes : {raw, mended(raw)}) {
    const auto whole = read(bytes, bytes.size() + 1);
    if (read(bytes, 1) != whole || read(bytes, 5) != whole) std::abort();
  }
  return 0;
}
