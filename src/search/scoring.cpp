#include "search/scoring.h"

#include <algorithm>
#include <bit>

namespace reef::search {

std::uint32_t encode_counts(std::span<const std::uint32_t> counts) {
  const auto most = count_max(counts.size());
  if (counts.size() == 1) return std::min(counts[0], most);
  std::uint32_t out = 0;
  unsigned shift = 0;
  for (auto count : counts) {
    count = std::min(count, most);
    do {
      const auto digit = count & 7U;
      count >>= 3;
      out |= (digit | (count != 0 ? 8U : 0U)) << shift;
      shift += 4;
    } while (count != 0);
  }
  return out;
}

void decode_counts(std::uint32_t payload, std::span<std::uint32_t> counts) {
  if (counts.size() == 1) {
    counts[0] = payload;
    return;
  }
  for (auto& count : counts) {
    count = 0;
    for (unsigned shift = 0;; shift += 3) {
      const auto digit = payload & 15U;
      payload >>= 4;
      count |= (digit & 7U) << shift;
      if ((digit & 8U) == 0) break;
    }
  }
}

Lengths::Of Lengths::of(std::uint32_t document) const {
  Of out;
  const auto length = documents[document];
  if ((length & kManyFields) == 0) {
    out.fields = 1;
    out.field[0] = static_cast<std::uint8_t>((length >> 16) % kFieldsMax);
    out.words[0] = length & 0xFFFF;
    return out;
  }
  std::size_t at = length & ~kManyFields;
  if (at >= table.size()) return out;
  auto mask = table[at++];
  while (mask != 0 && out.fields < kFieldsPerDocumentMax && at < table.size()) {
    out.field[out.fields] =
        static_cast<std::uint8_t>(static_cast<std::size_t>(std::countr_zero(mask)) % kFieldsMax);
    out.words[out.fields++] = table[at++];
    mask &= static_cast<std::uint16_t>(mask - 1);
  }
  return out;
}

FieldScales::FieldScales(std::span<const float> weights, const Statistics& statistics) {
  for (std::size_t f = 0; f < kFieldsMax; ++f) {
    auto& scale = fields_[f];
    scale.gain = (f < weights.size() ? weights[f] : 1) * (kK1 + 1);
    scale.average = statistics.average(f);
    scale.per_word = kK1 * kB / scale.average;
  }
  std::array<float, kFieldsMax> gains{};
  for (std::size_t f = 0; f < kFieldsMax; ++f) gains[f] = fields_[f].gain;
  std::sort(gains.begin(), gains.end(), std::greater<>());
  for (std::size_t f = 0; f < kFieldsPerDocumentMax; ++f) impact_max_ += gains[f];
}

std::uint32_t positions_of(const Lengths& lengths, std::uint32_t document, std::uint32_t payload) {
  if ((lengths.documents[document] & kManyFields) == 0) return payload;
  const auto of = lengths.of(document);
  std::array<std::uint32_t, kFieldsPerDocumentMax> counts{};
  decode_counts(payload, std::span(counts).first(of.fields));
  std::uint32_t sum = 0;
  for (const auto count : counts) sum += count;
  return sum;
}

float FieldScales::impact(const Lengths::Of& of, std::span<const std::uint32_t> counts) const {
  float sum = 0;
  for (std::size_t i = 0; i < of.fields; ++i)
    if (counts[i] > 0)
      sum += one(of.field[i], static_cast<float>(of.words[i]), static_cast<float>(counts[i]));
  return sum;
}

float FieldScales::many(const Lengths& lengths, std::uint32_t document,
                        std::uint32_t payload) const {
  const auto of = lengths.of(document);
  std::array<std::uint32_t, kFieldsPerDocumentMax> counts{};
  decode_counts(payload, std::span(counts).first(of.fields));
  return impact(of, counts);
}

float FieldScales::growth_from(const FieldScales& other) const {
  float growth = 0;
  for (std::size_t f = 0; f < kFieldsMax; ++f)
    growth = std::max(growth, fields_[f].gain / other.fields_[f].gain *
                                  std::max(1.0F, fields_[f].average / other.fields_[f].average));
  return growth;
}

}  // namespace reef::search
