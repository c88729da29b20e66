// What answers a question is often said beside the words that match it: a hit is judged together
// with what stands around it and with its session.
#pragma once

#include <vector>

#include "recall/question.h"
#include "search/index.h"

namespace reef::recall {

struct Ranked {
  search::Hit hit;
  double score = 0;
};

// Best first.
struct Ranking {
  std::vector<Ranked> hits;
  bool more = false;  // behind these
};

// The best `wanted` messages, or the best one of each of the best sessions. `searcher` is for the
// question's words. Deterministic. The numbers are explained in docs/search.md.
Ranking rank(const search::Index& index, search::Searcher& searcher, const Question& question,
             const search::Filter& filter, std::size_t wanted, bool by_session);

}  // namespace reef::recall
