// What one search carries through the segments: the best hits so far, and the plan for each
// segment.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/searcher.h"

namespace reef::search {

// Bounds are computed in another order than scores: nothing within this of the worst hit is passed
// over.
inline constexpr float kSlackFactor = 1.00001F;

// The best hits so far, and some that may be among them. Nothing below the threshold is wanted any
// more. Rows are looked at only where scores are equal, and at the end.
class Searcher::Top {
 public:
  Top(std::span<const Unit> units, std::size_t limit, bool one_per_group)
      : units_(units),
        limit_(limit),
        room_(limit + std::max(limit / 2, kRoomMin)),
        one_per_group_(one_per_group) {}

  bool grouped() const { return one_per_group_; }
  std::size_t limit() const { return limit_; }
  // For another thread, which looks at other documents: what is below the threshold of one is below
  // that of both. Not of grouped ones.
  Top helper(std::atomic<float>& shared) {
    shared_ = &shared;
    raise_shared();
    Top out(units_, limit_, false);
    out.shared_ = &shared;
    return out;
  }
  // Ends that.
  void take_over(Top&& other) {
    shared_ = nullptr;
    for (const auto& one : other.hits_) {
      if (one.score < threshold_) continue;
      hits_.push_back(one);
      if (hits_.size() >= room_) shrink();
    }
  }

  float threshold() const {
    return shared_ ? std::max(threshold_, shared_->load(std::memory_order_relaxed)) : threshold_;
  }

  void offer(const Hit& hit) {
    if (hit.score < threshold_) return;
    if (one_per_group_) return offer_grouped(with_row(hit));
    if (worst_ && hit.score == worst_->score && better(*worst_, with_row(hit))) return;
    hits_.push_back({hit.score, hit.unit, hit.document, hit.matched});
    if (hits_.size() >= room_) shrink();
  }

  std::vector<Hit> take() {
    if (hits_.size() > limit_) shrink();
    take_groups();
    for (const auto& one : hits_) grouped_.push_back(with_row(hit_of(one)));
    std::sort(grouped_.begin(), grouped_.end(), better);
    if (grouped_.size() > limit_) grouped_.resize(limit_);
    return std::move(grouped_);
  }
  // By segment and document instead, without rows. Not of grouped ones.
  std::vector<Hit> take_in_place() {
    if (hits_.size() > limit_) shrink();
    if (hits_.size() > limit_) keep_best();
    std::sort(hits_.begin(), hits_.end(), [](const Light& a, const Light& b) {
      return std::tie(a.unit, a.document) < std::tie(b.unit, b.document);
    });
    std::vector<Hit> out;
    out.reserve(hits_.size());
    for (const auto& one : hits_) out.push_back(hit_of(one));
    return out;
  }

 private:
  static constexpr std::size_t kRoomMin = 32;

  struct Light {
    float score;
    std::uint32_t unit, document, matched;
  };

  Hit with_row(Hit hit) const {
    hit.row = units_[hit.unit].source->row(hit.document);
    return hit;
  }
  static Hit hit_of(const Light& one) {
    return {.unit = one.unit, .document = one.document, .score = one.score, .matched = one.matched};
  }

  void raise_shared() {
    if (!shared_) return;
    auto known = shared_->load(std::memory_order_relaxed);
    while (known < threshold_ &&
           !shared_->compare_exchange_weak(known, threshold_, std::memory_order_relaxed)) {
    }
  }

  void shrink() {
    const auto last = hits_.begin() + static_cast<std::ptrdiff_t>(limit_ - 1);
    std::nth_element(hits_.begin(), last, hits_.end(),
                     [](const Light& a, const Light& b) { return a.score > b.score; });
    threshold_ = last->score;
    raise_shared();
    std::erase_if(hits_, [this](const Light& one) { return one.score < threshold_; });
    if (hits_.size() >= room_) keep_best();
  }

  // Where many are worth the same. From then on the row of the worst keeps most of them out.
  void keep_best() {
    std::vector<Hit> rows;
    rows.reserve(hits_.size());
    for (const auto& one : hits_) rows.push_back(with_row(hit_of(one)));
    const auto last = rows.begin() + static_cast<std::ptrdiff_t>(limit_ - 1);
    std::nth_element(rows.begin(), last, rows.end(), better);
    worst_ = *last;
    rows.resize(limit_);
    hits_.clear();
    for (const auto& hit : rows) hits_.push_back({hit.score, hit.unit, hit.document, hit.matched});
  }

  void offer_grouped(const Hit& hit) {
    // Documents of a group mostly stand together.
    if (!last_ || last_->row.group != hit.row.group)
      last_ = &groups_.try_emplace(hit.row.group, hit).first->second;
    if (better(hit, *last_)) *last_ = hit;
    if (groups_.size() >= room_) shrink_groups();
  }

  void shrink_groups() {
    take_groups();
    if (grouped_.size() < limit_) return;
    const auto last = grouped_.begin() + static_cast<std::ptrdiff_t>(limit_ - 1);
    std::nth_element(grouped_.begin(), last, grouped_.end(), better);
    threshold_ = last->score;
    grouped_.resize(limit_);
    for (const auto& hit : std::exchange(grouped_, {})) groups_.emplace(hit.row.group, hit);
  }
  void take_groups() {
    for (const auto& [group, hit] : groups_) grouped_.push_back(hit);
    groups_.clear();
    last_ = nullptr;
  }

  std::span<const Unit> units_;
  std::size_t limit_;
  std::size_t room_;
  bool one_per_group_;
  float threshold_ = 0;
  std::atomic<float>* shared_ = nullptr;
  std::vector<Light> hits_;
  std::optional<Hit> worst_;  // of those kept, where many are worth the same
  std::vector<Hit> grouped_;
  std::unordered_map<std::uint32_t, Hit> groups_;  // the best of each
  Hit* last_ = nullptr;                            // of them
};

// One segment of one search.
struct Searcher::Plan {
  std::uint32_t unit = 0;
  const Unit* where = nullptr;
  const Filter* filter = nullptr;
  bool filtered = false;
  std::vector<Matcher> matchers;                                // one per clause
  std::vector<std::size_t> optional;                            // numbers of clauses
  std::vector<std::size_t> required;                            //
  std::vector<std::size_t> excluded;                            //
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;  // of documents to look at

  // The same for another thread.
  Plan again(std::vector<Matcher> own) const {
    return {unit, where, filter, filtered, std::move(own), optional, required, excluded, ranges};
  }

  bool allowed(std::uint32_t document) const {
    if (where->deleted && where->deleted->has(document)) return false;
    if (!filtered) return true;
    const auto& source = *where->source;
    if (filter->groups && !filter->groups->has(source.group(document))) return false;
    const auto row = source.row(document);
    if (row.time_ms < filter->time_from_ms || row.time_ms >= filter->time_to_ms) return false;
    return !filter->accept || filter->accept(row);
  }
  bool is_excluded(std::uint32_t document) {
    return std::any_of(excluded.begin(), excluded.end(), [&](std::size_t c) {
      return matchers[c].seek(document) == document && matchers[c].confirm();
    });
  }
};

}  // namespace reef::search
