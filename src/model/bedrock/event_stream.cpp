#include "model/bedrock/event_stream.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace reef::model::bedrock {
namespace {

constexpr std::size_t kPreludeBytes = 12;
constexpr std::size_t kFrameBytesMin = 16;
constexpr std::size_t kShrinkBytes = 64U << 10;

constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table = {};
  for (std::uint32_t i = 0; i < 256; ++i) {
    auto value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value & 1U) != 0 ? 0xEDB88320U ^ (value >> 1U) : value >> 1U;
    table[i] = value;
  }
  return table;
}();

// Reads numbers and bytes; after one read beyond the end, all others fail, too.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::uint32_t number(std::size_t size) {
    std::uint32_t out = 0;
    for (const char c : bytes(size)) out = (out << 8U) | static_cast<unsigned char>(c);
    return out;
  }
  std::string_view bytes(std::size_t size) {
    if (size > rest_.size()) {
      short_ = true;
      rest_ = {};
      return {};
    }
    const auto out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  bool empty() const { return rest_.empty(); }
  bool ran_short() const { return short_; }

 private:
  std::string_view rest_;
  bool short_ = false;
};

// Returns the size of a value of this type, or of its own length field; nullopt for unknown types.
std::optional<std::size_t> size_of(std::uint32_t type) {
  constexpr std::array<std::size_t, 10> kSizes = {0, 0, 1, 2, 4, 8, 0, 0, 8, 16};
  if (type >= kSizes.size()) return std::nullopt;
  return kSizes[type];
}

Status read_headers(std::string_view bytes, Frame& frame) {
  constexpr std::uint32_t kBytes = 6, kText = 7;
  Reader reader(bytes);
  while (!reader.empty()) {
    const auto name = reader.bytes(reader.number(1));
    const auto type = reader.number(1);
    const auto size = size_of(type);
    if (!size) return Error(Errc::corrupt, fmt::format("a header of the unknown type {}", type));
    const auto value = reader.bytes(type == kBytes || type == kText ? reader.number(2) : *size);
    if (reader.ran_short()) return Error(Errc::corrupt, "headers that do not fit their frame");
    if (type == kText) frame.headers.insert_or_assign(std::string(name), std::string(value));
  }
  return Ok{};
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t value = 0xFFFFFFFFU;
  for (const char c : bytes)
    value = kCrcTable[(value ^ static_cast<unsigned char>(c)) & 0xFFU] ^ (value >> 8U);
  return ~value;
}

std::string_view Frame::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : found->second;
}

Result<std::optional<Frame>> FrameParser::next() {
  const auto rest = std::string_view(buffer_).substr(start_);
  if (rest.size() < kPreludeBytes) return std::optional<Frame>();
  Reader prelude(rest);
  const std::size_t total = prelude.number(4);
  const std::size_t headers = prelude.number(4);
  if (prelude.number(4) != crc32(rest.substr(0, 8)))
    return Error(Errc::corrupt, "the checksum of a frame's head is wrong");
  if (total < kFrameBytesMin || total > kFrameBytesMax || headers > total - kFrameBytesMin)
    return Error(Errc::corrupt,
                 fmt::format("a frame of {} bytes with {} of headers", total, headers));
  if (rest.size() < total) return std::optional<Frame>();

  const auto whole = rest.substr(0, total);
  if (Reader(whole.substr(total - 4)).number(4) != crc32(whole.substr(0, total - 4)))
    return Error(Errc::corrupt, "the checksum of a frame is wrong");
  Frame frame;
  if (auto read = read_headers(whole.substr(kPreludeBytes, headers), frame); !read)
    return std::move(read).error();
  frame.payload = whole.substr(kPreludeBytes + headers, total - kFrameBytesMin - headers);
  start_ += total;
  // Moves only when at least half is consumed, so that a byte is moved once on average.
  if (start_ == buffer_.size() || start_ >= std::max(kShrinkBytes, buffer_.size() / 2)) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
  return std::optional<Frame>(std::move(frame));
}

}  // namespace reef::model::bedrock
