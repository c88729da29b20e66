// Frames: u32 big-endian payload length, then the payload. At most 16 MiB. No I/O here.
//
//   frame   := length payload
//   length  := 4 bytes, big-endian, 0 .. 16,777,216; the header is not counted
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::transport {

inline constexpr std::size_t kFrameHeaderBytes = 4;
inline constexpr std::size_t kFramePayloadBytesMax = 16U << 20;

// payload must not be larger than kFramePayloadBytesMax.
std::string make_frame(std::string_view payload);

// Room for a payload of so many bytes behind its header.
std::string start_frame(std::size_t payload_bytes);

// Takes bytes as they arrive and gives back payloads. Asks for little more memory than has arrived,
// whatever is announced.
class FrameReader {
 public:
  // So much is kept while nothing is there to be read.
  explicit FrameReader(std::size_t kept_bytes_max = 64U << 10) : kept_bytes_max_(kept_bytes_max) {}
  void feed(std::string_view bytes);
  // The next whole payload, good until the next call of feed or next; nullopt when more bytes are
  // needed; too_large when the header announces more than allowed: after that the stream has no
  // meaning and every call says so again.
  Result<std::optional<std::string_view>> next();
  // For peers not yet trusted with more.
  void set_payload_bytes_max(std::size_t bytes) { payload_bytes_max_ = bytes; }
  // Bytes of an unfinished frame; not zero at the end of a connection means it was cut.
  std::size_t unfinished() const { return buffer_.size() - used_; }

 private:
  std::string buffer_;
  std::size_t used_ = 0;
  std::size_t payload_bytes_max_ = kFramePayloadBytesMax;
  std::size_t kept_bytes_max_;
};

}  // namespace reef::transport
