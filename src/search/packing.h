// Numbers packed into few bytes. Readers never leave the bytes they are given, whatever these say.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace reef::search {

static_assert(std::endian::native == std::endian::little, "index files are little endian");

// --- variable length ---

inline void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

// A reading position in bytes; after a failed read everything reads as zero and `ok` is false.
class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(std::string_view bytes)
      : at_(reinterpret_cast<const std::uint8_t*>(bytes.data())), end_(at_ + bytes.size()) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  const std::uint8_t* at() const { return at_; }
  void skip(std::size_t bytes) { static_cast<void>(take(bytes)); }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return fail();
      const std::uint8_t byte = *at_++;
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    return fail();
  }
  std::uint32_t varint32() { return static_cast<std::uint32_t>(varint()); }

  template <class T>
  T fixed() {
    T value{};
    const auto bytes = take(sizeof(T));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  std::string_view take(std::size_t bytes) {
    if (left() < bytes) {
      fail();
      return {};
    }
    const auto* from = at_;
    at_ += bytes;
    return {reinterpret_cast<const char*>(from), bytes};
  }

 private:
  std::uint64_t fail() {
    ok_ = false;
    at_ = end_;
    return 0;
  }

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  bool ok_ = true;
};

template <class T>
void put_fixed(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

// --- single bits ---

class BitWriter {
 public:
  explicit BitWriter(std::string& out) : out_(out) {}
  // `bits` is at most 32.
  void put(std::uint32_t value, unsigned bits) {
    pending_ |= std::uint64_t{value} << filled_;
    filled_ += bits;
    if (filled_ < 32) return;
    put_fixed(out_, static_cast<std::uint32_t>(pending_));
    pending_ >>= 32;
    filled_ -= 32;
  }
  // Writes this many zeros and then a one.
  void put_unary(std::uint32_t zeros) {
    for (; zeros >= 16; zeros -= 16) put(0, 16);
    put(std::uint32_t{1} << zeros, zeros + 1);
  }
  // Fills up the last byte.
  void finish() {
    for (; filled_ > 0; filled_ -= std::min(filled_, 8U), pending_ >>= 8)
      out_.push_back(static_cast<char>(pending_));
    pending_ = 0;
  }

 private:
  std::string& out_;
  std::uint64_t pending_ = 0;
  unsigned filled_ = 0;
};

class BitReader {
 public:
  explicit BitReader(std::string_view bytes)
      : at_(reinterpret_cast<const std::uint8_t*>(bytes.data())), end_(at_ + bytes.size()) {}
  bool ok() const { return ok_; }

  std::uint32_t get(unsigned bits) {
    if (!fill(bits)) return 0;
    const auto value = static_cast<std::uint32_t>(pending_ & ((std::uint64_t{1} << bits) - 1));
    pending_ >>= bits;
    filled_ -= bits;
    return value;
  }
  std::uint32_t get_unary() {
    std::uint32_t zeros = 0;
    for (;;) {
      if (!fill(1)) return 0;
      if (pending_ == 0) {
        zeros += filled_;
        filled_ = 0;
        continue;
      }
      const auto here = static_cast<unsigned>(std::countr_zero(pending_));
      pending_ >>= here + 1;
      filled_ -= here + 1;
      return zeros + here;
    }
  }

 private:
  bool fill(unsigned bits) {
    if (filled_ >= bits) return true;
    if (end_ - at_ >= 8) {
      // Takes as many whole bytes as there is room for.
      std::uint64_t word = 0;
      std::memcpy(&word, at_, sizeof word);
      const auto bytes = (63 - filled_) / 8;
      pending_ |= (word & ((std::uint64_t{1} << (bytes * 8)) - 1)) << filled_;
      at_ += bytes;
      filled_ += bytes * 8;
      return true;
    }
    while (filled_ < bits) {
      if (at_ == end_) return ok_ = false;
      pending_ |= std::uint64_t{*at_++} << filled_;
      filled_ += 8;
    }
    return true;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  std::uint64_t pending_ = 0;
  unsigned filled_ = 0;
  bool ok_ = true;
};

// --- blocks of 128 small numbers: most are packed in few bits, the rest are patched in ---

inline constexpr std::size_t kBlock = 128;
// Unpacking may read this far past the packed bytes; every file ends with more bytes than that.
inline constexpr std::size_t kSlack = 8;

void put_block(std::string& out, const std::uint32_t* values);
// Fills 128 values; false when the bytes do not hold them. The kSlack bytes after `in` must be
// readable.
bool get_block(ByteReader& in, std::uint32_t* values);

// --- columns: any number of 64-bit values, random access ---

std::string pack_column(const std::vector<std::uint64_t>& values);

class Column {
 public:
  Column() = default;
  // `bytes` must have kSlack readable bytes behind them.
  Column(std::string_view bytes, std::size_t count) : bytes_(bytes), count_(count) {}

  // Returns 0 where the bytes make no sense.
  std::uint64_t at(std::size_t i) const {
    const auto frame = i / kBlock;
    if (i >= count_ || (frame + 1) * kFrameBytes > bytes_.size()) return 0;
    const char* head = bytes_.data() + frame * kFrameBytes;
    std::uint64_t base = 0;
    std::uint32_t offset = 0;
    std::memcpy(&base, head, sizeof base);
    std::memcpy(&offset, head + 8, sizeof offset);
    const auto bits = static_cast<std::uint8_t>(head[12]);
    if (bits == 0) return base;
    const auto bit = (i % kBlock) * bits;
    const auto byte = std::size_t{offset} + bit / 8;
    if (byte >= bytes_.size() || bits > 64) return 0;
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + byte, sizeof value);
    if (bits == 64) return base + value;
    return base + ((value >> (bit % 8)) & ((std::uint64_t{1} << bits) - 1));
  }

  static constexpr std::size_t kFrameBytes = 16;

 private:
  std::string_view bytes_;
  std::size_t count_ = 0;
};

}  // namespace reef::search
