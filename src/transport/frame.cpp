#include "transport/frame.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/assert.h"

namespace reef::transport {
namespace {

// So much room is made for a frame before it has arrived.
constexpr std::size_t kForeseenBytesMax = 256U << 10;

std::uint32_t read_u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kFrameHeaderBytes; ++i)
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

}  // namespace

std::string start_frame(std::size_t payload_bytes) {
  REEF_ASSERT(payload_bytes <= kFramePayloadBytesMax);
  std::string frame(kFrameHeaderBytes + payload_bytes, '\0');
  for (std::size_t i = 0; i < kFrameHeaderBytes; ++i)
    frame[i] = static_cast<char>(payload_bytes >> (8 * (kFrameHeaderBytes - 1 - i)) & 0xFFU);
  return frame;
}

std::string make_frame(std::string_view payload) {
  auto frame = start_frame(payload.size());
  payload.copy(frame.data() + kFrameHeaderBytes, payload.size());
  return frame;
}

void FrameReader::feed(std::string_view bytes) {
  if (used_ > 0) {
    buffer_.erase(0, used_);
    used_ = 0;
  }
  buffer_ += bytes;
}

Result<std::optional<std::string_view>> FrameReader::next() {
  if (used_ == buffer_.size()) {
    used_ = 0;
    buffer_.clear();
    // An idle connection does not keep what its largest frame needed.
    if (buffer_.capacity() > kept_bytes_max_) buffer_.shrink_to_fit();
  }
  const auto rest = std::string_view(buffer_).substr(used_);
  if (rest.size() < kFrameHeaderBytes) return std::optional<std::string_view>();
  const std::size_t length = read_u32(rest);
  if (length > payload_bytes_max_)
    return Error(Errc::too_large,
                 fmt::format("a frame holds at most {} bytes, this one announces {}",
                             payload_bytes_max_, length));
  if (rest.size() - kFrameHeaderBytes < length) {
    buffer_.reserve(
        used_ + std::min(kFrameHeaderBytes + length, std::max(kForeseenBytesMax, 2 * rest.size())));
    return std::optional<std::string_view>();
  }
  used_ += kFrameHeaderBytes + length;
  return std::optional(rest.substr(kFrameHeaderBytes, length));
}

}  // namespace reef::transport
