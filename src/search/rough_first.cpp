#include "search/rough_first.h"

#include <algorithm>

#include "search/window_sums.h"

namespace reef::search {
namespace {

constexpr std::size_t kRoomMin = 512;
// This many more candidates than wanted are scored exactly first; the rest must beat their result.
constexpr std::size_t kFirstMore = 16;

}  // namespace

Searcher::RoughFirst::RoughFirst(const Searcher& searcher, Plan& plan,
                                 std::span<const RoughView> views, std::size_t limit,
                                 std::atomic<float>& shared)
    : plan_(plan),
      views_(views),
      limit_(limit),
      shared_(shared),
      norms_(*plan.where->norms),
      bounds_(views.size()),
      sums_(kWindow),
      scores_(kWindow),
      places_(kWindow + 1),
      room_(std::max(kRoomMin, limit * 2)) {
  norms_.use(searcher.scales_);
  for (const auto& view : views_) too_much_ += view.too_much;
}

bool Searcher::RoughFirst::weigh(std::uint32_t from, std::uint32_t to) {
  float all = 0;
  for (std::size_t n = 0; n < views_.size(); ++n) {
    const auto& view = views_[n];
    bounds_[n] = view.rough ? view.factor * static_cast<float>(view.rough->most[from / kWindow])
                            : matcher(n).bound(from, to);
    all += bounds_[n];
  }
  return all > 0 && all * kSlackFactor >= threshold();
}

void Searcher::RoughFirst::add_up(std::uint32_t from, std::uint32_t to) {
  std::fill(sums_.begin(), sums_.end(), 0.0F);
  for (std::size_t n = 0; n < views_.size(); ++n) {
    if (bounds_[n] == 0) continue;
    if (const auto& view = views_[n]; view.rough) {
      add_worth(sums_.data(), view.rough->worth.data() + from, view.factor);
      continue;
    }
    norms_.fill(from);
    std::fill(scores_.begin(), scores_.end(), 0.0F);
    matcher(n).visit(from, to, norms_, scores_.data());
    add_scores(sums_.data(), scores_.data());
  }
}

void Searcher::RoughFirst::run(std::uint32_t begin, std::uint32_t end) {
  for (auto from = begin; from < end; from += kWindow) {
    const auto to = std::min(from + kWindow, end);
    if (!weigh(from, to)) continue;
    add_up(from, to);
    const auto count = select_places(sums_.data(), threshold() / kSlackFactor, places_.data());
    for (std::size_t i = 0; i < count; ++i) {
      const auto document = from + places_[i];
      const auto most = sums_[places_[i]] * kSlackFactor;
      if (most < threshold() || !plan_.allowed(document) || plan_.is_excluded(document)) continue;
      found_.push_back({most, document});
      if (found_.size() >= room_) shrink();
    }
  }
}

void Searcher::RoughFirst::shrink() {
  if (found_.size() < limit_) return;
  const auto last = found_.begin() + static_cast<std::ptrdiff_t>(limit_ - 1);
  std::nth_element(found_.begin(), last, found_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.most > b.most; });
  // At least `limit_` documents score no less than this.
  const auto least = last->most / (kSlackFactor * kSlackFactor) - too_much_ * kSlackFactor;
  auto known = threshold();
  while (known < least && !shared_.compare_exchange_weak(known, least, std::memory_order_relaxed)) {
  }
  const auto now = threshold();
  std::erase_if(found_, [now](const Candidate& one) { return one.most < now; });
  room_ = std::max(room_, found_.size() * 2);
}

void Searcher::RoughFirst::take_over(const RoughFirst& other) {
  found_.insert(found_.end(), other.found_.begin(), other.found_.end());
}

void Searcher::RoughFirst::score(Searcher& searcher, std::span<const Candidate> candidates,
                                 std::vector<Hit>& out) const {
  const auto before = out.size();
  for (const auto& one : candidates) out.push_back({.unit = plan_.unit, .document = one.document});
  searcher.score(std::span(out).subspan(before));
}

void Searcher::RoughFirst::finish(Searcher& searcher, Top& top) {
  shrink();
  const auto first = std::min(limit_ + kFirstMore, found_.size());
  const auto middle = found_.begin() + static_cast<std::ptrdiff_t>(first);
  std::nth_element(found_.begin(), middle, found_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.most > b.most; });
  std::vector<Hit> hits;
  score(searcher, std::span(found_).first(first), hits);
  auto least = top.threshold();
  if (hits.size() >= limit_) {
    std::vector<float> scores;
    scores.reserve(hits.size());
    for (const auto& hit : hits) scores.push_back(hit.score);
    const auto last = scores.begin() + static_cast<std::ptrdiff_t>(limit_ - 1);
    std::nth_element(scores.begin(), last, scores.end(), std::greater<>());
    least = std::max(least, *last);
  }
  const auto end =
      std::remove_if(middle, found_.end(), [&](const Candidate& one) { return one.most < least; });
  score(searcher, std::span(middle, end), hits);
  for (const auto& hit : hits)
    if (hit.matched != 0 && hit.score >= top.threshold()) top.offer(hit);
}

}  // namespace reef::search
