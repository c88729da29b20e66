// AWS's binary event stream (application/vnd.amazon.eventstream): frames with a length, headers, a
// payload, and two checksums. Bytes may come in any cut. Loop thread.
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
  std::map<std::string, std::string, std::less<>> headers;  // those that are text
  std::string payload;

  std::string_view header(std::string_view name) const;  // empty when there is none
};

class FrameParser {
 public:
  // What AWS allows: 16 MiB of payload, 128 KiB of headers.
  static constexpr std::size_t kFrameBytesMax = (16U << 20) + (128U << 10) + 16;

  void feed(std::string_view bytes) { buffer_ += bytes; }
  // The next whole frame, nullopt until more bytes come; `corrupt` for a wrong checksum or a length
  // that cannot be, after which nothing can be read.
  Result<std::optional<Frame>> next();

 private:
  std::string buffer_;
  std::size_t start_ = 0;
};

std::uint32_t crc32(std::string_view bytes);

}  // namespace reef::model::bedrock
