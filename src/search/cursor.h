// Walks the postings of one term in one segment, forward only, a block at a time. Used by one
// search only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "search/build.h"

namespace reef::search {

class Cursor {
 public:
  static constexpr std::uint32_t kEnd = UINT32_MAX;

  // `growth` is how many times larger impacts can be now than when the segment was written.
  Cursor(const Segment& segment, const TermEntry& entry, float growth);
  // `impact_max` is a bound on every impact.
  Cursor(const MemorySegment& segment, std::uint32_t term, float impact_max, bool with_positions);

  // Moves to the first posting at or after `target`; returns kEnd when there is none.
  std::uint32_t seek(std::uint32_t target) {
    if (at_ < count_ && documents_[count_ - 1] >= target) [[likely]] {
      while (documents_[at_] < target) ++at_;
      return documents_[at_];
    }
    return seek_block(target);
  }
  // The payload of the current posting.
  std::uint32_t payload() const { return payloads_[at_]; }
  // Gets the positions of the current posting, ascending. False when the bytes are damaged.
  bool positions(std::vector<std::uint32_t>& out) const;

  std::uint32_t df() const { return entry_.df; }
  // The largest impact of any posting.
  float bound() const { return bound_; }
  // The largest impact of any posting in [from, to); `from` must never go back.
  float bound(std::uint32_t from, std::uint32_t to);
  // A lower bound, known without reading, on the next posting's document.
  std::uint32_t next_at_least() const {
    if (at_ < count_) return documents_[at_];
    return done_ ? kEnd : 0;
  }

  // Calls f(documents, payloads, count) for all postings in [from, to), piece by piece.
  template <class F>
  void visit(std::uint32_t from, std::uint32_t to, F&& f) {
    for (auto document = seek(from); document < to;) {
      auto end = count_;
      if (documents_[count_ - 1] >= to)
        end = static_cast<std::uint32_t>(
            std::lower_bound(documents_.begin() + at_, documents_.begin() + count_, to) -
            documents_.begin());
      f(documents_.data() + at_, payloads_.data() + at_, end - at_);
      at_ = end;
      if (at_ < count_) return;
      document = seek_block(documents_[count_ - 1] + 1);
    }
  }

 private:
  std::uint32_t seek_block(std::uint32_t target);
  bool load(std::uint32_t block);
  bool load_next_of_memory();
  std::uint32_t finish() {
    at_ = count_ = 0;
    done_ = true;
    return kEnd;
  }
  BlockInfo info(std::uint32_t block) const;

  const Segment* file_ = nullptr;
  TermEntry entry_;
  std::uint32_t blocks_ = 0;
  float growth_ = 1;
  float bound_ = 0;
  std::uint32_t next_block_ = 0;   // the block to load next
  std::uint32_t bound_block_ = 0;  // the block that the last call of bound() began in

  const MemorySegment* memory_ = nullptr;
  MemorySegment::Reader reader_;
  bool with_positions_ = false;
  std::vector<std::uint32_t> memory_positions_;
  std::vector<std::uint32_t> memory_position_ends_;

  bool done_ = false;
  std::uint32_t at_ = 0;
  std::uint32_t count_ = 0;  // postings in the loaded block
  std::array<std::uint32_t, kBlock> documents_;
  std::array<std::uint32_t, kBlock> payloads_;
};

}  // namespace reef::search
