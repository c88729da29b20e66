#include "search/any_of.h"

#include <algorithm>
#include <numeric>

#include "search/window_sums.h"

namespace reef::search {
namespace {

// A window with this many postings or more is added up place by place.
constexpr std::uint64_t kDensePostings = 24;
// A window of rare words is made to hold about this many postings, but at most this many documents:
// beyond that, the work for each window takes longer than the postings themselves.
constexpr std::uint64_t kSparsePostings = 128;
constexpr std::uint64_t kSparseWindowMax = 4096;
// Reading a clause costs as much as asking it about this many candidates, plus one for every
// kPostingsPerQuestion postings.
constexpr std::size_t kReadingCosts = 6;
constexpr std::size_t kPostingsPerQuestion = 8;
}  // namespace

std::uint32_t Searcher::AnyOf::window_for(std::uint64_t postings, std::uint32_t documents) {
  if (postings * kWindow >= kDensePostings * documents) return kWindow;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      kSparsePostings * documents / (postings + 1), kWindow, kSparseWindowMax));
}

Searcher::AnyOf::AnyOf(const Searcher& searcher, Plan& plan, Top& top)
    : plan_(plan),
      top_(top),
      count_(plan.optional.size()),
      postings_(searcher.postings_of(plan)),
      window_(window_for(std::accumulate(postings_.begin(), postings_.end(), std::uint64_t{0}),
                         plan.where->source->size())),
      own_norms_(plan.where->norms ? nullptr
                                   : std::make_unique<Norms>(plan.where->source->lengths())),
      norms_(plan.where->norms ? *plan.where->norms : *own_norms_),
      bounds_(count_),
      order_(count_),
      rests_(count_ + 1),
      scores_(count_ * window_),
      sums_(kWindow),
      seen_(window_),
      touched_(window_ + 1),
      candidates_(window_ + 1),
      own_(count_) {
  norms_.use(searcher.scales_);
  for (std::size_t n = 0; n < count_; ++n) most_ += matcher(n).bound();
}

std::uint64_t Searcher::AnyOf::per_window(std::size_t n) const {
  return postings_[n] * window_ / plan_.where->source->size();
}

void Searcher::AnyOf::run() {
  for (const auto& [begin, end] : plan_.ranges) run(begin, end);
}

void Searcher::AnyOf::run(std::uint32_t begin, std::uint32_t end) {
  for (auto from = begin; from < end;) {
    if (most_ * kSlackFactor < top_.threshold()) return;
    const auto to = end - from > window_ ? from + window_ : end;
    if (!weigh(from, to)) {
      from = after(to, end);
      continue;
    }
    std::uint64_t expected = 0;
    for (auto k = asked_; k < count_; ++k) expected += per_window(order_[k]);
    const bool dense = window_ == kWindow && expected >= kDensePostings;
    if (dense)
      read_dense(from, to);
    else
      read_sparse(from, to);
    judge(from);
    if (dense)
      clear_dense();
    else
      clear_sparse();
    from = to;
  }
}

bool Searcher::AnyOf::weigh(std::uint32_t from, std::uint32_t to) {
  const auto threshold = top_.threshold();
  for (std::size_t n = 0; n < count_; ++n) {
    bounds_[n] = matcher(n).bound(from, to);
    order_[n] = n;
  }
  std::sort(order_.begin(), order_.end(),
            [&](std::size_t a, std::size_t b) { return bounds_[a] < bounds_[b]; });
  asked_ = 0;
  for (std::size_t k = 0; k < count_; ++k) {
    rests_[k + 1] = rests_[k] + bounds_[order_[k]];
    if (k + 1 < count_ && rests_[k + 1] * kSlackFactor < threshold) asked_ = k + 1;
  }
  return rests_[count_] > 0 && rests_[count_] * kSlackFactor >= threshold;
}

std::uint32_t Searcher::AnyOf::after(std::uint32_t to, std::uint32_t end) const {
  // Only when no cursor has a posting in this window do the cursors tell where the next one begins.
  if (rests_[count_] > 0) return to;
  auto next = Cursor::kEnd;
  for (std::size_t n = 0; n < count_; ++n) next = std::min(next, matcher(n).next_at_least());
  return std::max(to, std::min(next, end));
}

// Adds up all places without asking which have a posting, since nearly all have one.
void Searcher::AnyOf::read_dense(std::uint32_t from, std::uint32_t to) {
  norms_.fill(from);
  std::fill(sums_.begin(), sums_.end(), 0.0F);
  const auto least = top_.threshold() / kSlackFactor;
  for (auto k = count_; k-- > 0;) {
    const auto n = order_[k];
    if (bounds_[n] > 0) {
      auto* here = scores_of(n);
      matcher(n).visit(from, to, norms_, here);
      add_scores(sums_.data(), here);
    }
    if (k > asked_) continue;
    // The sums so far give the candidates. If they are many, the next clause is read instead of
    // asked.
    asked_ = k;
    candidate_count_ = select_places(sums_.data(), least - rests_[k], candidates_.data());
    if (k == 0) return;
    if (candidate_count_ <= kReadingCosts + per_window(order_[k - 1]) / kPostingsPerQuestion)
      return;
  }
}

void Searcher::AnyOf::read_sparse(std::uint32_t from, std::uint32_t to) {
  touched_count_ = 0;
  for (auto k = asked_; k < count_; ++k) {
    const auto n = order_[k];
    if (bounds_[n] == 0) continue;
    matcher(n).visit(from, to, scores_of(n), [&](std::uint32_t place) {
      touched_[touched_count_] = static_cast<std::uint16_t>(place);
      touched_count_ += 1U - seen_[place];
      seen_[place] = 1;
    });
  }
  candidate_count_ = 0;
  for (std::size_t i = 0; i < touched_count_; ++i) {
    const auto place = touched_[i];
    float score = rests_[asked_];
    for (auto k = asked_; k < count_; ++k) score += scores_of(order_[k])[place];
    if (score * kSlackFactor >= top_.threshold()) candidates_[candidate_count_++] = place;
  }
  if (asked_ > 0 || !plan_.excluded.empty())
    std::sort(candidates_.begin(),
              candidates_.begin() + static_cast<std::ptrdiff_t>(candidate_count_));
}

void Searcher::AnyOf::judge(std::uint32_t from) {
  for (std::size_t i = 0; i < candidate_count_; ++i) {
    const auto place = candidates_[i];
    const auto document = from + place;
    float most = rests_[asked_];
    for (std::size_t n = 0; n < count_; ++n) own_[n] = scores_of(n)[place];
    for (const auto score : own_) most += score;
    if (most * kSlackFactor < top_.threshold()) continue;
    if (!plan_.allowed(document)) continue;
    for (auto k = asked_; k-- > 0;) {
      const auto n = order_[k];
      most -= bounds_[n];
      if (matcher(n).seek(document) == document) most += own_[n] = matcher(n).score();
      if (most * kSlackFactor < top_.threshold()) break;
    }
    if (most * kSlackFactor < top_.threshold()) continue;
    if (plan_.is_excluded(document)) continue;
    Hit hit{.unit = plan_.unit, .document = document};
    // Adding in the order of the query gives equal documents equal scores.
    for (std::size_t n = 0; n < count_; ++n) {
      hit.score += own_[n];
      if (own_[n] > 0) hit.matched |= 1U << plan_.optional[n];
    }
    if (hit.score >= top_.threshold()) top_.offer(hit);
  }
}

void Searcher::AnyOf::clear_dense() {
  for (auto k = asked_; k < count_; ++k) std::fill_n(scores_of(order_[k]), kWindow, 0.0F);
}

void Searcher::AnyOf::clear_sparse() {
  for (std::size_t i = 0; i < touched_count_; ++i) {
    const auto place = touched_[i];
    seen_[place] = 0;
    for (auto k = asked_; k < count_; ++k) scores_of(order_[k])[place] = 0;
  }
}

}  // namespace reef::search
