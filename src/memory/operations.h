// The operations on a memory, as values, and the one function that applies them. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "memory/crmem.h"

namespace reef::memory {

// Limits for new entries; a file that exceeds them is still read.
inline constexpr std::size_t kNameBytesMax = 256;
inline constexpr std::size_t kAliasesMax = 64;
inline constexpr std::size_t kContentBytesMax = 1U << 20;
inline constexpr std::size_t kEntriesMax = 50'000;
// The limit for the whole memory, because every change writes the file anew.
inline constexpr std::uint64_t kMemoryBytesMax = 64U << 20;

// Every `name` may also be an alias of the entry.

struct Add {
  std::string name;
  std::string content;
  std::vector<std::string> aliases;
  Kind kind = Kind::note;
  std::uint64_t created_at = 0;  // Unix seconds; 0: now
};
// Keeps the entry's kind.
struct Write {
  std::string name;
  std::string content;
  std::optional<std::vector<std::string>> aliases;  // nullopt: unchanged
};
// An archive keeps its old name as an alias, because a transcript refers to it.
struct Rename {
  std::string name;
  std::string to;
};
struct Alias {
  std::string name;
  std::vector<std::string> add;
  std::vector<std::string> remove;
};
struct Remove {
  std::string name;
};
// The changes that agents and clients make to notes: an upsert and a removal. Other kinds are left
// alone.
struct Remember {
  std::string name;
  std::string content;
  std::optional<std::vector<std::string>> aliases;
};
struct Forget {
  std::string name;
};
// Replaces the whole memory, as a load does; a Memory keeps the old file next to the new one. New
// parts must obey the limits; parts that the memory already has may return as they are.
struct Replace {
  Contents contents;
};
using Operation = std::variant<Add, Write, Rename, Alias, Remove, Remember, Forget, Replace>;

// Returns the entry as it is afterwards, or as it was when removed; nullptr for Replace. An error
// means that nothing has changed. `now` is Unix seconds.
Result<EntryPtr> apply(Contents& contents, const Operation& operation, std::uint64_t now);

Error no_entry(std::string_view name);

// Checks a new name or alias; `what` is for the error.
Status check_name(std::string_view what, std::string_view name);
// Checks a new entry by itself; it does not look for other entries with its names.
Status check_new(const Entry& entry);

}  // namespace reef::memory
