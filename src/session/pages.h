// Entries of a transcript a page at a time, from either end, without reading what lies between: for
// views, and for readers that follow it. Lines that are no entries are left out. Loop thread; the
// store reads elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/transcripts.h"

namespace reef::session {

// A line of a transcript, and where it stands.
struct Line {
  std::string id;  // empty where the entry has none
  std::string json;
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;  // with its newline
  bool too_long = false;    // `json` is empty
};

struct LinePage {
  std::vector<Line> lines;  // in the order of the file
  std::uint64_t from = 0;   // what was looked at
  std::uint64_t to = 0;
  bool begins = false;  // nothing stands before it
  bool ends = false;    // of lines_after: no whole line stands behind it
};

struct PageLimits {
  static constexpr std::uint64_t kNoEnd = UINT64_MAX;
  std::size_t lines_max = 0;
  // The page ends with the line that reaches it; so it may be longer by one line.
  std::size_t bytes_max = 1U << 20;
  // Of a longer line only its id is given.
  std::size_t line_bytes_max = 8U << 20;
  std::uint64_t end = kNoEnd;  // only lines that begin before this place
};

// Both places are beginnings of lines, or ends of the file. A line without its newline is no line
// yet. `invalid` where the file ends before.
Task<Result<LinePage>> lines_after(Transcripts& transcripts, SessionId id, std::uint64_t from,
                                   PageLimits limits);
Task<Result<LinePage>> lines_before(Transcripts& transcripts, SessionId id, std::uint64_t to,
                                    PageLimits limits);

// How an entry is named to somebody who may want to read on from it: its id, and where it stands,
// so that it need not be looked for.
std::string place_name(const Line& line);
// Finds the line by such a name, or by its id alone: the last one that has it, looked for from the
// end. nullopt when there is none.
Task<Result<std::optional<Line>>> find_line(Transcripts& transcripts, SessionId id,
                                            std::string name, std::uint64_t size);

}  // namespace reef::session
