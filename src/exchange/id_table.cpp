#include "exchange/id_table.h"

#include <algorithm>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace reef::exchange {
namespace {

constexpr std::size_t kSlotsMin = 256;

}  // namespace

std::uint64_t hash_of(std::string_view text) {
  const auto hash = XXH3_64bits(text.data(), text.size());
  return hash == 0 ? 1 : hash;  // 0 marks an empty slot
}

std::size_t IdTable::place_of(std::uint64_t hash) const {
  const auto mask = slots_.size() - 1;
  auto at = static_cast<std::size_t>(hash) & mask;
  while (slots_[at] != 0 && slots_[at] != hash) at = (at + 1) & mask;
  return at;
}

bool IdTable::contains(std::uint64_t hash) const {
  return !slots_.empty() && slots_[place_of(hash)] == hash;
}

bool IdTable::insert(std::uint64_t hash) {
  if ((size_ + 1) * 4 > slots_.size() * 3) grow();
  auto& slot = slots_[place_of(hash)];
  if (slot == hash) return false;
  slot = hash;
  ++size_;
  return true;
}

void IdTable::grow() {
  const auto old =
      std::exchange(slots_, std::vector<std::uint64_t>(std::max(kSlotsMin, slots_.size() * 2), 0));
  for (const auto hash : old)
    if (hash != 0) slots_[place_of(hash)] = hash;
}

}  // namespace reef::exchange
