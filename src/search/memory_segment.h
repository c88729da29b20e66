// Holds the newest documents, searchable at once, until they are written to a file. It has one
// owner and is used by one thread at a time; once frozen it does not change and any thread may read
// it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "search/scoring.h"
#include "search/stemmer.h"
#include "search/tokenizer.h"

namespace reef::search {

// The attributes of a document besides its words.
struct DocumentRow {
  std::uint32_t group = 0;
  std::uint64_t key = 0;
  std::int64_t time_ms = 0;
  std::uint32_t facets = 0;
};

struct FieldText {
  std::uint8_t field = 0;
  std::string_view text;
};

// Keeps phrases from reaching from one field of a document into the next.
inline constexpr std::uint32_t kFieldGap = 64;

struct Postings {
  std::vector<std::uint32_t> documents;
  std::vector<std::uint32_t> payloads;
  std::vector<std::uint32_t> position_ends;  // in `positions`, per document
  std::vector<std::uint32_t> positions;      // ascending in each document

  void clear();
};

class MemorySegment {
 public:
  static constexpr std::uint32_t kNoTerm = UINT32_MAX;

  // One cache line, because every word of every text touches its term.
  struct alignas(64) Term {
    std::uint32_t df = 0;
    std::uint32_t last_document = 0;
    std::uint32_t first = 0;    // chain of postings: where it starts,
    std::uint32_t at = 0;       // where the next byte goes,
    std::uint32_t end = 0;      // and where the current piece ends
    std::uint32_t pending = 0;  // occurrences in the document being added
    std::uint16_t piece = 0;    // bytes of the current piece
    std::uint8_t size = 0;      // of the text
    bool positions = true;
    std::uint32_t far = 0;  // place of a text too long for the term, in the vocabulary's bytes
    char near[32] = {};
  };
  static_assert(sizeof(Term) == 64);

  // Reads a chain of postings from its start.
  class Reader {
   public:
    Reader() = default;
    Reader(const MemorySegment& segment, std::uint32_t term);
    // Returns false at the end.
    bool next();
    std::uint32_t document() const { return document_; }
    std::uint32_t payload() const { return payload_; }
    // Appends the positions of the current posting to `out`. Call it once per posting.
    void take_positions(std::vector<std::uint32_t>& out);

   private:
    std::uint8_t byte();
    std::uint32_t varint();

    const MemorySegment* segment_ = nullptr;
    bool has_positions_ = true;
    std::uint32_t left_ = 0;  // postings left
    std::uint32_t at_ = 0;
    std::uint32_t end_ = 0;
    std::uint32_t piece_ = 0;
    std::uint32_t document_ = UINT32_MAX;
    std::uint32_t payload_ = 0;
    std::uint32_t positions_ = 0;  // positions not yet passed
  };

  MemorySegment();

  // Reserves room for about this many bytes, so that growing moves nothing.
  void expect(std::size_t bytes);
  // At most one text per field and kFieldsPerDocumentMax texts. Returns the document's number.
  std::uint32_t add(const DocumentRow& row, std::span<const FieldText> fields,
                    Tokenizer& tokenizer);

  std::uint32_t size() const { return static_cast<std::uint32_t>(rows_.size()); }
  const DocumentRow& row(std::uint32_t document) const { return rows_[document]; }
  Lengths lengths() const { return {lengths_, table_}; }
  const Statistics& statistics() const { return statistics_; }
  std::size_t memory_bytes() const;
  bool frozen() const { return frozen_; }

  std::size_t term_count() const { return terms_.size(); }
  std::string_view text(std::uint32_t term) const {
    const auto& entry = terms_[term];
    return {entry.size <= sizeof entry.near ? entry.near : vocabulary_.data() + entry.far,
            entry.size};
  }
  const Term& term(std::uint32_t term) const { return terms_[term]; }
  // Reads all postings of a term; `scratch` is a buffer.
  void read(std::uint32_t term, Postings& out, std::vector<std::uint8_t>& scratch) const;
  std::uint32_t find(std::string_view text) const;
  // Nothing can be added afterwards. Any thread, before others read the segment.
  void freeze();
  // Returns all terms with this stem, valid until the next call. Only for the owner: stems are
  // computed on demand.
  std::span<const std::uint32_t> with_stem(std::string_view stem, Stemmer& stemmer) const;
  // Both return all terms in byte order. `sorted` keeps the result: only for the owner, or for any
  // thread once frozen. `sort_terms` is for any thread.
  const std::vector<std::uint32_t>& sorted() const;
  std::vector<std::uint32_t> sort_terms() const;

  // Returns the documents of a group in the order they were added.
  std::span<const std::uint32_t> of_group(std::uint32_t group) const;

 private:
  struct Occurrence {
    std::uint32_t term;
    std::uint32_t position;
  };

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t term = 0;  // number of the term plus 1; 0 when the slot is free
  };

  std::uint32_t find_or_add(std::string_view text, std::uint32_t hash);
  void hash_tokens(const Tokenizer& tokenizer, std::span<const Token> tokens);
  void grow_slots();
  void write_posting(std::uint32_t document, Term& term, std::uint32_t payload,
                     std::span<const std::uint32_t> positions);
  void append(Term& term, std::string_view bytes);
  std::uint32_t new_piece(std::uint32_t bytes);

  std::vector<DocumentRow> rows_;
  std::vector<std::uint32_t> lengths_;
  std::vector<std::uint16_t> table_;
  Statistics statistics_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> groups_;

  std::string vocabulary_;
  std::vector<Term> terms_;
  std::vector<Slot> slots_;  // open addressing
  mutable std::unordered_map<std::string, std::vector<std::uint32_t>> stems_;
  mutable std::size_t stemmed_ = 0;  // terms in stems_ so far
  mutable std::vector<std::uint32_t> same_stem_;
  bool frozen_ = false;
  mutable std::vector<std::uint32_t> sorted_;

  std::vector<std::uint8_t> pool_;  // the pieces of all chains

  // Scratch for the document being added.
  std::vector<std::uint32_t> hashes_;
  std::vector<Occurrence> occurrences_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::uint32_t> starts_;
  std::string posting_;
};

}  // namespace reef::search
