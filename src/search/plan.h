// The state that one search carries through the segments: the best hits so far, and the plan for
// each segment.
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

// Bounds are added up in another order than scores, so a bound is widened by this factor before it
// rules a document out.
inline constexpr float kSlackFactor = 1.00001F;

// The best hits so far, and some that may be among them. Hits below the threshold are no longer
// wanted. Rows are looked at only where scores are equal, and at the end.
class Searcher::Top {
 public:
  Top(std::span<const Unit> units, std::size_t limit, bool one_per_group)
      : units_(units),
        limit_(limit),
        room_(limit + std::max(limit / 2, kRoomMin)),
        one_per_group_(one_per_group) {}

  bool grouped() const { return one_per_group_; }
  std::size_t limit() const { return limit_; }
  // Makes a Top for another thread, which looks at other documents. The two share a threshold: a
  // hit below either's is below that of both. Not for grouped hits.
  Top helper(std::atomic<float>& shared) {
    shared_ = &shared;
    raise_shared();
    Top out(units_, limit_, false);
    out.shared_ = &shared;
    return out;
  }
  // Merges the other thread's hits and ends the sharing.
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
  // Returns the hits by segment and document, without rows. Not for grouped hits.
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

  // Used when many hits have the same score. From then on the worst kept row rules most others out.
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
    // The documents of a group mostly come one after the other.
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
  std::optional<Hit> worst_;  // the worst kept hit, once keep_best has run
  std::vector<Hit> grouped_;
  std::unordered_map<std::uint32_t, Hit> groups_;  // the best hit of each group
  Hit* last_ = nullptr;                            // the entry of groups_ used last
};

// The plan of one search for one segment.
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

  // Returns the same plan for another thread.
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
