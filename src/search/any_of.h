// Finds the best documents of a segment that have any of the words, one window of documents at a
// time. Clauses that together cannot lift a document over the threshold are not read; they are only
// asked about the candidates of the other clauses, as long as these are few.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "search/plan.h"

namespace reef::search {

class Searcher::AnyOf {
 public:
  AnyOf(const Searcher& searcher, Plan& plan, Top& top);
  void run();
  // Looks at the documents of [begin, end), which must not lie before those of an earlier call.
  void run(std::uint32_t begin, std::uint32_t end);

 private:
  static constexpr auto kWindow = Norms::kWindow;

  // Returns false when nothing in [from, to) can be among the best.
  bool weigh(std::uint32_t from, std::uint32_t to);
  // Returns where the next window worth weighing begins.
  std::uint32_t after(std::uint32_t to, std::uint32_t end) const;
  // Both fill candidates_ with places of the window; the clauses in order_[0, asked_) remain to be
  // asked.
  void read_dense(std::uint32_t from, std::uint32_t to);
  void read_sparse(std::uint32_t from, std::uint32_t to);
  void judge(std::uint32_t from);
  void clear_dense();
  void clear_sparse();

  Matcher& matcher(std::size_t n) { return plan_.matchers[plan_.optional[n]]; }
  const Matcher& matcher(std::size_t n) const { return plan_.matchers[plan_.optional[n]]; }
  float* scores_of(std::size_t n) { return scores_.data() + n * window_; }
  static std::uint32_t window_for(std::uint64_t postings, std::uint32_t documents);
  // The average number of postings that a clause has in a window.
  std::uint64_t per_window(std::size_t n) const;

  Plan& plan_;
  Top& top_;
  std::size_t count_;  // of clauses
  std::vector<std::uint64_t> postings_;
  std::uint32_t window_;  // documents; larger when they have few of the words
  std::unique_ptr<Norms> own_norms_;
  Norms& norms_;
  float most_ = 0;  // the most that any document can score

  // The rest is about the current window.
  std::vector<float> bounds_;       // per clause
  std::vector<std::size_t> order_;  // numbers of clauses, by ascending bound
  std::vector<float> rests_;        // [k]: sum of the bounds of order_[0, k)
  std::size_t asked_ = 0;           // order_[0, asked_) are only asked
  std::vector<float> scores_;       // per clause and place; all 0 between windows
  std::vector<float> sums_;         // per place: the sum of all clauses read
  std::vector<std::uint8_t> seen_;  // per place
  std::vector<std::uint16_t> touched_;
  std::size_t touched_count_ = 0;
  std::vector<std::uint16_t> candidates_;
  std::size_t candidate_count_ = 0;
  std::vector<float> own_;  // one document's score per clause
};

}  // namespace reef::search
