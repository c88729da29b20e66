// CRMEM v1, the file of a memory: bytes to entries and back. docs/formats/crmem.md has the layout.
// Pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace reef::memory {

enum class Kind : std::uint32_t {
  note = 0,     // written by the agent on purpose
  archive = 1,  // what a compaction left of a conversation
  topic = 2,    // known to CrabTalk's code, written by nobody
};
std::string_view name_of(Kind kind);

struct Entry {
  std::uint64_t id = 0;
  std::uint64_t created_at = 0;  // Unix seconds
  Kind kind = Kind::note;
  std::string name;
  std::string content;
  std::vector<std::string> aliases;

  bool operator==(const Entry&) const = default;
};
// Never changed once it is in a memory, so that any thread may read it.
using EntryPtr = std::shared_ptr<const Entry>;

struct Contents {
  std::uint64_t next_id = 1;
  std::vector<EntryPtr> entries;  // by id, no id and no name twice
  // Ids as the file has them, where that is not by id: CrabTalk keeps no order, and a file is not
  // shuffled because it was read. Ids that are gone are passed over, others follow.
  std::vector<std::uint64_t> order;

  // By name, else by alias; nullptr when there is none. An alias that is on several entries, as
  // CrabTalk lets happen, leads to the oldest.
  EntryPtr find(std::string_view name) const;
};
// Whatever their order in the file.
bool operator==(const Contents& a, const Contents& b);

// Whatever is not a whole, valid file is `corrupt`, and the error says where and why. Allocates no
// more than the bytes there are call for.
Result<Contents> parse(std::string_view bytes);
// The entries as serialize() writes them.
std::vector<EntryPtr> in_file_order(const Contents& contents);
// What parse() read comes out as it was. too_large when a text or a list does not fit the format's
// 32 bits.
Result<std::string> serialize(const Contents& contents);

// How many bytes serialize() writes.
std::uint64_t serialized_bytes(const Contents& contents);

}  // namespace reef::memory
