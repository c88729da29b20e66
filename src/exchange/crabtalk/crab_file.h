// CrabTalk 0.0.24's store: one append-only file of keys and values. Used only by the reader.
//   header   "CRMEM\0", version u32, flags u16, 4 bytes, index_at u64, index_len u64
//   record   op u8 (0 put, 1 delete), column u8, key (u32 and bytes), value (u32 and bytes)
//   index    count u32, then column u8, key, offset of the record u64
// The last record of a key counts. An index covers everything before it; records may follow it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace reef::exchange {

class CrabFile {
 public:
  enum Column : std::uint8_t { agent = 0, session = 1, memory = 2, skill = 3, config = 5 };

  // corrupt when it is another kind of file. A torn end is what a crash leaves, and is ignored.
  static Result<CrabFile> open(Files& files, const std::string& path);

  // The keys that begin with the prefix, sorted and without it.
  std::vector<std::string> keys(Column column, std::string_view prefix) const;
  bool has(Column column, const std::string& key) const;
  // not_found, or what is wrong with the key's record.
  Result<std::string> value(Column column, const std::string& key) const;

  const Files::Stat& stat() const { return stat_; }
  // Whether the end was cut off.
  bool torn() const { return torn_; }

 private:
  CrabFile(Files& files, Fd fd, Files::Stat stat)
      : files_(&files), fd_(std::move(fd)), stat_(stat) {}

  Status read_index(std::uint64_t at, std::uint64_t size);
  Status replay(std::uint64_t from);
  Result<std::string> bytes(std::uint64_t at, std::uint64_t size) const;
  Result<std::uint32_t> length(std::uint64_t at) const;
  void put(std::uint8_t column, std::string key, std::optional<std::uint64_t> at);

  Files* files_;
  Fd fd_;
  Files::Stat stat_;
  std::map<std::pair<std::uint8_t, std::string>, std::uint64_t> records_;
  bool torn_ = false;
};

}  // namespace reef::exchange
