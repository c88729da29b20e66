#include "search/packing.h"

#include <algorithm>
#include <array>
#include <utility>

namespace reef::search {
namespace {

// A frame with more bits than this would need two loads; such values are stored unpacked.
constexpr unsigned kColumnBitsMax = 56;

constexpr std::size_t packed_bytes(std::size_t bits) {
  return kBlock / 8 * bits;
}

void pack_bits(std::string& out, const std::uint64_t* values, std::size_t count, unsigned bits) {
  std::uint64_t pending = 0;
  unsigned filled = 0;
  const auto begin = out.size();
  const auto bytes = (count * bits + 7) / 8;
  out.resize(begin + bytes);
  auto* at = out.data() + begin;
  for (std::size_t i = 0; i < count; ++i) {
    pending |= values[i] << filled;
    filled += bits;
    while (filled >= 8) {
      *at++ = static_cast<char>(pending);
      pending >>= 8;
      filled -= 8;
    }
  }
  if (filled > 0) *at = static_cast<char>(pending);
}

// Eight values are exactly Bits bytes, so every shift below is a constant.
template <unsigned Bits>
void unpack(const std::uint8_t* from, std::uint32_t* values) {
  if constexpr (Bits == 0) {
    std::memset(values, 0, kBlock * sizeof *values);
  } else {
    constexpr auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << Bits) - 1);
    for (std::size_t eight = 0; eight < kBlock / 8; ++eight, from += Bits, values += 8) {
      const auto one = [&](std::size_t i) {
        std::uint64_t word = 0;
        std::memcpy(&word, from + i * Bits / 8, sizeof word);
        values[i] = static_cast<std::uint32_t>(word >> (i * Bits % 8)) & mask;
      };
      one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7);
    }
  }
}

template <std::size_t... Bits>
constexpr auto make_unpackers(std::index_sequence<Bits...>) {
  return std::array<void (*)(const std::uint8_t*, std::uint32_t*), sizeof...(Bits)>{
      unpack<static_cast<unsigned>(Bits)>...};
}
constexpr auto kUnpackers = make_unpackers(std::make_index_sequence<33>{});

}  // namespace

void put_block(std::string& out, const std::uint32_t* values) {
  std::array<std::uint32_t, 33> by_width{};
  for (std::size_t i = 0; i < kBlock; ++i)
    ++by_width[static_cast<unsigned>(std::bit_width(values[i]))];
  // Chooses the width that takes the fewest bytes, patches included.
  unsigned best = 32;
  auto best_bytes = packed_bytes(32);
  std::size_t wider = 0;
  for (unsigned bits = 32; bits-- > 0;) {
    wider += by_width[bits + 1];
    std::size_t patches = 0;
    for (unsigned width = bits + 1; width <= 32; ++width)
      patches += by_width[width] * (1 + (width - bits + 6) / 7);
    if (wider <= 255 && packed_bytes(bits) + patches <= best_bytes) {
      best_bytes = packed_bytes(bits) + patches;
      best = bits;
    }
  }
  const std::uint64_t mask = (std::uint64_t{1} << best) - 1;
  std::array<std::uint64_t, kBlock> low{};
  std::string patches;
  std::size_t patched = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    low[i] = values[i] & mask;
    if (const auto high = std::uint64_t{values[i]} >> best; high != 0) {
      patches.push_back(static_cast<char>(i));
      put_varint(patches, high);
      ++patched;
    }
  }
  out.push_back(static_cast<char>(best));
  out.push_back(static_cast<char>(patched));
  pack_bits(out, low.data(), kBlock, best);
  out += patches;
}

bool get_block(ByteReader& in, std::uint32_t* values) {
  const auto bits = in.fixed<std::uint8_t>();
  const auto patched = in.fixed<std::uint8_t>();
  if (!in.ok() || bits > 32) return false;
  const auto* packed = in.at();
  in.skip(packed_bytes(bits));
  if (!in.ok()) return false;
  kUnpackers[bits](packed, values);
  for (unsigned i = 0; i < patched; ++i) {
    const auto place = in.fixed<std::uint8_t>();
    const auto high = in.varint();
    if (place >= kBlock || !in.ok()) return false;
    values[place] |= static_cast<std::uint32_t>(high << bits);
  }
  return true;
}

std::string pack_column(const std::vector<std::uint64_t>& values) {
  const auto frames = (values.size() + kBlock - 1) / kBlock;
  std::string out;
  std::string data;
  std::array<std::uint64_t, kBlock> rest{};
  for (std::size_t frame = 0; frame < frames; ++frame) {
    const auto* from = values.data() + frame * kBlock;
    const auto count = std::min(kBlock, values.size() - frame * kBlock);
    const auto [low, high] = std::minmax_element(from, from + count);
    const auto base = *low;
    auto bits = static_cast<unsigned>(std::bit_width(*high - base));
    if (bits > kColumnBitsMax) bits = 64;
    put_fixed(out, base);
    put_fixed(out, static_cast<std::uint32_t>(frames * Column::kFrameBytes + data.size()));
    put_fixed(out, std::uint32_t{bits});
    for (std::size_t i = 0; i < count; ++i) rest[i] = from[i] - base;
    if (bits == 64)
      data.append(reinterpret_cast<const char*>(rest.data()), count * sizeof(std::uint64_t));
    else if (bits > 0)
      pack_bits(data, rest.data(), count, bits);
  }
  return out + data;
}

}  // namespace reef::search
