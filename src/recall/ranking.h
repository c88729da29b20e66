// Messages that answer a question often stand next to those that match its words, so a hit is
// judged together with its neighbours and its session.
#pragma once

#include <vector>

#include "recall/question.h"
#include "search/index.h"

namespace reef::recall {

struct Ranked {
  search::Hit hit;
  double score = 0;
};

// Hits, best first.
struct Ranking {
  std::vector<Ranked> hits;
  bool more = false;  // there are more after these
};

// Returns the best `wanted` messages, or the best message of each of the best sessions. `searcher`
// must be prepared with the question's words. Deterministic. docs/search.md explains the numbers.
Ranking rank(const search::Index& index, search::Searcher& searcher, const Question& question,
             const search::Filter& filter, std::size_t wanted, bool by_session);

}  // namespace reef::recall
