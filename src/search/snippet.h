// The part of a text that shows why it was found. Pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/query.h"

namespace reef::search {

struct Snippet {
  std::string_view text;    // a part of the text it was cut from, in whole characters
  std::size_t offset = 0;   // where it begins in that text
  bool cut_before = false;  // text before it was left out
  bool cut_after = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      matches;  // [begin, end) in `text`, ascending
};

// Cuts texts for one query. Any thread.
class Snippets {
 public:
  explicit Snippets(const Query& query);
  ~Snippets();
  // Returns at most `bytes_max` bytes around the place where most of the query's words stand
  // together, or the start of the text when none occurs.
  Snippet make(std::string_view text, std::size_t bytes_max) const;

 private:
  struct Wanted;
  std::unique_ptr<const Wanted> wanted_;
};

}  // namespace reef::search
