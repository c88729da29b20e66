// A rough score of a word for every document of a segment, one byte each: never too low and less
// than one step too high. Words that a good part of all documents have take most of a search's
// time, so for these it is computed once and kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "search/matcher.h"
#include "search/norms.h"

namespace reef::search {

struct Rough {
  FieldScales scales;               // the scales it was computed with
  float step = 0;                   // the score of one unit, before the clause's weight
  std::vector<std::uint8_t> worth;  // per document, padded to whole windows
  std::vector<std::uint8_t> most;   // per window
  std::uint64_t used = 0;           // number of the search that used it last
};

// How one search reads a Rough: worth times `factor` is at least the score, and at most `too_much`
// above it.
struct RoughView {
  const Rough* rough = nullptr;
  float factor = 0;
  float too_much = 0;
};

// The Roughs of a segment. Serves one search at a time; its threads may read what it returned.
class RoughShelf {
 public:
  // Tells whether a clause found in `df` documents is common enough to keep.
  static bool suits(std::uint64_t df, std::uint32_t documents);

  // Returns the Rough of the clause that `name` stands for, making it if it is missing. The view is
  // empty while other clauses still need all the room. `reading` cannot be used afterwards.
  RoughView find(const std::string& name, float weight, Matcher& reading, const FieldScales& scales,
                 std::uint32_t documents);
  // Call it when a search begins.
  void begin_search() { ++searches_; }

 private:
  bool make_room(std::uint32_t documents);

  std::unordered_map<std::string, std::unique_ptr<Rough>> shelf_;
  std::uint64_t searches_ = 0;
};

}  // namespace reef::search
