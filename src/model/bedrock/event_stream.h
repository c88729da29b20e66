// AWS's binary event stream (application/vnd.amazon.eventstream): frames with a length, headers, a
// payload and two checksums. The bytes may arrive cut anywhere. Loop thread.
//
//   u32 total length | u32 length of headers | u32 CRC-32 of these 8 bytes
//   headers: u8 length of name, name, u8 type, value (type 7: u16 length, text)
//   payload | u32 CRC-32 of everything before        all numbers big endian
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::model::bedrock {

struct Frame {
  std::map<std::string, std::string, std::less<>> headers;  // only those of type text
  std::string payload;

  std::string_view header(std::string_view name) const;  // empty when there is no such header
};

class FrameParser {
 public:
  // The limits of AWS: 16 MiB of payload, 128 KiB of headers.
  static constexpr std::size_t kFrameBytesMax = (16U << 20) + (128U << 10) + 16;

  void feed(std::string_view bytes) { buffer_ += bytes; }
  // Returns the next whole frame; nullopt until more bytes come. Fails with `corrupt` for a wrong
  // checksum or an impossible length; nothing can be read afterwards.
  Result<std::optional<Frame>> next();

 private:
  std::string buffer_;
  std::size_t start_ = 0;
};

std::uint32_t crc32(std::string_view bytes);

}  // namespace reef::model::bedrock
