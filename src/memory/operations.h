// What can be done to a memory: values, and one function that does them. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "memory/crmem.h"

namespace reef::memory {

// Of what is written from now on; a file that has more is read.
inline constexpr std::size_t kNameBytesMax = 256;
inline constexpr std::size_t kAliasesMax = 64;
inline constexpr std::size_t kContentBytesMax = 1U << 20;
inline constexpr std::size_t kEntriesMax = 50'000;
// All of it: the file is written whole at every change.
inline constexpr std::uint64_t kMemoryBytesMax = 64U << 20;

// Every `name` may also be an alias of the entry.

struct Add {
  std::string name;
  std::string content;
  std::vector<std::string> aliases;
  Kind kind = Kind::note;
  std::uint64_t created_at = 0;  // Unix seconds; 0: now
};
// The kind stays what it is.
struct Write {
  std::string name;
  std::string content;
  std::optional<std::vector<std::string>> aliases;  // not given: those there are
};
// An archive keeps its old name as an alias: a transcript refers to it.
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
// What agents and clients do to notes: an upsert and a removal that leave everything else alone.
struct Remember {
  std::string name;
  std::string content;
  std::optional<std::vector<std::string>> aliases;
};
struct Forget {
  std::string name;
};
// Everything at once, as a load does it; a Memory keeps the old file beside the new one. What is
// new in it obeys the limits; what the memory holds already may come back as it is.
struct Replace {
  Contents contents;
};
using Operation = std::variant<Add, Write, Rename, Alias, Remove, Remember, Forget, Replace>;

// Returns the entry as it is then, or was when it is gone; nullptr for Replace. On an error nothing
// has changed. `now` is Unix seconds.
Result<EntryPtr> apply(Contents& contents, const Operation& operation, std::uint64_t now);

Error no_entry(std::string_view name);

// What may be a name or an alias from now on; `what` is for the error.
Status check_name(std::string_view what, std::string_view name);
// What may be a new entry, by itself: others may have its names.
Status check_new(const Entry& entry);

}  // namespace reef::memory
