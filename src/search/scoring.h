// Defines the score of a document, BM25 summed over fields:
//
//   score(d)    = sum over the query's clauses of score(clause, d)
//   score(c, d) = idf(c) * max over the clause's terms t of weight(t) * impact(t, d)
//   impact(t,d) = sum over fields f of
//                 w_f * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len_f / avg_f))
//   idf(c)      = ln(1 + (N - df + 0.5) / (df + 0.5)),  df = min(N, sum of df of the terms)
//
// len counts words (not the terms derived from them); avg_f is over the documents that have the
// field. N, df and avg cover all documents in the segments, deleted ones until a merge drops them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace reef::search {

inline constexpr float kK1 = 1.2F;
inline constexpr float kB = 0.75F;
inline constexpr std::size_t kFieldsMax = 8;
inline constexpr std::size_t kFieldsPerDocumentMax = 4;

struct Statistics {
  std::uint64_t documents = 0;
  std::array<std::uint64_t, kFieldsMax> with_field{};  // documents that have the field
  std::array<std::uint64_t, kFieldsMax> words{};       // in all documents

  Statistics& operator+=(const Statistics& other) {
    documents += other.documents;
    for (std::size_t f = 0; f < kFieldsMax; ++f) {
      with_field[f] += other.with_field[f];
      words[f] += other.words[f];
    }
    return *this;
  }
  float average(std::size_t field) const {
    if (words[field] == 0) return 1;
    return static_cast<float>(static_cast<double>(words[field]) /
                              static_cast<double>(with_field[field]));
  }
};

inline float idf(std::uint64_t documents, std::uint64_t df) {
  const auto n = static_cast<double>(documents);
  const auto d = std::min(n, static_cast<double>(df));
  return static_cast<float>(std::log1p((n - d + 0.5) / (d + 0.5)));
}

// Encodes a posting's counts in one number. For a document with one field it is the count; with
// several it holds one number per field, in the order of fields, each written three bits and a
// continuation bit at a time.
inline constexpr std::uint32_t kCountMax = 0xFFFF;
inline std::uint32_t count_max(std::size_t fields) {
  if (fields <= 1) return kCountMax;
  return (1U << (3 * (8 / fields))) - 1;
}
std::uint32_t encode_counts(std::span<const std::uint32_t> counts);
void decode_counts(std::uint32_t payload, std::span<std::uint32_t> counts);

// The lengths of documents: one number each; documents with several fields use a side table.
//   field << 16 | words,   or kManyFields | index of {field mask, words...} in the table
inline constexpr std::uint32_t kManyFields = 0x8000'0000;

struct Lengths {
  std::span<const std::uint32_t> documents;
  std::span<const std::uint16_t> table;

  struct Of {
    std::size_t fields = 0;
    std::array<std::uint8_t, kFieldsPerDocumentMax> field{};
    std::array<std::uint32_t, kFieldsPerDocumentMax> words{};
  };
  Of of(std::uint32_t document) const;
};

// Returns how many positions a posting has.
std::uint32_t positions_of(const Lengths& lengths, std::uint32_t document, std::uint32_t payload);

class FieldScales {
 public:
  FieldScales() = default;
  FieldScales(std::span<const float> weights, const Statistics& statistics);

  float impact(const Lengths& lengths, std::uint32_t document, std::uint32_t payload) const {
    const auto length = lengths.documents[document];
    if ((length & kManyFields) == 0) [[likely]]
      return one((length >> 16) % kFieldsMax, static_cast<float>(length & 0xFFFF),
                 static_cast<float>(payload));
    return many(lengths, document, payload);
  }
  float impact(const Lengths::Of& of, std::span<const std::uint32_t> counts) const;

  // The factor by which an impact can have grown at most since it was computed with the averages
  // `other`.
  float growth_from(const FieldScales& other) const;
  float impact_max() const { return impact_max_; }
  bool operator==(const FieldScales&) const = default;
  float weight(std::size_t field) const { return fields_[field].gain / (kK1 + 1); }
  float average(std::size_t field) const { return fields_[field].average; }

  // A document's impacts are gain * count / (count + norm). Not for documents with several fields.
  float gain(std::uint32_t length) const { return fields_[(length >> 16) % kFieldsMax].gain; }
  float norm(std::uint32_t length) const {
    return kK1 * (1 - kB) +
           fields_[(length >> 16) % kFieldsMax].per_word * static_cast<float>(length & 0xFFFF);
  }

 private:
  struct Scale {
    float gain = kK1 + 1;
    float per_word = 0;
    float average = 1;
    bool operator==(const Scale&) const = default;
  };
  float one(std::size_t field, float words, float count) const {
    const auto& scale = fields_[field];
    return scale.gain * count / (count + (kK1 * (1 - kB) + scale.per_word * words));
  }
  float many(const Lengths& lengths, std::uint32_t document, std::uint32_t payload) const;

  std::array<Scale, kFieldsMax> fields_{};
  float impact_max_ = 0;
};

}  // namespace reef::search
