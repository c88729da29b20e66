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

// Returns a header with room behind it for a payload of so many bytes.
std::string start_frame(std::size_t payload_bytes);

// Takes bytes as they arrive and returns payloads. Asks for little more memory than has arrived,
// whatever size is announced.
class FrameReader {
 public:
  // Keeps so much memory while nothing is there to be read.
  explicit FrameReader(std::size_t kept_bytes_max = 64U << 10) : kept_bytes_max_(kept_bytes_max) {}
  void feed(std::string_view bytes);
  // Returns the next whole payload, valid until the next call of feed or next; nullopt when more
  // bytes are needed. too_large when the header announces more than allowed: the stream has no
  // meaning after that, and every further call says so again.
  Result<std::optional<std::string_view>> next();
  // For peers that are not trusted with more yet.
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
