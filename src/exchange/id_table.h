// The ids of a transcript as hashes of eight bytes each. At ten million ids, the chance that two
// different ones are taken for one is one in 300,000. Plain values.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace reef::exchange {

std::uint64_t hash_of(std::string_view text);

class IdTable {
 public:
  // False when it is there already.
  bool insert(std::uint64_t hash);
  bool contains(std::uint64_t hash) const;
  std::size_t size() const { return size_; }

 private:
  std::size_t place_of(std::uint64_t hash) const;
  void grow();

  std::vector<std::uint64_t> slots_;  // 0 is empty
  std::size_t size_ = 0;
};

}  // namespace reef::exchange
