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
  archive = 1,  // a conversation as a compaction archived it
  topic = 2,    // known to CrabTalk's code, but nothing writes it
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
// An entry in a memory never changes, so any thread may read it.
using EntryPtr = std::shared_ptr<const Entry>;

struct Contents {
  std::uint64_t next_id = 1;
  std::vector<EntryPtr> entries;  // by id; every id and every name occurs once
  // Ids in the order of the file, if that is not the order of ids: CrabTalk keeps none, and reading
  // a file must not reorder it. Ids without an entry are skipped; entries not listed come last.
  std::vector<std::uint64_t> order;

  // Finds by name, else by alias; nullptr when there is none. An alias of several entries, which
  // CrabTalk allows, leads to the oldest.
  EntryPtr find(std::string_view name) const;
};
// Ignores the order in the file.
bool operator==(const Contents& a, const Contents& b);

// Fails with `corrupt` unless the bytes are a whole, valid file; the error says where and why.
// Allocates no more than the actual bytes require.
Result<Contents> parse(std::string_view bytes);
// Returns the entries in the order in which serialize() writes them.
std::vector<EntryPtr> in_file_order(const Contents& contents);
// Writes what parse() read back unchanged. Fails with too_large when a text or a list does not fit
// the format's 32 bits.
Result<std::string> serialize(const Contents& contents);

// How many bytes serialize() writes.
std::uint64_t serialized_bytes(const Contents& contents);

}  // namespace reef::memory
