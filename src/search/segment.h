// An immutable segment: documents, vocabulary and postings in one checked file. Any thread may read
// it. docs/search.md describes the bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/checked_file.h"
#include "search/dictionary.h"
#include "search/memory_segment.h"
#include "search/packing.h"
#include "search/scoring.h"

namespace reef::search {

// Where the postings of a term lie, and the most one of them can be worth.
struct TermEntry {
  std::uint32_t df = 0;
  float impact = 0;            // with the averages the segment was written with
  std::string_view documents;  // BlockInfo per block when there are 128 or more, then the blocks
  std::string_view positions;  // none where has_positions() says so
};

// A block of 128 postings, or the rest of a list.
struct BlockInfo {
  std::uint32_t last = 0;       // document
  std::uint32_t offset = 0;     // in the bytes behind the infos
  std::uint32_t positions = 0;  // in the term's positions
  std::uint16_t impact = 0;     // in steps of kImpactStep, rounded up
  std::uint16_t reserved = 0;
};
static_assert(sizeof(BlockInfo) == 16);
inline constexpr float kImpactStep = 1.0F / 512;

class Segment {
 public:
  // corrupt when the file is not what it should be.
  static Result<std::shared_ptr<Segment>> open(std::unique_ptr<CheckedFile> file);

  std::uint32_t size() const { return size_; }
  DocumentRow row(std::uint32_t document) const;
  std::uint32_t group(std::uint32_t document) const {
    return static_cast<std::uint32_t>(groups_.at(document));
  }
  std::uint64_t key(std::uint32_t document) const { return keys_.at(document); }
  std::int64_t time_ms(std::uint32_t document) const {
    return static_cast<std::int64_t>(times_.at(document) ^ kSign);
  }
  // Documents are in the order of groups, then keys: [first, second).
  std::pair<std::uint32_t, std::uint32_t> of_group(std::uint32_t group) const;
  // The first document of [begin, end), all of one group, whose key is not less.
  std::uint32_t lower_bound(std::uint32_t begin, std::uint32_t end, std::uint64_t key) const;

  const Lengths& lengths() const { return lengths_; }
  const Statistics& statistics() const { return statistics_; }
  // What the impacts were computed with.
  const FieldScales& scales() const { return scales_; }
  const CheckedFile& file() const { return *file_; }

  std::optional<TermEntry> find(std::string_view term) const;
  // Reads a term's entry in the vocabulary; nothing when it makes no sense or is damaged.
  std::optional<TermEntry> entry(const Dictionary::Entry& place) const;
  const Dictionary& vocabulary() const { return vocabulary_; }
  // Numbers of the terms with this stem, in the vocabulary.
  std::vector<std::uint32_t> with_stem(std::string_view stem) const;

  // The whole list; false and damaged when it cannot be read.
  bool read(const TermEntry& entry, Postings& out) const;

  static constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

 private:
  Segment() = default;

  std::unique_ptr<CheckedFile> file_;
  std::uint32_t size_ = 0;
  Column groups_;
  Column keys_;
  Column times_;
  Column facets_;
  Lengths lengths_;
  Statistics statistics_;
  FieldScales scales_;
  Dictionary vocabulary_;
  Dictionary stems_;
  std::string_view postings_;
};

// One block of a list. Documents come out ascending and below `size`, or the call gives false.
struct BlockReader {
  static bool full(std::string_view bytes, std::uint32_t before, std::uint32_t size,
                   std::uint32_t* documents, std::uint32_t* payloads);
  static bool rest(std::string_view bytes, std::uint32_t before, std::uint32_t size,
                   std::uint32_t count, std::uint32_t* documents, std::uint32_t* payloads);
};

// The positions of one document's posting: a single one is a number below the document's span,
// several are gaps in Rice code. `count` and `span` follow from the document's lengths.
std::uint32_t span_of(const Lengths& lengths, std::uint32_t document);
void put_positions(BitWriter& out, std::uint32_t span, std::span<const std::uint32_t> positions);
// Behind what is in `out`.
void get_positions(BitReader& in, std::uint32_t span, std::uint32_t count,
                   std::vector<std::uint32_t>& out);

// Writes a segment: documents first, then terms in order.
class SegmentWriter {
 public:
  struct Documents {
    std::vector<DocumentRow> rows;  // in the order of groups, then keys
    std::vector<std::uint32_t> lengths;
    std::vector<std::uint16_t> table;
    Statistics statistics;
  };

  static Result<SegmentWriter> create(Files& files, std::string path, Documents documents,
                                      std::span<const float> weights);
  Status add(std::string_view term, const Postings& postings, Stemmer& stemmer);
  // The length of the file.
  Result<std::uint64_t> finish();

 private:
  explicit SegmentWriter(CheckedFileWriter file) : file_(std::move(file)) {}
  Status section(std::string_view bytes);

  CheckedFileWriter file_;
  std::vector<std::uint64_t> sections_;  // offset and size of each
  std::vector<std::uint32_t> lengths_;
  std::vector<std::uint16_t> table_;
  Statistics statistics_;
  std::vector<float> weights_;
  FieldScales scales_;
  DictionaryWriter vocabulary_;
  std::vector<std::pair<std::string, std::uint32_t>> stems_;  // stem, term
  std::vector<bool> own_stem_;                                // the term is its own stem
  std::uint64_t postings_begin_ = 0;
  std::string buffer_;
  std::string infos_;
  std::string positions_;
  std::string value_;
};

}  // namespace reef::search
