#include "search/matcher.h"

#include <algorithm>

namespace reef::search {
namespace {

// From this many postings in a window on, computing every place is quicker.
constexpr std::size_t kWorthAll = 96;

}  // namespace

Gathered::Builder::Builder(std::uint32_t documents, std::uint64_t postings) {
  constexpr std::uint64_t kSortingCosts = 16;
  if (postings * kSortingCosts > documents) by_document_.resize(documents);
}

std::shared_ptr<const Gathered> Gathered::Builder::finish() {
  auto out = std::make_shared<Gathered>();
  for (std::uint32_t document = 0; document < by_document_.size(); ++document)
    if (by_document_[document] > 0) found_.push_back({document, by_document_[document]});
  if (by_document_.empty())
    std::sort(found_.begin(), found_.end(), [](const One& a, const One& b) {
      return a.document != b.document ? a.document < b.document : a.impact > b.impact;
    });
  const auto same = [](const One& a, const One& b) { return a.document == b.document; };
  found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
  for (const auto& one : found_) out->bound_ = std::max(out->bound_, one.impact);
  out->all_ = std::move(found_);
  return out;
}

Matcher::Matcher(const Clause& clause, float weight, std::vector<Leaf> leaves,
                 const FieldScales& scales, Lengths lengths,
                 std::shared_ptr<const Gathered> gathered)
    : phrase_(clause.kind == Clause::Kind::phrase),
      weight_(weight),
      scales_(&scales),
      lengths_(lengths),
      leaves_(std::move(leaves)),
      gathered_(std::move(gathered)) {
  if (phrase_) words_ = clause.terms.size();
  // When the last word of a phrase has several terms, the other words bound its score.
  const bool several = phrase_ && words_ > 1 && leaves_.size() > words_;
  const auto counted = several ? words_ - 1 : leaves_.size();
  for (const auto& leaf : std::span(leaves_).first(counted)) {
    const auto most = weight_ * leaf.weight * leaf.cursor.bound();
    bound_ = phrase_ && bound_ > 0 ? std::min(bound_, most) : std::max(bound_, most);
  }
  if (gathered_) bound_ = std::max(bound_, weight_ * gathered_->bound());
}

const Gathered::One* Matcher::find_gathered(std::uint32_t target) {
  const auto all = gathered_->all();
  const auto* first = all.data() + gathered_at_;
  const auto* end = all.data() + all.size();
  if (first != end && first->document < target)
    first = std::lower_bound(
        first, end, target,
        [](const Gathered::One& one, std::uint32_t wanted) { return one.document < wanted; });
  gathered_at_ = static_cast<std::size_t>(first - all.data());
  return first;
}

std::uint32_t Matcher::seek(std::uint32_t target) {
  if (leaves_.empty()) return document_ = Cursor::kEnd;
  if (!phrase_) {
    auto first = Cursor::kEnd;
    for (auto& leaf : leaves_) first = std::min(first, leaf.cursor.seek(target));
    if (gathered_ && find_gathered(target) != gathered_->all().data() + gathered_->all().size())
      first = std::min(first, gathered_->all()[gathered_at_].document);
    return document_ = first;
  }
  return document_ = seek_phrase(target);
}

std::uint32_t Matcher::seek_last(std::uint32_t target) {
  auto first = Cursor::kEnd;
  for (auto at = words_ - 1; at < leaves_.size(); ++at)
    first = std::min(first, leaves_[at].cursor.seek(target));
  return first;
}

std::uint32_t Matcher::seek_phrase(std::uint32_t target) {
  for (std::size_t same = 0; same < words_;) {
    const auto found = same + 1 < words_ ? leaves_[same].cursor.seek(target) : seek_last(target);
    if (found == Cursor::kEnd) return Cursor::kEnd;
    if (found == target) {
      ++same;
    } else {
      target = found;
      same = 0;
    }
  }
  return target;
}

bool Matcher::read_positions() {
  positions_.resize(words_);
  for (std::size_t i = 0; i + 1 < words_; ++i)
    if (!leaves_[i].cursor.positions(positions_[i])) return false;
  auto& last = positions_[words_ - 1];
  last.clear();
  std::vector<std::uint32_t> some;
  for (auto at = words_ - 1; at < leaves_.size(); ++at) {
    if (leaves_[at].cursor.seek(document_) != document_) continue;
    if (!leaves_[at].cursor.positions(some)) return false;
    last.insert(last.end(), some.begin(), some.end());
  }
  std::sort(last.begin(), last.end());
  return true;
}

bool Matcher::confirm() {
  if (!phrase_) return true;
  const auto of = lengths_.of(document_);
  counts_.fill(0);
  if (!read_positions()) return false;
  bool any = false;
  std::vector<std::size_t> at(words_, 0);
  std::size_t field = 0;
  std::uint32_t field_end = of.fields > 0 ? of.words[0] : 0;
  std::uint32_t last = UINT32_MAX;
  for (const auto start : positions_[0]) {
    if (start == last) continue;  // a word and its part share one position
    last = start;
    bool here = true;
    for (std::size_t i = 1; i < words_ && here; ++i) {
      const auto wanted = start + static_cast<std::uint32_t>(i);
      auto& place = at[i];
      while (place < positions_[i].size() && positions_[i][place] < wanted) ++place;
      here = place < positions_[i].size() && positions_[i][place] == wanted;
    }
    if (!here) continue;
    while (field + 1 < of.fields && start >= field_end) {
      field_end += kFieldGap + of.words[field + 1];
      ++field;
    }
    ++counts_[field];
    any = true;
  }
  return any;
}

void Matcher::visit(std::uint32_t from, std::uint32_t to, const Norms& norms, float* scores) {
  for (auto& leaf : leaves_) {
    const float weight = leaf.weight * weight_;
    if (std::uint64_t{leaf.cursor.df()} * Norms::kWindow >= kWorthAll * lengths_.documents.size()) {
      Norms::Payloads all{};
      leaf.cursor.visit(from, to, [&](const auto* documents, const auto* payloads, auto count) {
        for (std::uint32_t i = 0; i < count; ++i) all[documents[i] - from] = payloads[i];
      });
      norms.raise(from, all, weight, scores);
      continue;
    }
    leaf.cursor.visit(from, to, [&](const auto* documents, const auto* payloads, auto count) {
      for (std::uint32_t i = 0; i < count; ++i) {
        const float score = weight * norms.impact(documents[i], payloads[i]);
        auto& place = scores[documents[i] - from];
        place = place < score ? score : place;
      }
    });
  }
  visit_gathered(from, to, scores, [](std::uint32_t) {});
}

float Matcher::score() {
  if (phrase_) return weight_ * scales_->impact(lengths_.of(document_), counts_);
  float best = 0;
  for (auto& leaf : leaves_)
    if (leaf.cursor.seek(document_) == document_)
      best = std::max(best, leaf.weight * weight_ *
                                scales_->impact(lengths_, document_, leaf.cursor.payload()));
  if (gathered_ && gathered_at_ < gathered_->all().size() &&
      gathered_->all()[gathered_at_].document == document_)
    best = std::max(best, weight_ * gathered_->all()[gathered_at_].impact);
  return best;
}

float Matcher::bound(std::uint32_t from, std::uint32_t to) {
  // The word before the last bounds a phrase as well as all its possible last words do.
  if (phrase_ && leaves_.size() > words_)
    return leaves_[0].weight * weight_ * leaves_[0].cursor.bound(from, to);
  float most = 0;
  for (auto& leaf : leaves_)
    most = std::max(most, leaf.weight * weight_ * leaf.cursor.bound(from, to));
  if (gathered_) {
    const auto* one = find_gathered(from);
    const auto all = gathered_->all();
    if (one != all.data() + all.size() && one->document < to)
      most = std::max(most, weight_ * gathered_->bound());
  }
  return most;
}

std::uint32_t Matcher::next_at_least() const {
  auto first = Cursor::kEnd;
  for (const auto& leaf : leaves_) first = std::min(first, leaf.cursor.next_at_least());
  if (gathered_ && gathered_at_ < gathered_->all().size())
    first = std::min(first, gathered_->all()[gathered_at_].document);
  return first;
}

}  // namespace reef::search
