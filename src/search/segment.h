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

// The place of a term's postings, and the largest impact among them.
struct TermEntry {
  std::uint32_t df = 0;
  float impact = 0;            // with the averages at the time the segment was written
  std::string_view documents;  // BlockInfo per block when there are 128 or more, then the blocks
  std::string_view positions;  // empty where has_positions() is false
};

// A block of 128 postings, or the rest of a list that has fewer.
struct BlockInfo {
  std::uint32_t last = 0;       // the last document
  std::uint32_t offset = 0;     // in the bytes behind the block infos
  std::uint32_t positions = 0;  // in the term's positions
  std::uint16_t impact = 0;     // in steps of kImpactStep, rounded up
  std::uint16_t reserved = 0;
};
static_assert(sizeof(BlockInfo) == 16);
inline constexpr float kImpactStep = 1.0F / 512;

class Segment {
 public:
  // Fails with corrupt when the file makes no sense.
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
  // Returns [first, second): documents are in the order of groups, then keys.
  std::pair<std::uint32_t, std::uint32_t> of_group(std::uint32_t group) const;
  // Returns the first document of [begin, end), all of one group, whose key is not less than `key`.
  std::uint32_t lower_bound(std::uint32_t begin, std::uint32_t end, std::uint64_t key) const;

  const Lengths& lengths() const { return lengths_; }
  const Statistics& statistics() const { return statistics_; }
  // The scales that the impacts were computed with.
  const FieldScales& scales() const { return scales_; }
  const CheckedFile& file() const { return *file_; }

  std::optional<TermEntry> find(std::string_view term) const;
  // Reads a term's entry in the vocabulary; nullopt when it is damaged or makes no sense.
  std::optional<TermEntry> entry(const Dictionary::Entry& place) const;
  const Dictionary& vocabulary() const { return vocabulary_; }
  // Returns the numbers, in the vocabulary, of the terms with this stem.
  std::vector<std::uint32_t> with_stem(std::string_view stem) const;

  // Reads the whole list; when it cannot, returns false and marks the file damaged.
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

// Reads one block of a list. Returns false unless the documents ascend and are below `size`.
struct BlockReader {
  static bool full(std::string_view bytes, std::uint32_t before, std::uint32_t size,
                   std::uint32_t* documents, std::uint32_t* payloads);
  static bool rest(std::string_view bytes, std::uint32_t before, std::uint32_t size,
                   std::uint32_t count, std::uint32_t* documents, std::uint32_t* payloads);
};

// Encodes the positions of one document's posting: a single one as a number below the document's
// span, several as gaps in Rice code. `count` and `span` follow from the document's lengths.
std::uint32_t span_of(const Lengths& lengths, std::uint32_t document);
void put_positions(BitWriter& out, std::uint32_t span, std::span<const std::uint32_t> positions);
// Appends to `out`.
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
  // Returns the length of the file.
  Result<std::uint64_t> finish();

 private:
  explicit SegmentWriter(CheckedFileWriter file) : file_(std::move(file)) {}
  Status section(std::string_view bytes);

  CheckedFileWriter file_;
  std::vector<std::uint64_t> sections_;  // offset and size of each section
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
