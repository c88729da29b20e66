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
struct RankedGroup {
  std::uint32_t group = 0;
  double score = 0;
  search::Hit best;
};

// The best `wanted` of each, best first.
struct Ranking {
  std::vector<Ranked> hits;
  std::vector<RankedGroup> groups;
  bool more_hits = false;  // behind these
  bool more_groups = false;
};

// `searcher` is for the question's words. Deterministic. The numbers are explained in
// docs/search.md.
Ranking rank(const search::Index& index, search::Searcher& searcher, const Question& question,
             const search::Filter& filter, std::size_t wanted);

}  // namespace reef::recall
