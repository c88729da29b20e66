#include "search/searcher.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

#include "search/spelling.h"

namespace reef::search {
namespace {

// A related form ("painted" for "painting"), or a longer word for a prefix.
constexpr float kFormWeight = 0.8F;
// A prefix looks at this many terms of a segment and takes the most frequent of them.
constexpr std::size_t kPrefixTermsRead = 8192;
constexpr std::size_t kPrefixTermsMax = 128;
// How many words of a segment are compared with a misspelt one.
constexpr std::size_t kNearTermsRead = 100'000;
// Documents scored together.
constexpr std::uint32_t kWindow = Norms::kMost;
// From so many postings in a window on, all its places are added up.
constexpr std::uint64_t kDensePostings = 96;
constexpr float kMost = std::numeric_limits<float>::max();
// Bounds are computed in another order than scores: nothing within this of the worst hit is passed
// over.
constexpr float kSlackFactor = 1.00001F;
// Single groups are looked for one by one while they are few.
constexpr std::size_t kSingleGroupsMax = 256;

}  // namespace

void GroupSet::add(std::uint32_t group) {
  if (has(group)) return;
  if (bits_.size() <= group / 64) bits_.resize(group / 64 + 1);
  bits_[group / 64] |= std::uint64_t{1} << (group % 64);
  members_.push_back(group);
}

bool better(const Hit& a, const Hit& b) {
  return std::tie(b.score, b.row.time_ms, a.row.group, a.row.key, a.document) <
         std::tie(a.score, a.row.time_ms, b.row.group, b.row.key, b.document);
}

// The best hits so far, and some that may be among them. Nothing below the threshold is wanted any
// more. Rows are looked at only where scores are equal, and at the end.
class Searcher::Top {
 public:
  Top(std::span<const Unit> units, std::size_t limit, std::size_t per_group_max)
      : units_(units),
        limit_(limit),
        room_(limit + std::max(limit / 2, kRoomMin)),
        per_group_max_(per_group_max) {}

  float threshold() const { return threshold_; }

  void offer(const Hit& hit) {
    if (hit.score < threshold_) return;
    if (per_group_max_ > 0) return offer_grouped(with_row(hit));
    hits_.push_back({hit.score, hit.unit, hit.document, hit.matched});
    if (hits_.size() >= room_) shrink();
  }

  std::vector<Hit> take() {
    if (hits_.size() > limit_) shrink();
    for (const auto& one : hits_) grouped_.push_back(with_row(one));
    std::sort(grouped_.begin(), grouped_.end(), better);
    if (grouped_.size() > limit_) grouped_.resize(limit_);
    return std::move(grouped_);
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
  Hit with_row(const Light& one) const {
    return with_row(Hit{
        .unit = one.unit, .document = one.document, .score = one.score, .matched = one.matched});
  }

  void shrink() {
    const auto last = hits_.begin() + static_cast<std::ptrdiff_t>(limit_ - 1);
    std::nth_element(hits_.begin(), last, hits_.end(),
                     [](const Light& a, const Light& b) { return a.score > b.score; });
    threshold_ = last->score;
    std::erase_if(hits_, [this](const Light& one) { return one.score < threshold_; });
    if (hits_.size() < room_) return;
    // Many are worth the same.
    std::nth_element(hits_.begin(), hits_.begin() + static_cast<std::ptrdiff_t>(limit_ - 1),
                     hits_.end(), [this](const Light& a, const Light& b) {
                       return a.score != b.score ? a.score > b.score
                                                 : better(with_row(a), with_row(b));
                     });
    hits_.resize(limit_);
  }

  // A heap, the worst in front; at most per_group_max_ of each group.
  void offer_grouped(const Hit& hit) {
    auto& count = groups_[hit.row.group];
    if (count >= per_group_max_) {
      auto worst = grouped_.end();
      for (auto at = grouped_.begin(); at != grouped_.end(); ++at)
        if (at->row.group == hit.row.group && (worst == grouped_.end() || better(*worst, *at)))
          worst = at;
      if (worst == grouped_.end() || !better(hit, *worst)) return;
      *worst = hit;
      std::make_heap(grouped_.begin(), grouped_.end(), better);
    } else {
      if (grouped_.size() == limit_) {
        if (!better(hit, grouped_.front())) return;
        std::pop_heap(grouped_.begin(), grouped_.end(), better);
        --groups_[grouped_.back().row.group];
        grouped_.pop_back();
      }
      ++groups_[hit.row.group];
      grouped_.push_back(hit);
      std::push_heap(grouped_.begin(), grouped_.end(), better);
    }
    if (grouped_.size() == limit_) threshold_ = grouped_.front().score;
  }

  std::span<const Unit> units_;
  std::size_t limit_;
  std::size_t room_;
  std::size_t per_group_max_;
  float threshold_ = 0;
  std::vector<Light> hits_;
  std::vector<Hit> grouped_;
  std::unordered_map<std::uint32_t, std::size_t> groups_;
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

Searcher::Searcher(std::vector<Unit> units, Query query, std::span<const float> weights,
                   Stemmer& stemmer)
    : units_(std::move(units)), query_(std::move(query)), stemmer_(&stemmer) {
  if (query_.clauses.size() > kClausesMax) query_.clauses.resize(kClausesMax);
  for (auto& clause : query_.clauses)
    if (clause.kind == Clause::Kind::phrase && clause.occur == Clause::Occur::optional)
      clause.occur = Clause::Occur::required;
  Statistics all;
  for (const auto& unit : units_)
    all +=
        unit.source->memory ? unit.source->memory->statistics() : unit.source->file->statistics();
  scales_ = FieldScales(weights, all);
  found_.resize(units_.size());
  for (std::size_t u = 0; u < units_.size(); ++u)
    for (const auto& clause : query_.clauses) found_[u].push_back(find(units_[u], clause));
  for (std::size_t c = 0; c < query_.clauses.size(); ++c) {
    const auto& clause = query_.clauses[c];
    std::vector<std::uint64_t> df(clause.terms.size());
    for (const auto& unit : found_)
      for (const auto& found : unit[c]) df[found.word] += found.df;
    float sum = 0;
    for (const auto count : df) sum += idf(all.documents, count);
    weights_.push_back(sum * clause.weight);
  }
}

bool Searcher::knows(std::size_t clause) const {
  return std::any_of(found_.begin(), found_.end(),
                     [&](const auto& unit) { return !unit[clause].empty(); });
}

std::string nearest_word(std::span<const Unit> units, std::string_view word) {
  struct Near {
    std::size_t mistakes = 0;
    std::uint64_t documents = 0;
  };
  std::map<std::string, Near, std::less<>> near;
  Nearness nearness(word, mistakes_allowed(word));
  const auto consider = [&](std::string_view term, auto df) {
    const auto mistakes = nearness.of(term);
    if (!mistakes || !Stemmer::applies(term)) return;
    auto& entry = near[std::string(term)];
    entry.mistakes = *mistakes;
    entry.documents += df();
  };
  // The first letter is hardly ever wrong, and saves looking at all the others.
  const auto first = word.substr(0, 1);
  for (const auto& unit : units) {
    std::size_t read = 0;
    if (const auto* file = unit.source->file.get()) {
      auto walk = file->vocabulary().walk_from(first);
      while (read++ < kNearTermsRead && walk.next() && walk.key().starts_with(first)) {
        consider(walk.key(), [&] {
          const auto entry = file->entry(walk.entry());
          return entry ? entry->df : 0;
        });
        if (nearness.hopeless() > 0)
          walk.pass(std::string_view(walk.key()).substr(0, nearness.hopeless()));
      }
    } else {
      const auto& memory = *unit.source->memory;
      const auto count = static_cast<std::uint32_t>(memory.term_count());
      for (std::uint32_t term = 0; term < count && read < kNearTermsRead; ++term) {
        const auto text = memory.text(term);
        if (!text.starts_with(first)) continue;
        ++read;
        consider(text, [&] { return memory.term(term).df; });
      }
    }
  }
  const auto best = std::min_element(near.begin(), near.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.mistakes, b.second.documents) <
           std::pair(b.second.mistakes, a.second.documents);
  });
  return best == near.end() ? std::string() : best->first;
}

std::vector<Searcher::Found> Searcher::find(const Unit& unit, const Clause& clause) {
  std::vector<Found> out;
  const auto* memory = unit.source->memory.get();
  const auto* file = unit.source->file.get();
  const auto add_memory = [&](std::uint32_t term, float weight, std::size_t word) {
    out.push_back({{}, term, memory->term(term).df, weight, word});
  };
  const auto add_file = [&](const std::optional<TermEntry>& entry, float weight, std::size_t word) {
    if (entry) out.push_back({*entry, 0, entry->df, weight, word});
  };
  const auto add_exact = [&](std::string_view term, float weight, std::size_t word) {
    if (file) return add_file(file->find(term), weight, word);
    if (const auto id = memory->find(term); id != MemorySegment::kNoTerm)
      add_memory(id, weight, word);
  };

  if (clause.kind == Clause::Kind::phrase) {
    for (std::size_t word = 0; word < clause.terms.size(); ++word)
      add_exact(clause.terms[word], 1, word);
    return out;
  }
  const std::string_view term = clause.terms[0];
  add_exact(term, 1, 0);
  if (clause.kind == Clause::Kind::prefix) {
    std::size_t read = 0;
    const auto exact = out.size();
    if (file) {
      auto walk = file->vocabulary().walk_from(term);
      while (read++ < kPrefixTermsRead && walk.next() && walk.key().starts_with(term))
        if (walk.key() != term) add_file(file->entry(walk.entry()), kFormWeight, 0);
    } else {
      const auto& sorted = memory->sorted();
      auto at = std::lower_bound(
          sorted.begin(), sorted.end(), term,
          [&](std::uint32_t id, std::string_view text) { return memory->text(id) < text; });
      for (; read++ < kPrefixTermsRead && at != sorted.end() && memory->text(*at).starts_with(term);
           ++at)
        if (memory->text(*at) != term) add_memory(*at, kFormWeight, 0);
    }
    if (out.size() > kPrefixTermsMax) {
      std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(exact), out.end(),
                       [](const Found& a, const Found& b) { return a.df > b.df; });
      out.resize(kPrefixTermsMax);
    }
    return out;
  }
  if (!clause.forms || !Stemmer::applies(term)) return out;
  const std::string stem(stemmer_->stem(term));
  if (memory) {
    for (const auto id : memory->with_stem(stem, *stemmer_))
      if (memory->text(id) != term) add_memory(id, kFormWeight, 0);
    return out;
  }
  const auto relatives = file->with_stem(stem);
  const auto self = file->vocabulary().find(term);
  for (const auto number : relatives) {
    if (self && self->ordinal == number) continue;
    if (const auto entry = file->vocabulary().at(number))
      add_file(file->entry(*entry), kFormWeight, 0);
  }
  // A stem without an entry stands for itself.
  if (relatives.empty() && stem != term && Stemmer::applies(stem) && stemmer_->stem(stem) == stem)
    add_exact(stem, kFormWeight, 0);
  return out;
}

std::vector<Matcher> Searcher::matchers(std::size_t u, bool with_excluded) {
  const auto& source = *units_[u].source;
  const float growth =
      source.file ? scales_.growth_from(source.file->scales()) * kSlackFactor : 1.0F;
  std::vector<Matcher> out;
  out.reserve(query_.clauses.size());
  for (std::size_t c = 0; c < query_.clauses.size(); ++c) {
    const auto& clause = query_.clauses[c];
    std::vector<Matcher::Leaf> leaves;
    const auto& found = found_[u][c];
    const bool phrase = clause.kind == Clause::Kind::phrase;
    const bool wanted = with_excluded || clause.occur != Clause::Occur::excluded;
    // A phrase needs all its words.
    if (wanted && (!phrase || found.size() == clause.terms.size())) {
      leaves.reserve(found.size());
      for (const auto& term : found) {
        if (source.file)
          leaves.emplace_back(term.weight, *source.file, term.entry, growth);
        else
          leaves.emplace_back(term.weight, *source.memory, term.memory_term, scales_.impact_max(),
                              phrase);
      }
    }
    out.emplace_back(clause, weights_[c], std::move(leaves), scales_, source.lengths());
  }
  return out;
}

std::vector<Hit> Searcher::best(const Filter& filter, std::size_t limit,
                                std::size_t per_group_max) {
  if (limit == 0 || query_.clauses.empty()) return {};
  Top top(units_, limit, per_group_max);
  // Large segments first: what they find lets most of the small ones be passed over.
  std::vector<std::uint32_t> order(units_.size());
  for (std::uint32_t u = 0; u < order.size(); ++u) order[u] = u;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return units_[a].source->size() > units_[b].source->size();
  });
  for (const auto u : order) run(u, filter, top);
  return top.take();
}

void Searcher::run(std::uint32_t u, const Filter& filter, Top& top) {
  Plan plan;
  plan.unit = u;
  plan.where = &units_[u];
  plan.filter = &filter;
  const Filter all;
  plan.filtered = filter.groups || filter.accept || filter.time_from_ms != all.time_from_ms ||
                  filter.time_to_ms != all.time_to_ms;
  bool missing = false;
  for (std::size_t c = 0; c < query_.clauses.size(); ++c) {
    const bool none = found_[u][c].empty();
    switch (query_.clauses[c].occur) {
      case Clause::Occur::optional:
        if (!none) plan.optional.push_back(c);
        break;
      case Clause::Occur::required:
        missing = missing || none;
        plan.required.push_back(c);
        break;
      case Clause::Occur::excluded:
        if (!none) plan.excluded.push_back(c);
        break;
    }
  }
  if (missing || (plan.optional.empty() && plan.required.empty())) return;

  const auto& source = *plan.where->source;
  if (filter.groups && source.file && filter.groups->members().size() <= kSingleGroupsMax) {
    for (const auto group : filter.groups->members())
      if (const auto range = source.file->of_group(group); range.first < range.second)
        plan.ranges.push_back(range);
    std::sort(plan.ranges.begin(), plan.ranges.end());
  } else {
    plan.ranges.emplace_back(0, source.size());
  }
  if (plan.ranges.empty()) return;
  plan.matchers = matchers(u, true);
  if (plan.required.empty())
    run_any(plan, top);
  else
    run_all(plan, top);
}

// Any of the clauses will do. Windows of documents; in each, clauses that cannot lift a document
// over the threshold together are not read but only asked about the candidates of the others.
void Searcher::run_any(Plan& plan, Top& top) {
  const auto count = plan.optional.size();
  std::vector<float> scores(count * kWindow);
  std::vector<float> sums(kWindow);
  std::vector<std::uint8_t> seen(kWindow);
  std::vector<std::uint16_t> touched(kWindow + 1);
  std::vector<std::uint16_t> candidates;
  std::vector<float> bounds(count);
  std::vector<std::size_t> order(count);  // by bound, ascending
  std::vector<float> own(count);
  std::vector<std::uint64_t> postings(count);
  Norms norms(scales_, plan.where->source->lengths());
  const auto matcher = [&](std::size_t n) -> Matcher& { return plan.matchers[plan.optional[n]]; };
  const auto scores_of = [&](std::size_t n) { return scores.data() + n * kWindow; };
  float total = 0;
  for (std::size_t n = 0; n < count; ++n) {
    total += matcher(n).bound();
    for (const auto& found : found_[plan.unit][plan.optional[n]]) postings[n] += found.df;
  }

  for (const auto& [begin, end] : plan.ranges) {
    for (auto from = begin; from < end;) {
      const auto to = std::min(end - from > kWindow ? from + kWindow : end, end);
      const auto threshold = top.threshold();
      if (total * kSlackFactor < threshold) return;
      float sum = 0;
      for (std::size_t n = 0; n < count; ++n) {
        bounds[n] = matcher(n).bound(from, to);
        order[n] = n;
        sum += bounds[n];
      }
      if (sum == 0 || sum * kSlackFactor < threshold) {
        // Nothing is known of where the next window worth reading starts, unless all cursors stand.
        auto next = Cursor::kEnd;
        if (sum == 0)
          for (std::size_t n = 0; n < count; ++n) next = std::min(next, matcher(n).next_at_least());
        from = sum == 0 ? std::max(to, std::min(next, end)) : to;
        continue;
      }
      std::sort(order.begin(), order.end(),
                [&](std::size_t a, std::size_t b) { return bounds[a] < bounds[b]; });
      std::size_t asked = 0;  // order[0, asked) are only asked
      float rest = 0;
      while (asked + 1 < count && (rest + bounds[order[asked]]) * kSlackFactor < threshold)
        rest += bounds[order[asked++]];

      std::uint64_t expected = 0;
      for (auto k = asked; k < count; ++k) expected += postings[order[k]];
      candidates.clear();
      std::size_t touched_count = 0;
      const bool dense = expected * kWindow / plan.where->source->size() >= kDensePostings;
      if (dense) {
        // Nearly every document has one: all places are added up without asking which.
        norms.fill(from, to);
        std::fill(sums.begin(), sums.end(), rest);
        for (auto k = asked; k < count; ++k) {
          const auto n = order[k];
          if (bounds[n] == 0) continue;
          auto* here = scores_of(n);
          matcher(n).visit(from, to, norms, here);
          for (std::size_t i = 0; i < kWindow; ++i) sums[i] += here[i];
        }
        const auto wanted = std::max(threshold / kSlackFactor, std::nextafter(rest, kMost));
        for (std::size_t i = 0; i < kWindow; ++i) {
          touched[touched_count] = static_cast<std::uint16_t>(i);
          touched_count += sums[i] >= wanted ? 1 : 0;
        }
        candidates.assign(touched.begin(),
                          touched.begin() + static_cast<std::ptrdiff_t>(touched_count));
      } else {
        for (auto k = asked; k < count; ++k) {
          const auto n = order[k];
          if (bounds[n] == 0) continue;
          matcher(n).visit(from, to, scores_of(n), [&](std::uint32_t place) {
            touched[touched_count] = static_cast<std::uint16_t>(place);
            touched_count += 1U - seen[place];
            seen[place] = 1;
          });
        }
        for (std::size_t i = 0; i < touched_count; ++i) {
          const auto place = touched[i];
          float score = rest;
          for (auto k = asked; k < count; ++k) score += scores_of(order[k])[place];
          if (score * kSlackFactor >= threshold) candidates.push_back(place);
        }
        if (asked > 0 || !plan.excluded.empty()) std::sort(candidates.begin(), candidates.end());
      }
      for (const auto place : candidates) {
        const auto document = from + place;
        float most = rest;
        for (std::size_t n = 0; n < count; ++n) own[n] = scores_of(n)[place];
        for (const auto score : own) most += score;
        if (most * kSlackFactor < top.threshold()) continue;
        Hit hit{.unit = plan.unit, .document = document};
        if (!plan.allowed(document)) continue;
        for (auto k = asked; k-- > 0;) {
          const auto n = order[k];
          most -= bounds[n];
          if (matcher(n).seek(document) == document) most += own[n] = matcher(n).score();
          if (most * kSlackFactor < top.threshold()) break;
        }
        if (most * kSlackFactor < top.threshold()) continue;
        if (plan.is_excluded(document)) continue;
        // In the order of the query, so that equal documents have equal scores.
        for (std::size_t n = 0; n < count; ++n) {
          hit.score += own[n];
          if (own[n] > 0) hit.matched |= 1U << plan.optional[n];
        }
        if (hit.score < top.threshold()) continue;
        top.offer(hit);
      }
      if (dense) {
        for (auto k = asked; k < count; ++k) std::fill_n(scores_of(order[k]), kWindow, 0.0F);
      } else {
        for (std::size_t i = 0; i < touched_count; ++i) {
          const auto place = touched[i];
          seen[place] = 0;
          for (auto k = asked; k < count; ++k) scores_of(order[k])[place] = 0;
        }
      }
      from = to;
    }
  }
}

// Some clauses must match: their common documents one by one.
void Searcher::run_all(Plan& plan, Top& top) {
  std::sort(plan.required.begin(), plan.required.end(), [&](std::size_t a, std::size_t b) {
    const auto cost = [&](std::size_t c) {
      std::uint64_t df = 0;
      for (const auto& found : found_[plan.unit][c]) df += found.df;
      return df;
    };
    return cost(a) < cost(b);
  });
  float optional_most = 0;
  for (const auto c : plan.optional) optional_most += plan.matchers[c].bound();
  for (const auto& [begin, end] : plan.ranges) {
    for (auto from = begin; from < end;) {
      auto document = from;
      bool all = true;
      for (const auto c : plan.required) {
        const auto found = plan.matchers[c].seek(document);
        if (found != document && c != plan.required[0]) all = false;
        document = found;
        if (!all || document >= end) break;
      }
      if (document >= end) break;
      if (!all) {
        from = document;
        continue;
      }
      from = document + 1;
      float most = optional_most;
      for (const auto c : plan.required) most += plan.matchers[c].bound(document, document + 1);
      if (most * kSlackFactor < top.threshold()) continue;
      Hit hit{.unit = plan.unit, .document = document};
      if (!plan.allowed(document)) continue;
      if (!std::all_of(plan.required.begin(), plan.required.end(),
                       [&](std::size_t c) { return plan.matchers[c].confirm(); }))
        continue;
      if (plan.is_excluded(document)) continue;
      for (std::size_t c = 0; c < plan.matchers.size(); ++c) {
        if (query_.clauses[c].occur == Clause::Occur::excluded) continue;
        auto& matcher = plan.matchers[c];
        if (matcher.empty()) continue;
        if (query_.clauses[c].occur == Clause::Occur::optional &&
            matcher.seek(document) != document)
          continue;
        hit.score += matcher.score();
        hit.matched |= 1U << c;
      }
      top.offer(hit);
    }
  }
}

void Searcher::score(std::span<Hit> documents) {
  std::vector<Hit*> order;
  for (auto& hit : documents) order.push_back(&hit);
  std::sort(order.begin(), order.end(), [](const Hit* a, const Hit* b) {
    return std::tie(a->unit, a->document) < std::tie(b->unit, b->document);
  });
  std::vector<Matcher> here;
  std::uint32_t unit = UINT32_MAX;
  for (auto* hit : order) {
    hit->score = 0;
    hit->matched = 0;
    if (hit->unit >= units_.size()) continue;
    if (unit != hit->unit) {
      unit = hit->unit;
      here = matchers(unit, false);
    }
    for (std::size_t c = 0; c < here.size(); ++c) {
      if (here[c].empty() || here[c].seek(hit->document) != hit->document || !here[c].confirm())
        continue;
      hit->score += here[c].score();
      hit->matched |= 1U << c;
    }
  }
}

}  // namespace reef::search
