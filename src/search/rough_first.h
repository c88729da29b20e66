// Finds the best documents of a segment that have any of the words, when some of the words are
// common. Scores are first estimated from one byte per document and word, and computed exactly only
// for documents that may be among the best.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "search/plan.h"
#include "search/rough.h"

namespace reef::search {

class Searcher::RoughFirst {
 public:
  // `views` has one entry per optional clause; clauses without a Rough are read. `shared` is the
  // threshold that all threads of the search share.
  RoughFirst(const Searcher& searcher, Plan& plan, std::span<const RoughView> views,
             std::size_t limit, std::atomic<float>& shared);

  // Looks at the documents of [begin, end), which begins with a window and must not lie before
  // those of an earlier call.
  void run(std::uint32_t begin, std::uint32_t end);
  // Adds what another thread has found.
  void take_over(const RoughFirst& other);
  // Offers the best documents to `top` with their exact scores.
  void finish(Searcher& searcher, Top& top);

 private:
  static constexpr auto kWindow = Norms::kWindow;

  struct Candidate {
    float most;  // upper bound of its score
    std::uint32_t document;
  };

  float threshold() const { return shared_.load(std::memory_order_relaxed); }
  Matcher& matcher(std::size_t n) { return plan_.matchers[plan_.optional[n]]; }
  // Returns false when nothing in [from, to) can be among the best.
  bool weigh(std::uint32_t from, std::uint32_t to);
  void add_up(std::uint32_t from, std::uint32_t to);
  // Raises the threshold as far as the candidates allow and drops the candidates below it.
  void shrink();
  // Appends the candidates with their exact scores to `out`.
  void score(Searcher& searcher, std::span<const Candidate> candidates,
             std::vector<Hit>& out) const;

  Plan& plan_;
  std::span<const RoughView> views_;
  std::size_t limit_;
  std::atomic<float>& shared_;
  Norms& norms_;
  float too_much_ = 0;         // the most by which a sum can exceed the score
  std::vector<float> bounds_;  // of the window, per clause
  std::vector<float> sums_;    // per place
  std::vector<float> scores_;  // per place, for one clause
  std::vector<std::uint16_t> places_;
  std::vector<Candidate> found_;
  std::size_t room_;
};

}  // namespace reef::search
