// The best documents of a segment that have any of the words. Documents are taken in windows. In
// each, clauses that cannot lift a document over the threshold together are not read, but asked
// about the candidates of the others, as long as these are few.
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
  // Documents of [begin, end); not before those of an earlier call.
  void run(std::uint32_t begin, std::uint32_t end);

 private:
  static constexpr auto kWindow = Norms::kWindow;

  // False: nothing in [from, to) can be among the best.
  bool weigh(std::uint32_t from, std::uint32_t to);
  // Where the next window worth weighing begins.
  std::uint32_t after(std::uint32_t to, std::uint32_t end) const;
  // Both fill candidates_ with places of the window; order_[0, asked_) are left to ask.
  void read_dense(std::uint32_t from, std::uint32_t to);
  void read_sparse(std::uint32_t from, std::uint32_t to);
  void judge(std::uint32_t from);
  void clear_dense();
  void clear_sparse();

  Matcher& matcher(std::size_t n) { return plan_.matchers[plan_.optional[n]]; }
  const Matcher& matcher(std::size_t n) const { return plan_.matchers[plan_.optional[n]]; }
  float* scores_of(std::size_t n) { return scores_.data() + n * window_; }
  static std::uint32_t window_for(std::uint64_t postings, std::uint32_t documents);
  // Postings of a clause in a window, in the mean.
  std::uint64_t per_window(std::size_t n) const;

  Plan& plan_;
  Top& top_;
  std::size_t count_;  // of clauses
  std::vector<std::uint64_t> postings_;
  std::uint32_t window_;  // documents; more where they have few of the words
  std::unique_ptr<Norms> own_norms_;
  Norms& norms_;
  float most_ = 0;  // that any document can have

  // Of the window.
  std::vector<float> bounds_;       // per clause
  std::vector<std::size_t> order_;  // of clauses, by bound, ascending
  std::vector<float> rests_;        // [k]: bounds of order_[0, k) together
  std::size_t asked_ = 0;           // order_[0, asked_) are only asked
  std::vector<float> scores_;       // per clause and place; 0 but in a window
  std::vector<float> sums_;         // of all that was read, per place
  std::vector<std::uint8_t> seen_;  // per place
  std::vector<std::uint16_t> touched_;
  std::size_t touched_count_ = 0;
  std::vector<std::uint16_t> candidates_;
  std::size_t candidate_count_ = 0;
  std::vector<float> own_;  // of one document, per clause
};

}  // namespace reef::search
