// Makes one segment out of others: out of the memory segment for a flush, out of several files for
// a merge. Runs in steps on any thread, over sources that nobody changes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "search/memory_segment.h"
#include "search/segment.h"

namespace reef::search {

// The documents of a segment that are deleted.
struct Tombstones {
  std::vector<std::uint64_t> bits;  // empty when none is deleted
  std::uint32_t count = 0;

  bool has(std::uint32_t document) const {
    const auto word = document / 64;
    return word < bits.size() && (bits[word] >> (document % 64) & 1) != 0;
  }
  // Returns false when the document was deleted already.
  bool add(std::uint32_t document);
};

// Exactly one of the two is set.
struct Source {
  std::shared_ptr<const MemorySegment> memory;
  std::shared_ptr<const Segment> file;

  std::uint32_t size() const { return memory ? memory->size() : file->size(); }
  DocumentRow row(std::uint32_t document) const {
    return memory ? memory->row(document) : file->row(document);
  }
  std::uint32_t group(std::uint32_t document) const {
    return memory ? memory->row(document).group : file->group(document);
  }
  Lengths lengths() const { return memory ? memory->lengths() : file->lengths(); }
};

class Build {
 public:
  static constexpr std::uint32_t kGone = UINT32_MAX;

  struct Input {
    Source source;
    Tombstones deleted;  // as they were when the work was planned
  };

  Build(Files& files, std::string path, std::vector<Input> inputs, std::vector<float> weights);
  ~Build();

  // Handles about `postings` postings; true when the segment is written and durable. After an error
  // the build is over and its file is removed.
  Result<bool> step(std::size_t postings);

  const std::string& path() const { return path_; }
  std::span<const Input> inputs() const { return inputs_; }
  // Returns the new number of an input's document, or kGone.
  std::uint32_t renumbered(std::size_t input, std::uint32_t document) const {
    return renumbered_[input][document];
  }
  // 0 when nothing was left to write; then there is no file.
  std::uint32_t documents() const { return documents_; }
  std::uint64_t bytes() const { return bytes_; }  // of the finished file
  // Opens the finished file.
  Result<std::shared_ptr<const Segment>> open() const;
  // The groups of the new segment, ascending.
  const std::vector<std::uint32_t>& groups() const { return groups_; }

 private:
  class Terms;
  struct Item {
    std::uint32_t document = 0;
    std::uint32_t payload = 0;
    std::span<const std::uint32_t> positions;
  };

  Status start();
  Status add_next_term(std::size_t& work);

  Files& files_;
  std::string path_;
  std::vector<Input> inputs_;
  std::vector<float> weights_;
  std::vector<std::vector<std::uint32_t>> renumbered_;
  std::vector<std::uint32_t> groups_;
  std::uint32_t documents_ = 0;
  bool unchanged_ = false;  // one input, whose documents keep their numbers
  std::uint64_t bytes_ = 0;
  std::optional<SegmentWriter> writer_;
  std::vector<Terms> terms_;
  std::vector<Postings> read_;
  std::vector<Item> items_;
  Postings merged_;
  Stemmer stemmer_;
};

}  // namespace reef::search
