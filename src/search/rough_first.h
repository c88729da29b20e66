// The best documents of a segment that have any of the words, where some of these are common. What
// documents are worth is worked out roughly first, from a byte per document and word, and exactly
// only for those that may be among the best.
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
  // `views`: one per optional clause; those without a Rough are read. `shared`: what nothing below
  // is wanted of, known to all threads of the search.
  RoughFirst(const Searcher& searcher, Plan& plan, std::span<const RoughView> views,
             std::size_t limit, std::atomic<float>& shared);

  // Documents of [begin, end), which begins with a window; not before those of an earlier call.
  void run(std::uint32_t begin, std::uint32_t end);
  // What another thread has found.
  void take_over(const RoughFirst& other);
  // Offers the best to `top`, exactly.
  void finish(Searcher& searcher, Top& top);

 private:
  static constexpr auto kWindow = Norms::kWindow;

  struct Candidate {
    float most;  // it can be worth
    std::uint32_t document;
  };

  float threshold() const { return shared_.load(std::memory_order_relaxed); }
  Matcher& matcher(std::size_t n) { return plan_.matchers[plan_.optional[n]]; }
  // False: nothing in [from, to) can be among the best.
  bool weigh(std::uint32_t from, std::uint32_t to);
  void add_up(std::uint32_t from, std::uint32_t to);
  // Raises the threshold to what is known now, and forgets what is below it.
  void shrink();
  // What they are worth exactly, behind what is in `out`.
  void score(Searcher& searcher, std::span<const Candidate> candidates,
             std::vector<Hit>& out) const;

  Plan& plan_;
  std::span<const RoughView> views_;
  std::size_t limit_;
  std::atomic<float>& shared_;
  Norms& norms_;
  float too_much_ = 0;         // that any sum can be
  std::vector<float> bounds_;  // of the window, per clause
  std::vector<float> sums_;    // per place
  std::vector<float> scores_;  // per place, of one clause
  std::vector<std::uint16_t> places_;
  std::vector<Candidate> found_;
  std::size_t room_;
};

}  // namespace reef::search
