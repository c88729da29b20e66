#include "search/memory_segment.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <utility>

#include "base/assert.h"
#include "search/packing.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace reef::search {
namespace {

// A piece ends with the offset of the next one.
constexpr std::uint32_t kLinkBytes = 4;
constexpr std::uint32_t kPieceBytesMin = 16;
constexpr std::uint32_t kVarintBytesMax = 5;  // for 32 bits
constexpr std::uint32_t kPieceBytesMax = 4096;
static_assert(kTermBytesMax <= UINT8_MAX);

std::uint32_t hash_of(std::string_view text) {
  return static_cast<std::uint32_t>(XXH3_64bits(text.data(), text.size()));
}

}  // namespace

void Postings::clear() {
  documents.clear();
  payloads.clear();
  position_ends.clear();
  positions.clear();
}

MemorySegment::MemorySegment() : slots_(1024) {}

// Reserved memory costs nothing until it is used. It is accessed in no order, so large pages, where
// the system has them, make the lookups quicker.
void MemorySegment::expect(std::size_t bytes) {
  if (bytes == 0) return;
  const auto in_large_pages = [](auto& memory, std::size_t count) {
    constexpr std::uintptr_t kPage = 2U << 20;
    memory.reserve(count);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const auto end = begin + count * sizeof memory[0];
    const auto first = (begin + kPage - 1) / kPage * kPage;
    const auto last = end / kPage * kPage;
    if (first < last)
      ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // only a hint
  };
  in_large_pages(pool_, bytes);
  in_large_pages(terms_, bytes / sizeof(Term));
  constexpr std::size_t kSlots = 1U << 17;
  if (slots_.size() < kSlots && terms_.empty()) slots_.resize(kSlots);
}

std::size_t MemorySegment::memory_bytes() const {
  return rows_.capacity() * sizeof(DocumentRow) + lengths_.capacity() * 8 + vocabulary_.capacity() +
         terms_.size() * (sizeof(Term) + 4) + slots_.size() * sizeof(Slot) + stems_.size() * 96 +
         pool_.size();
}

std::uint32_t MemorySegment::find(std::string_view text) const {
  const auto hash = hash_of(text);
  const auto mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const auto entry = slots_[slot];
    if (entry.term == 0) return kNoTerm;
    if (entry.hash == hash && this->text(entry.term - 1) == text) return entry.term - 1;
  }
}

// A vocabulary is larger than any cache, so the slots for all words of a text are prefetched
// together.
void MemorySegment::hash_tokens(const Tokenizer& tokenizer, std::span<const Token> tokens) {
  hashes_.resize(tokens.size());
  const auto mask = slots_.size() - 1;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    hashes_[i] = hash_of(tokenizer.term(tokens[i]));
    __builtin_prefetch(&slots_[hashes_[i] & mask]);
  }
  for (const auto hash : hashes_)
    if (const auto entry = slots_[hash & mask]; entry.term != 0)
      __builtin_prefetch(&terms_[entry.term - 1], 1);
}

std::uint32_t MemorySegment::find_or_add(std::string_view text, std::uint32_t hash) {
  const auto mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (;; slot = (slot + 1) & mask) {
    const auto entry = slots_[slot];
    if (entry.term == 0) break;
    if (entry.hash == hash && this->text(entry.term - 1) == text) return entry.term - 1;
  }
  const auto id = static_cast<std::uint32_t>(terms_.size());
  slots_[slot] = {hash, id + 1};
  auto& term = terms_.emplace_back();
  term.size = static_cast<std::uint8_t>(text.size());
  term.positions = has_positions(text);
  if (text.size() <= sizeof term.near) {
    std::memcpy(term.near, text.data(), text.size());
  } else {
    term.far = static_cast<std::uint32_t>(vocabulary_.size());
    vocabulary_.append(text);
  }
  if (terms_.size() * 2 > slots_.size()) grow_slots();
  return id;
}

void MemorySegment::grow_slots() {
  std::vector<Slot> larger(slots_.size() * 2);
  const auto mask = larger.size() - 1;
  for (const auto& entry : slots_) {
    if (entry.term == 0) continue;
    std::size_t slot = entry.hash & mask;
    while (larger[slot].term != 0) slot = (slot + 1) & mask;
    larger[slot] = entry;
  }
  slots_ = std::move(larger);
}

void MemorySegment::freeze() {
  sorted_ = sort_terms();
  frozen_ = true;
}

std::span<const std::uint32_t> MemorySegment::with_stem(std::string_view stem,
                                                        Stemmer& stemmer) const {
  if (frozen_) {
    // This segment will soon be gone, so stemming its whole vocabulary does not pay.
    same_stem_.clear();
    for (const auto& beginning : beginnings_of(stem)) {
      auto at = std::lower_bound(
          sorted_.begin(), sorted_.end(), beginning,
          [this](std::uint32_t id, std::string_view wanted) { return text(id) < wanted; });
      for (; at != sorted_.end() && text(*at).starts_with(beginning); ++at)
        if (Stemmer::applies(text(*at)) && stemmer.stem(text(*at)) == stem)
          same_stem_.push_back(*at);
    }
    // Two beginnings may match the same terms.
    std::sort(same_stem_.begin(), same_stem_.end());
    same_stem_.erase(std::unique(same_stem_.begin(), same_stem_.end()), same_stem_.end());
    return same_stem_;
  }
  for (; stemmed_ < terms_.size(); ++stemmed_) {
    const auto id = static_cast<std::uint32_t>(stemmed_);
    if (Stemmer::applies(text(id))) stems_[std::string(stemmer.stem(text(id)))].push_back(id);
  }
  const auto found = stems_.find(std::string(stem));
  if (found == stems_.end()) return {};
  return found->second;
}

const std::vector<std::uint32_t>& MemorySegment::sorted() const {
  const auto known = sorted_.size();
  if (known == terms_.size()) return sorted_;
  const auto before = [this](std::uint32_t a, std::uint32_t b) { return text(a) < text(b); };
  sorted_.resize(terms_.size());
  for (auto id = known; id < sorted_.size(); ++id) sorted_[id] = static_cast<std::uint32_t>(id);
  const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>(known);
  std::sort(middle, sorted_.end(), before);
  std::inplace_merge(sorted_.begin(), middle, sorted_.end(), before);
  return sorted_;
}

// Sorts by the first eight bytes, which nearly always decide.
std::vector<std::uint32_t> MemorySegment::sort_terms() const {
  struct Keyed {
    std::uint64_t front;
    std::uint32_t term;
  };
  std::vector<Keyed> keyed(terms_.size());
  for (std::size_t id = 0; id < keyed.size(); ++id) {
    const auto term = static_cast<std::uint32_t>(id);
    std::uint64_t front = 0;
    const auto bytes = text(term);
    std::memcpy(&front, bytes.data(), std::min(bytes.size(), sizeof front));
    keyed[id] = {__builtin_bswap64(front), term};
  }
  std::sort(keyed.begin(), keyed.end(), [this](const Keyed& a, const Keyed& b) {
    return a.front != b.front ? a.front < b.front : text(a.term) < text(b.term);
  });
  std::vector<std::uint32_t> out;
  out.reserve(keyed.size());
  for (const auto& one : keyed) out.push_back(one.term);
  return out;
}

std::span<const std::uint32_t> MemorySegment::of_group(std::uint32_t group) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return {};
  return found->second;
}

std::uint32_t MemorySegment::add(const DocumentRow& row, std::span<const FieldText> fields,
                                 Tokenizer& tokenizer) {
  REEF_ASSERT(!frozen_ && !fields.empty() && fields.size() <= kFieldsPerDocumentMax);
  const auto document = size();
  std::array<const FieldText*, kFieldsPerDocumentMax> order{};
  for (std::size_t i = 0; i < fields.size(); ++i) order[i] = &fields[i];
  std::sort(order.begin(), order.begin() + fields.size(),
            [](const auto* a, const auto* b) { return a->field < b->field; });

  occurrences_.clear();
  touched_.clear();
  std::array<std::uint32_t, kFieldsPerDocumentMax> words{};
  std::array<std::uint32_t, kFieldsPerDocumentMax> begins{};  // position of each field's first word
  std::uint32_t base = 0;
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    REEF_ASSERT(order[i]->field < kFieldsMax && (mask >> order[i]->field) == 0);
    mask |= 1U << order[i]->field;
    begins[i] = base;
    // Words beyond the limit are still found; they get the position of the last counted word.
    for (auto text = order[i]->text; !text.empty(); text.remove_prefix(tokenizer.stopped())) {
      const auto& tokens = tokenizer.tokenize(text);
      hash_tokens(tokenizer, tokens);
      for (std::size_t t = 0; t < tokens.size(); ++t) {
        const auto id = find_or_add(tokenizer.term(tokens[t]), hashes_[t]);
        const auto position = std::min(words[i] + tokens[t].position, kWordsMax - 1);
        occurrences_.push_back({id, base + position});
        if (terms_[id].pending++ == 0) touched_.push_back(id);
      }
      words[i] = std::min(words[i] + tokenizer.words(), kWordsMax);
    }
    base += words[i] + kFieldGap;
    statistics_.with_field[order[i]->field] += 1;
    statistics_.words[order[i]->field] += words[i];
  }
  statistics_.documents += 1;

  // Groups the occurrences by term, positions in order.
  positions_.resize(occurrences_.size());
  starts_.resize(touched_.size());
  std::uint32_t start = 0;
  for (std::size_t n = 0; n < touched_.size(); ++n) {
    auto& term = terms_[touched_[n]];
    starts_[n] = start;
    start += std::exchange(term.pending, start);
  }
  for (const auto& occurrence : occurrences_)
    positions_[terms_[occurrence.term].pending++] = occurrence.position;

  std::array<std::uint32_t, kFieldsPerDocumentMax> counts{};
  for (std::size_t n = 0; n < touched_.size(); ++n) {
    auto& term = terms_[touched_[n]];
    const auto end = std::exchange(term.pending, 0);
    auto* first = positions_.data() + starts_[n];
    const auto total = end - starts_[n];
    if (fields.size() == 1) {
      counts[0] = std::min(total, kCountMax);
      write_posting(document, term, counts[0], {first, counts[0]});
      continue;
    }
    // Later positions of a field are dropped when there are more than can be counted.
    const auto most = count_max(fields.size());
    counts.fill(0);
    std::size_t field = 0;
    std::uint32_t kept = 0;
    for (std::uint32_t p = 0; p < total; ++p) {
      while (field + 1 < fields.size() && first[p] >= begins[field + 1]) ++field;
      if (counts[field] == most) continue;
      ++counts[field];
      first[kept++] = first[p];
    }
    write_posting(document, term, encode_counts(std::span(counts).first(fields.size())),
                  {first, kept});
  }

  rows_.push_back(row);
  groups_[row.group].push_back(document);
  if (fields.size() == 1) {
    lengths_.push_back((std::uint32_t{order[0]->field} << 16) | words[0]);
  } else {
    lengths_.push_back(kManyFields | static_cast<std::uint32_t>(table_.size()));
    table_.push_back(static_cast<std::uint16_t>(mask));
    for (std::size_t i = 0; i < fields.size(); ++i)
      table_.push_back(static_cast<std::uint16_t>(words[i]));
  }
  return document;
}

void MemorySegment::write_posting(std::uint32_t document, Term& term, std::uint32_t payload,
                                  std::span<const std::uint32_t> positions) {
  const auto count = term.positions ? positions.size() : 0;
  if (posting_.size() < (count + 2) * kVarintBytesMax)
    posting_.resize((count + 2) * kVarintBytesMax);
  auto* at = posting_.data();
  const auto put = [&at](std::uint32_t value) {
    for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
    *at++ = static_cast<char>(value);
  };
  put(term.df == 0 ? document : document - term.last_document - 1);
  put(payload);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    put(positions[i] - before);
    before = positions[i];
  }
  append(term, {posting_.data(), static_cast<std::size_t>(at - posting_.data())});
  term.last_document = document;
  ++term.df;
}

std::uint32_t MemorySegment::new_piece(std::uint32_t bytes) {
  REEF_ASSERT(pool_.size() + bytes < UINT32_MAX);
  const auto at = static_cast<std::uint32_t>(pool_.size());
  pool_.resize(pool_.size() + bytes);
  return at;
}

void MemorySegment::append(Term& term, std::string_view bytes) {
  while (!bytes.empty()) {
    if (term.at == term.end) {
      const auto size =
          term.piece == 0 ? kPieceBytesMin : std::min(term.piece * 2U, kPieceBytesMax);
      const auto at = new_piece(size);
      if (term.piece == 0)
        term.first = at;
      else
        std::memcpy(pool_.data() + term.end, &at, kLinkBytes);
      term.at = at;
      term.end = at + size - kLinkBytes;
      term.piece = static_cast<std::uint16_t>(size);
    }
    const auto part = std::min<std::size_t>(bytes.size(), term.end - term.at);
    // Not memcpy: these are only a few bytes.
    auto* to = pool_.data() + term.at;
    for (std::size_t i = 0; i < part; ++i) to[i] = static_cast<std::uint8_t>(bytes[i]);
    term.at += static_cast<std::uint32_t>(part);
    bytes.remove_prefix(part);
  }
}

void MemorySegment::read(std::uint32_t id, Postings& out,
                         std::vector<std::uint8_t>& scratch) const {
  const auto& term = terms_[id];
  // Joins the pieces first, so that decoding need not look for their ends.
  scratch.clear();
  std::uint32_t size = kPieceBytesMin;
  for (auto at = term.first;;) {
    const auto end = at + size - kLinkBytes;
    const bool last = end == term.end;
    scratch.insert(scratch.end(), pool_.data() + at, pool_.data() + (last ? term.at : end));
    if (last) break;
    std::memcpy(&at, pool_.data() + end, kLinkBytes);
    size = std::min(size * 2, kPieceBytesMax);
  }
  const auto* from = scratch.data();
  const auto varint = [&from] {
    std::uint32_t value = *from++;
    if (value < 0x80) return value;
    value &= 0x7F;
    for (unsigned shift = 7;; shift += 7) {
      const std::uint32_t next = *from++;
      value |= (next & 0x7F) << shift;
      if (next < 0x80) return value;
    }
  };
  out.documents.resize(term.df);
  out.payloads.resize(term.df);
  out.position_ends.resize(term.df);
  out.positions.resize(scratch.size());  // each takes at least a byte
  auto* position = out.positions.data();
  std::uint32_t document = UINT32_MAX;
  for (std::uint32_t n = 0; n < term.df; ++n) {
    document += varint() + 1;
    const auto payload = varint();
    out.documents[n] = document;
    out.payloads[n] = payload;
    std::uint32_t place = 0;
    for (auto left = term.positions ? positions_of(lengths(), document, payload) : 0; left > 0;
         --left)
      *position++ = place += varint();
    out.position_ends[n] = static_cast<std::uint32_t>(position - out.positions.data());
  }
  out.positions.resize(static_cast<std::size_t>(position - out.positions.data()));
}

MemorySegment::Reader::Reader(const MemorySegment& segment, std::uint32_t term)
    : segment_(&segment) {
  const auto& entry = segment.terms_[term];
  has_positions_ = entry.positions;
  left_ = entry.df;
  at_ = entry.first;
  piece_ = kPieceBytesMin;
  end_ = at_ + piece_ - kLinkBytes;
}

std::uint8_t MemorySegment::Reader::byte() {
  if (at_ == end_) {
    std::uint32_t next = 0;
    std::memcpy(&next, segment_->pool_.data() + end_, kLinkBytes);
    piece_ = std::min(piece_ * 2, kPieceBytesMax);
    at_ = next;
    end_ = at_ + piece_ - kLinkBytes;
  }
  return segment_->pool_[at_++];
}

std::uint32_t MemorySegment::Reader::varint() {
  std::uint32_t value = 0;
  if (end_ - at_ >= kVarintBytesMax) {
    const auto* from = segment_->pool_.data() + at_;
    for (unsigned shift = 0;; shift += 7) {
      const auto next = *from++;
      value |= static_cast<std::uint32_t>(next & 0x7F) << shift;
      if (next < 0x80) break;
    }
    at_ = static_cast<std::uint32_t>(from - segment_->pool_.data());
    return value;
  }
  for (unsigned shift = 0;; shift += 7) {
    const auto next = byte();
    value |= static_cast<std::uint32_t>(next & 0x7F) << shift;
    if (next < 0x80) return value;
  }
}

bool MemorySegment::Reader::next() {
  for (; positions_ > 0; --positions_) static_cast<void>(varint());
  if (left_ == 0) return false;
  --left_;
  document_ += varint() + 1;  // starts at the largest number, so that the first one wraps to 0
  payload_ = varint();
  if (has_positions_) positions_ = positions_of(segment_->lengths(), document_, payload_);
  return true;
}

void MemorySegment::Reader::take_positions(std::vector<std::uint32_t>& out) {
  std::uint32_t position = 0;
  for (; positions_ > 0; --positions_) out.push_back(position += varint());
}

}  // namespace reef::search
