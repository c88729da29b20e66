#include "search/dictionary.h"

#include <algorithm>

#include "base/assert.h"

namespace reef::search {
namespace {

// The largest number that fits into half of the first byte.
constexpr std::size_t kNibble = 15;
constexpr std::size_t kUsualValueBytes = 3;

}  // namespace

Dictionary::Raw Dictionary::read_entry(ByteReader& in) {
  Raw out{};
  const auto head = in.fixed<std::uint8_t>();
  out.shared = head >> 4;
  std::uint64_t suffix = head & kNibble;
  if (out.shared == kNibble) out.shared += in.varint();
  if (suffix == kNibble) suffix += in.varint();
  out.suffix = in.take(suffix);
  const auto code = in.varint();
  out.extent = code >> 1;
  out.value = in.take((code & 1) == 0 ? kUsualValueBytes : in.varint());
  return out;
}

void DictionaryWriter::add(std::string_view key, std::string_view value, std::uint64_t extent) {
  std::size_t shared = 0;
  if (size_ % Dictionary::kEntriesPerBlock == 0) {
    put_fixed(offsets_, static_cast<std::uint32_t>(bytes_.size()));
    put_varint(bytes_, extents_);
  } else {
    const auto most = std::min(key.size(), last_.size());
    while (shared < most && key[shared] == last_[shared]) ++shared;
  }
  REEF_ASSERT(size_ == 0 || std::string_view(last_) < key);
  const auto suffix = key.size() - shared;
  bytes_.push_back(static_cast<char>(std::min(shared, kNibble) << 4 | std::min(suffix, kNibble)));
  if (shared >= kNibble) put_varint(bytes_, shared - kNibble);
  if (suffix >= kNibble) put_varint(bytes_, suffix - kNibble);
  bytes_.append(key.substr(shared));
  const bool usual = value.size() == kUsualValueBytes;
  put_varint(bytes_, extent << 1 | (usual ? 0 : 1));
  if (!usual) put_varint(bytes_, value.size());
  bytes_.append(value);
  last_.assign(key);
  extents_ += extent;
  ++size_;
}

std::string_view Dictionary::block(std::uint32_t number) const {
  const auto offset = [this](std::uint32_t n) {
    std::uint32_t value = 0;
    std::memcpy(&value, offsets_.data() + std::size_t{n} * 4, 4);
    return value;
  };
  const std::string_view place = offsets_.substr(std::size_t{number} * 4, 8);
  if (file_ && !file_->check(place)) return {};
  const std::size_t from = offset(number);
  const std::size_t to = number + 1 < blocks() ? offset(number + 1) : bytes_.size();
  if (from > to || to > bytes_.size()) {
    damaged();
    return {};
  }
  const auto out = bytes_.substr(from, to - from);
  return file_ && !file_->check(out) ? std::string_view() : out;
}

void Dictionary::damaged() const {
  if (file_) file_->mark_damaged();
}

std::string_view Dictionary::first_key(std::uint32_t number) const {
  ByteReader in(block(number));
  static_cast<void>(in.varint());
  return read_entry(in).suffix;
}

// Returns the last block whose first key is not after `key`.
std::uint32_t Dictionary::block_of(std::string_view key) const {
  std::uint32_t low = 0;
  std::uint32_t high = blocks();
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    if (first_key(middle) <= key)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// Finds the key without assembling the others: `same` counts the leading bytes of the wanted key
// that the last key read has, too.
std::optional<Dictionary::Entry> Dictionary::find(std::string_view key) const {
  if (blocks() == 0) return std::nullopt;
  const auto number = block_of(key);
  ByteReader in(block(number));
  Entry entry{.ordinal = number * kEntriesPerBlock, .value = {}, .offset = in.varint()};
  const auto end = std::min(entry.ordinal + kEntriesPerBlock, size_);
  std::size_t same = 0;
  for (; entry.ordinal < end; ++entry.ordinal, entry.offset += entry.extent) {
    const auto [shared, suffix, extent, value] = read_entry(in);
    entry.extent = extent;
    entry.value = value;
    if (!in.ok()) {
      damaged();
      return std::nullopt;
    }
    if (shared > same) continue;             // still smaller
    if (shared < same) return std::nullopt;  // larger already
    const auto rest = key.substr(same);
    const auto most = std::min(rest.size(), suffix.size());
    std::size_t more = 0;
    while (more < most && suffix[more] == rest[more]) ++more;
    if (more == rest.size() && more == suffix.size()) return entry;
    same += more;
    if (more == rest.size()) return std::nullopt;
    if (more < suffix.size() &&
        static_cast<std::uint8_t>(suffix[more]) > static_cast<std::uint8_t>(rest[more]))
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Dictionary::Entry> Dictionary::at(std::uint32_t ordinal) const {
  if (ordinal >= size_ || ordinal / kEntriesPerBlock >= blocks()) return std::nullopt;
  ByteReader in(block(ordinal / kEntriesPerBlock));
  Entry entry{.ordinal = ordinal, .value = {}, .offset = in.varint()};
  for (auto left = ordinal % kEntriesPerBlock + 1; left > 0; --left) {
    entry.offset += entry.extent;
    const auto raw = read_entry(in);
    entry.extent = raw.extent;
    entry.value = raw.value;
  }
  if (in.ok()) return entry;
  damaged();
  return std::nullopt;
}

Dictionary::Walk Dictionary::walk_from_block(std::uint32_t number) const {
  Walk out;
  out.dictionary_ = this;
  out.ordinal_ = number * kEntriesPerBlock;
  return out;
}

Dictionary::Walk Dictionary::walk_from(std::string_view key) const {
  if (blocks() == 0) return walk_from_block(0);
  auto out = walk_from_block(block_of(key));
  for (auto before = out; out.next(); before = out)
    if (std::string_view(out.key()) >= key) return before;
  return out;
}

bool Dictionary::Walk::next() {
  if (!dictionary_ || ordinal_ >= dictionary_->size_) return false;
  if (ordinal_ % kEntriesPerBlock == 0 || at_.at() == nullptr) {
    if (ordinal_ / kEntriesPerBlock >= dictionary_->blocks()) return false;
    at_ = ByteReader(dictionary_->block(ordinal_ / kEntriesPerBlock));
    key_.clear();
    entry_.offset = at_.varint();
    entry_.extent = 0;
  }
  const auto [shared, suffix, extent, value] = read_entry(at_);
  entry_.offset += entry_.extent;
  entry_.extent = extent;
  entry_.value = value;
  if (!at_.ok() || shared > key_.size()) {
    dictionary_->damaged();
    ordinal_ = dictionary_->size_;
    return false;
  }
  key_.resize(shared);
  key_.append(suffix);
  entry_.ordinal = ordinal_++;
  return true;
}

void Dictionary::Walk::pass(std::string_view beginning) {
  if (!dictionary_) return;
  auto block = (ordinal_ + kEntriesPerBlock - 1) / kEntriesPerBlock;
  const auto first = block;
  while (block < dictionary_->blocks() && dictionary_->first_key(block).starts_with(beginning))
    ++block;
  // The last block skipped may also hold other keys, so the walk resumes inside it.
  if (block > first) ordinal_ = (block - 1) * kEntriesPerBlock;
}

std::string_view Dictionary::Walk::passed() const {
  if (!dictionary_ || at_.at() == nullptr) return {};
  const auto* from = dictionary_->bytes_.data();
  return {from, static_cast<std::size_t>(reinterpret_cast<const char*>(at_.at()) - from)};
}

}  // namespace reef::search
