#include "search/cursor.h"

#include <algorithm>

namespace reef::search {

Cursor::Cursor(const Segment& segment, const TermEntry& entry, float growth)
    : file_(&segment), entry_(entry), growth_(growth), bound_(entry.impact * growth) {
  blocks_ = static_cast<std::uint32_t>((entry.df + kBlock - 1) / kBlock);
  if (!segment.file().check(entry.documents)) finish();
}

Cursor::Cursor(const MemorySegment& segment, std::uint32_t term, float impact_max,
               bool with_positions)
    : bound_(impact_max),
      memory_(&segment),
      reader_(segment, term),
      with_positions_(with_positions) {
  entry_.df = segment.term(term).df;
}

BlockInfo Cursor::info(std::uint32_t block) const {
  BlockInfo out;
  std::memcpy(&out, entry_.documents.data() + std::size_t{block} * sizeof out, sizeof out);
  return out;
}

bool Cursor::load(std::uint32_t block) {
  std::uint32_t before = UINT32_MAX;
  auto bytes = entry_.documents;
  const auto count =
      static_cast<std::uint32_t>(std::min<std::size_t>(kBlock, entry_.df - block * kBlock));
  if (entry_.df >= kBlock) {
    if (block > 0) before = info(block - 1).last;
    bytes.remove_prefix(std::size_t{blocks_} * sizeof(BlockInfo));
    bytes.remove_prefix(std::min<std::size_t>(info(block).offset, bytes.size()));
  }
  const bool read = count == kBlock ? BlockReader::full(bytes, before, file_->size(),
                                                        documents_.data(), payloads_.data())
                                    : BlockReader::rest(bytes, before, file_->size(), count,
                                                        documents_.data(), payloads_.data());
  if (!read) {
    file_->file().mark_damaged();
    return false;
  }
  next_block_ = block + 1;
  at_ = 0;
  count_ = count;
  return true;
}

bool Cursor::load_next_of_memory() {
  at_ = count_ = 0;
  memory_positions_.clear();
  memory_position_ends_.clear();
  while (count_ < kBlock && reader_.next()) {
    documents_[count_] = reader_.document();
    payloads_[count_++] = reader_.payload();
    if (!with_positions_) continue;
    reader_.take_positions(memory_positions_);
    memory_position_ends_.push_back(static_cast<std::uint32_t>(memory_positions_.size()));
  }
  return count_ > 0;
}

std::uint32_t Cursor::seek_block(std::uint32_t target) {
  if (done_) return kEnd;
  if (memory_) {
    do {
      if (!load_next_of_memory()) return finish();
    } while (documents_[count_ - 1] < target);
  } else if (entry_.df < kBlock) {
    if (next_block_ > 0 || !load(0) || documents_[count_ - 1] < target) return finish();
  } else {
    auto block = next_block_;
    // The block is probably near; a far one is found by binary search.
    const auto near = std::min(block + 8, blocks_);
    while (block < near && info(block).last < target) ++block;
    if (block == near) {
      auto high = blocks_;
      while (block < high) {
        const auto middle = block + (high - block) / 2;
        if (info(middle).last < target)
          block = middle + 1;
        else
          high = middle;
      }
    }
    if (block >= blocks_ || !load(block)) return finish();
    if (documents_[count_ - 1] < target) {
      file_->file().mark_damaged();  // the block's info does not fit its postings
      return finish();
    }
  }
  const auto* first = documents_.data();
  at_ = static_cast<std::uint32_t>(std::lower_bound(first, first + count_, target) - first);
  return documents_[at_];
}

float Cursor::bound(std::uint32_t from, std::uint32_t to) {
  if (done_) return 0;
  if (at_ < count_ && documents_[at_] >= to) return 0;
  if (memory_ || entry_.df < kBlock) return bound_;
  bound_block_ = std::min(std::max(bound_block_, next_block_ == 0 ? 0 : next_block_ - 1), blocks_);
  while (bound_block_ < blocks_ && info(bound_block_).last < from) ++bound_block_;
  unsigned most = 0;
  for (auto block = bound_block_; block < blocks_; ++block) {
    const auto here = info(block);
    most = std::max<unsigned>(most, here.impact);
    if (here.last >= to - 1) break;
  }
  return static_cast<float>(most) * kImpactStep * growth_;
}

bool Cursor::positions(std::vector<std::uint32_t>& out) const {
  out.clear();
  if (memory_) {
    const auto begin = at_ == 0 ? 0 : memory_position_ends_[at_ - 1];
    out.assign(memory_positions_.begin() + begin,
               memory_positions_.begin() + memory_position_ends_[at_]);
    return true;
  }
  auto bytes = entry_.positions;
  if (!file_->file().check(bytes)) return false;
  if (entry_.df >= kBlock)
    bytes.remove_prefix(std::min<std::size_t>(info(next_block_ - 1).positions, bytes.size()));
  BitReader in(bytes);
  const auto& lengths = file_->lengths();
  for (std::uint32_t i = 0; i <= at_ && in.ok(); ++i) {
    out.clear();
    get_positions(in, span_of(lengths, documents_[i]),
                  positions_of(lengths, documents_[i], payloads_[i]), out);
  }
  if (!in.ok()) file_->file().mark_damaged();
  return in.ok();
}

}  // namespace reef::search
