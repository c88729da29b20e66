// What a word is worth in every document of a segment, roughly: a byte each, never too little and
// less than a step too much. Words that a good part of all documents have cost a search most of its
// time; of these it is worked out once and kept.
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
  FieldScales scales;               // it was worked out with
  float step = 0;                   // what 1 is worth, before the clause's weight
  std::vector<std::uint8_t> worth;  // per document, whole windows
  std::vector<std::uint8_t> most;   // per window
  std::uint64_t used = 0;           // by which search last
};

// How one search reads a Rough: worth times `factor` is at least the score, and at most
// `too_much` more.
struct RoughView {
  const Rough* rough = nullptr;
  float factor = 0;
  float too_much = 0;
};

// Those of a segment. For one search at a time; its threads may read what it has found.
class RoughShelf {
 public:
  // Whether a clause of so many documents is worth a place here.
  static bool suits(std::uint64_t df, std::uint32_t documents);

  // Of the clause `name` stands for, made when it is missing; nothing while all places are taken by
  // what others need. `reading` is spent.
  RoughView find(const std::string& name, float weight, Matcher& reading, const FieldScales& scales,
                 std::uint32_t documents);
  // A search begins.
  void begin_search() { ++searches_; }

 private:
  bool make_room(std::uint32_t documents);

  std::unordered_map<std::string, std::unique_ptr<Rough>> shelf_;
  std::uint64_t searches_ = 0;
};

}  // namespace reef::search
