// Finds what `reef fsck` reports about one transcript, and repairs it. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/reader.h"
#include "session/row.h"

namespace reef::session {

struct Finding {
  std::string kind;
  std::size_t line = 0;
  std::uint64_t offset = 0;
  std::string what;
};

// `row` is what lists say about the session; it must agree with the bytes.
std::vector<Finding> check_transcript(std::string_view bytes, const Row& row);

// Returns the same words as a file without damage: a header, unique ids, parents that exist. Lines
// that are no entries are left out; the caller keeps the old file.
std::string repaired(std::string_view bytes, const SessionId& id);

}  // namespace reef::session
