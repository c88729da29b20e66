#include "search/manifest.h"

#include <bit>

#include "search/packing.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace reef::search {
namespace {

constexpr std::string_view kMagic = "reefman5";

void put_ascending(std::string& out, const std::vector<std::uint32_t>& values) {
  put_varint(out, values.size());
  std::uint32_t before = 0;
  for (const auto value : values) {
    put_varint(out, value - before);
    before = value;
  }
}

bool get_ascending(ByteReader& in, std::vector<std::uint32_t>& out) {
  const auto count = in.varint();
  if (count > in.left()) return false;  // each entry takes at least a byte
  out.reserve(count);
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    at += in.varint32();
    if (at > UINT32_MAX || (i > 0 && at == out.back())) return false;
    out.push_back(static_cast<std::uint32_t>(at));
  }
  return in.ok();
}

}  // namespace

std::string write_manifest(const Manifest& manifest) {
  std::string out(kMagic);
  put_varint(out, manifest.next_segment);
  put_varint(out, manifest.next_group);
  put_varint(out, manifest.segments.size());
  for (const auto& segment : manifest.segments) {
    put_varint(out, segment.number);
    put_varint(out, segment.bytes);
    put_varint(out, segment.documents);
    std::vector<std::uint32_t> deleted;
    deleted.reserve(segment.deleted.count);
    for (std::size_t word = 0; word < segment.deleted.bits.size(); ++word)
      for (auto bits = segment.deleted.bits[word]; bits != 0; bits &= bits - 1)
        deleted.push_back(static_cast<std::uint32_t>(word * 64) +
                          static_cast<std::uint32_t>(std::countr_zero(bits)));
    put_ascending(out, deleted);
    put_ascending(out, segment.groups);
  }
  put_varint(out, manifest.groups.size());
  for (const auto& group : manifest.groups) {
    put_varint(out, group.number);
    put_varint(out, group.covered);
    put_varint(out, group.name.size());
    out += group.name;
  }
  put_fixed(out, XXH3_64bits(out.data(), out.size()));
  return out;
}

Result<Manifest> read_manifest(std::string_view bytes) {
  const Error damaged(Errc::corrupt, "the index's manifest is damaged");
  if (bytes.size() < kMagic.size() + 8) return damaged;
  if (!bytes.starts_with(kMagic))
    return Error(Errc::unsupported, "the index's manifest is not of this version");
  const auto body = bytes.substr(0, bytes.size() - 8);
  if (ByteReader(bytes.substr(body.size())).fixed<std::uint64_t>() !=
      XXH3_64bits(body.data(), body.size()))
    return damaged;
  ByteReader in(body.substr(kMagic.size()));
  Manifest out;
  out.next_segment = in.varint();
  out.next_group = in.varint32();
  const auto segments = in.varint();
  for (std::uint64_t i = 0; i < segments && in.ok(); ++i) {
    auto& segment = out.segments.emplace_back();
    segment.number = in.varint();
    segment.bytes = in.varint();
    segment.documents = in.varint32();
    std::vector<std::uint32_t> deleted;
    if (!get_ascending(in, deleted) || !get_ascending(in, segment.groups)) return damaged;
    for (const auto document : deleted) {
      if (document >= segment.documents) return damaged;
      segment.deleted.add(document);
    }
  }
  const auto groups = in.varint();
  for (std::uint64_t i = 0; i < groups && in.ok(); ++i) {
    auto& group = out.groups.emplace_back();
    group.number = in.varint32();
    group.covered = in.varint();
    group.name = in.take(in.varint());
    if (group.number >= out.next_group) return damaged;
  }
  if (!in.ok() || in.left() != 0) return damaged;
  return out;
}

}  // namespace reef::search
