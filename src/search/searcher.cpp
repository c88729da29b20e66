#include "search/searcher.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "base/helper.h"
#include "search/any_of.h"
#include "search/rough_first.h"
#include "search/spelling.h"

namespace reef::search {
namespace {

// The weight of a related form ("painted" for "painting"), or of a longer word for a prefix.
constexpr float kFormWeight = 0.8F;
// A prefix looks at the first number of terms in a segment, or at the second when it is required or
// excluded. Up to the third number of terms are walked side by side; beyond it all are read at
// once.
constexpr std::size_t kPrefixTermsRead = 8192;
constexpr std::size_t kPrefixTermsReadMax = 1U << 20;
constexpr std::size_t kPrefixTermsWalked = 64;
// An open phrase may end in this many different words; the most frequent are taken.
constexpr std::size_t kPhraseEndsMax = 512;
// This many words of a segment are compared with a misspelt one.
constexpr std::size_t kNearTermsRead = 100'000;
// Up to this many groups are looked up one by one.
constexpr std::size_t kSingleGroupsMax = 256;
// Work of this many postings is shared with a Helper who is present, or with one we have to wait
// for.
constexpr std::uint64_t kSharedPostings = 2'000;
constexpr std::uint64_t kHelpPostings = 10'000;
// This many documents are scored or looked up at a time.
constexpr std::size_t kScoredAtOnce = 16;
constexpr std::uint32_t kShareDocuments = 32 * Norms::kWindow;
// Adding up this many bytes of a Rough takes as long as one posting.
constexpr std::uint64_t kRoughPerPosting = 16;

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

Searcher::Searcher(std::vector<Unit> units, Query query, std::span<const float> weights,
                   Stemmer& stemmer)
    : units_(std::move(units)), query_(std::move(query)), stemmer_(&stemmer) {
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
  if (query_.clauses.size() > kClausesMax) choose_clauses();
  gathered_.resize(units_.size());
  for (std::size_t u = 0; u < units_.size(); ++u)
    for (std::size_t c = 0; c < query_.clauses.size(); ++c)
      gathered_[u].push_back(query_.clauses[c].kind == Clause::Kind::prefix
                                 ? gather_rare(units_[u], found_[u][c])
                                 : nullptr);
}

// Keeps the required clauses, then the rarest words that some document has; the excluded clauses
// come last.
void Searcher::choose_clauses() {
  std::vector<std::size_t> order, excluded;
  for (std::size_t c = 0; c < query_.clauses.size(); ++c)
    (query_.clauses[c].occur == Clause::Occur::excluded ? excluded : order).push_back(c);
  const auto rank = [&](std::size_t c) {
    if (query_.clauses[c].occur == Clause::Occur::required) return 0;
    return knows(c) ? 1 : 2;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto first = rank(a), second = rank(b);
    return first != second ? first < second : first > 0 && weights_[a] > weights_[b];
  });
  order.resize(std::min(order.size(), kClausesMax));
  std::sort(order.begin(), order.end());
  order.insert(order.end(), excluded.begin(), excluded.end());
  const auto keep = [&order](auto& all) {
    std::remove_reference_t<decltype(all)> kept;
    for (const auto c : order) kept.push_back(std::move(all[c]));
    all = std::move(kept);
  };
  keep(query_.clauses);
  keep(weights_);
  for (auto& unit : found_) keep(unit);
}

std::shared_ptr<const Gathered> Searcher::gather_rare(const Unit& unit,
                                                      std::vector<Found>& found) const {
  if (found.size() <= kPrefixTermsWalked) return nullptr;
  const auto& source = *unit.source;
  const auto lengths = source.lengths();
  std::uint64_t postings = 0;
  for (const auto& term : found) postings += term.df;
  Gathered::Builder builder(source.size(), postings);
  // The first term stays as a leaf, so that a clause with matches never looks empty.
  for (std::size_t at = 1; at < found.size(); ++at) {
    const auto& term = found[at];
    auto cursor = source.file
                      ? Cursor(*source.file, term.entry, 1)
                      : Cursor(*source.memory, term.memory_term, scales_.impact_max(), false);
    cursor.visit(0, source.size(), [&](const auto* documents, const auto* payloads, auto count) {
      for (std::uint32_t i = 0; i < count; ++i)
        builder.add(documents[i], term.weight * scales_.impact(lengths, documents[i], payloads[i]));
    });
  }
  found.resize(1);
  return builder.finish();
}

bool Searcher::knows(std::size_t clause) const {
  return std::any_of(found_.begin(), found_.end(),
                     [&](const auto& unit) { return !unit[clause].empty(); });
}

std::uint64_t Searcher::postings() const {
  std::uint64_t sum = 0;
  for (const auto& unit : found_)
    for (const auto& clause : unit)
      for (const auto& found : clause) sum += found.df;
  return sum;
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
  // The first letter is rarely wrong, and insisting on it spares looking at all other words.
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

  // Adds all longer terms as `word`; for phrases without compounds, which have no positions.
  const bool phrase = clause.kind == Clause::Kind::phrase;
  const auto add_longer = [&](std::string_view term, std::size_t most, float weight,
                              std::size_t word) {
    std::size_t read = 0;
    const auto counts = [&](std::string_view key) {
      return key != term && (!phrase || has_positions(key));
    };
    if (file) {
      auto walk = file->vocabulary().walk_from(term);
      while (read++ < most && walk.next() && walk.key().starts_with(term))
        if (counts(walk.key())) add_file(file->entry(walk.entry()), weight, word);
    } else {
      const auto& sorted = memory->sorted();
      auto at = std::lower_bound(
          sorted.begin(), sorted.end(), term,
          [&](std::uint32_t id, std::string_view text) { return memory->text(id) < text; });
      for (; read++ < most && at != sorted.end() && memory->text(*at).starts_with(term); ++at)
        if (counts(memory->text(*at))) add_memory(*at, weight, word);
    }
  };

  if (phrase) {
    const auto last = clause.terms.size() - 1;
    for (std::size_t word = 0; word < last; ++word) add_exact(clause.terms[word], 1, word);
    const auto before = out.size();
    add_exact(clause.terms[last], 1, last);
    if (clause.open) {
      add_longer(clause.terms[last], kPrefixTermsRead, 1, last);
      std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(),
                       [](const Found& a, const Found& b) { return a.df > b.df; });
      out.resize(std::min(out.size(), before + kPhraseEndsMax));
    }
    return out;
  }
  const std::string_view term = clause.terms[0];
  const auto self = file ? file->vocabulary().find(term) : std::nullopt;
  if (self) add_file(file->entry(*self), 1, 0);
  if (memory) add_exact(term, 1, 0);
  if (clause.kind == Clause::Kind::prefix) {
    const auto most =
        clause.occur == Clause::Occur::optional ? kPrefixTermsRead : kPrefixTermsReadMax;
    add_longer(term, most, kFormWeight, 0);
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
  for (const auto number : relatives) {
    if (self && self->ordinal == number) continue;
    if (const auto entry = file->vocabulary().at(number))
      add_file(file->entry(*entry), kFormWeight, 0);
  }
  // A term that is its own only relative has no entry among the stems; the vocabulary finds it.
  if (relatives.empty() && stem != term && Stemmer::applies(stem) && stemmer_->stem(stem) == stem)
    add_exact(stem, kFormWeight, 0);
  return out;
}

bool Searcher::has_all_words(const Clause& clause, std::span<const Found> found) {
  std::size_t words = 0;
  for (const auto& one : found) words += one.word == words ? 1 : 0;
  return words == clause.terms.size();
}

std::vector<Matcher> Searcher::matchers(std::size_t u, bool with_excluded) const {
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
    if (wanted && (!phrase || has_all_words(clause, found))) {
      leaves.reserve(found.size());
      for (const auto& term : found) {
        if (source.file)
          leaves.emplace_back(term.weight, *source.file, term.entry, growth);
        else
          leaves.emplace_back(term.weight, *source.memory, term.memory_term, scales_.impact_max(),
                              phrase);
      }
    }
    out.emplace_back(clause, weights_[c], std::move(leaves), scales_, source.lengths(),
                     wanted ? gathered_[u][c] : nullptr);
  }
  return out;
}

std::vector<Hit> Searcher::best(const Filter& filter, std::size_t limit, bool one_per_group) {
  if (limit == 0 || (query_.clauses.empty() && !query_.everything)) return {};
  Top top(units_, limit, one_per_group);
  run(filter, top);
  return top.take();
}

std::vector<Hit> Searcher::best_in_place(const Filter& filter, std::size_t limit) {
  if (limit == 0 || query_.clauses.empty()) return {};
  Top top(units_, limit, false);
  run(filter, top);
  auto hits = top.take_in_place();
  const auto fill = [&](std::size_t n) {
    const auto from = n * kScoredAtOnce;
    for (auto i = from; i < std::min(hits.size(), from + kScoredAtOnce); ++i)
      hits[i].row = units_[hits[i].unit].source->row(hits[i].document);
  };
  share((hits.size() + kScoredAtOnce - 1) / kScoredAtOnce, fill, fill);
  return hits;
}

void Searcher::run(const Filter& filter, Top& top) {
  // Large segments come first: their hits let most of the small ones be passed over.
  std::vector<std::uint32_t> order(units_.size());
  for (std::uint32_t u = 0; u < order.size(); ++u) order[u] = u;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return units_[a].source->size() > units_[b].source->size();
  });
  for (const auto u : order) run(u, filter, top);
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
  const bool nothing = plan.optional.empty() && plan.required.empty();
  if (missing || (nothing && !query_.everything)) return;

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
  if (nothing) return run_everything(plan, top);
  if (!plan.required.empty()) return run_all(plan, top);
  if (const auto views = roughs(plan); !views.empty() && !top.grouped())
    run_roughly(plan, views, top);
  else if (const auto postings = postings_of(plan);
           source.file && !top.grouped() && plan.ranges.size() == 1 &&
           worth_help(std::accumulate(postings.begin(), postings.end(), std::uint64_t{0})))
    run_with_help(plan, top);
  else
    AnyOf(*this, plan, top).run();
}

void Searcher::share(std::pair<std::uint32_t, std::uint32_t> range, const Work& here,
                     const Work& there) {
  const auto [begin, end] = range;
  const auto part = [begin = begin, end = end](const Work& work) {
    return [&work, begin, end](std::size_t n) {
      const auto from = begin + static_cast<std::uint32_t>(n) * kShareDocuments;
      work(from, std::min(end, from + kShareDocuments));
    };
  };
  const auto count = (end - begin + kShareDocuments - 1) / kShareDocuments;
  helper_->share(count, part(here), part(there));
}

std::vector<std::uint64_t> Searcher::postings_of(const Plan& plan) const {
  std::vector<std::uint64_t> out;
  for (const auto c : plan.optional) {
    auto& sum = out.emplace_back();
    for (const auto& found : found_[plan.unit][c]) sum += found.df;
  }
  return out;
}

bool Searcher::worth_help(std::uint64_t postings) const {
  if (!helper_) return false;
  return postings >= (helper_->present() ? kSharedPostings : kHelpPostings);
}

void Searcher::run_with_help(Plan& plan, Top& top) {
  std::atomic<float> threshold = 0;
  auto theirs = top.helper(threshold);
  auto other = plan.again(matchers(plan.unit, true));
  AnyOf here(*this, plan, top);
  AnyOf there(*this, other, theirs);
  share(
      plan.ranges[0], [&](auto begin, auto end) { here.run(begin, end); },
      [&](auto begin, auto end) { there.run(begin, end); });
  top.take_over(std::move(theirs));
}

std::vector<RoughView> Searcher::roughs(const Plan& plan) {
  auto* shelf = plan.where->rough;
  const auto documents = plan.where->source->size();
  if (!shelf || plan.ranges.size() != 1 || plan.ranges[0] != std::pair(0U, documents)) return {};
  std::vector<RoughView> views(plan.optional.size());
  bool any = false;
  shelf->begin_search();
  std::vector<Matcher> reading;
  const auto postings = postings_of(plan);
  for (std::size_t n = 0; n < views.size(); ++n) {
    const auto c = plan.optional[n];
    const auto& clause = query_.clauses[c];
    if (clause.kind != Clause::Kind::word || !RoughShelf::suits(postings[n], documents)) continue;
    if (reading.empty()) reading = matchers(plan.unit, false);
    const auto name = clause.terms[0] + (clause.forms ? " and forms" : "");
    views[n] = shelf->find(name, weights_[c], reading[c], scales_, documents);
    any = any || views[n].rough;
  }
  if (!any) views.clear();
  return views;
}

void Searcher::run_roughly(Plan& plan, std::span<const RoughView> views, Top& top) {
  std::uint64_t cost = 0;  // measured in postings
  const auto postings = postings_of(plan);
  for (std::size_t n = 0; n < views.size(); ++n)
    cost += views[n].rough ? plan.where->source->size() / kRoughPerPosting : postings[n];
  std::atomic<float> threshold = top.threshold();
  RoughFirst here(*this, plan, views, top.limit(), threshold);
  if (worth_help(cost)) {
    auto other = plan.again(matchers(plan.unit, true));
    RoughFirst there(*this, other, views, top.limit(), threshold);
    share(
        plan.ranges[0], [&](auto begin, auto end) { here.run(begin, end); },
        [&](auto begin, auto end) { there.run(begin, end); });
    here.take_over(there);
  } else {
    here.run(plan.ranges[0].first, plan.ranges[0].second);
  }
  here.finish(*this, top);
}

// Used when some clauses are required: visits the documents they share one by one.
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

void Searcher::run_everything(Plan& plan, Top& top) {
  for (const auto& [begin, end] : plan.ranges)
    for (auto document = begin; document < end; ++document)
      if (plan.allowed(document) && !plan.is_excluded(document))
        top.offer({.unit = plan.unit, .document = document});
}

void Searcher::Scorer::score(Hit& hit) {
  hit.score = 0;
  hit.matched = 0;
  if (hit.unit >= searcher_.units_.size()) return;
  // Matchers only go forward.
  if (unit_ != hit.unit || hit.document < document_) {
    unit_ = hit.unit;
    matchers_ = searcher_.matchers(unit_, false);
  }
  document_ = hit.document;
  for (std::size_t c = 0; c < matchers_.size(); ++c) {
    auto& matcher = matchers_[c];
    if (matcher.empty() || matcher.seek(hit.document) != hit.document || !matcher.confirm())
      continue;
    hit.score += matcher.score();
    hit.matched |= 1U << c;
  }
}

namespace {

std::vector<Hit*> in_order(std::span<Hit> documents) {
  std::vector<Hit*> order;
  order.reserve(documents.size());
  for (auto& hit : documents) order.push_back(&hit);
  const auto earlier = [](const Hit* a, const Hit* b) {
    return std::tie(a->unit, a->document) < std::tie(b->unit, b->document);
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier))
    std::sort(order.begin(), order.end(), earlier);
  return order;
}

}  // namespace

void Searcher::Scorer::score(std::span<Hit> documents) {
  for (auto* hit : in_order(documents)) score(*hit);
}

void Searcher::score(std::span<Hit> documents) {
  const auto order = in_order(documents);
  Scorer here(*this), there(*this);
  const auto some = [&order](Scorer& scorer) {
    return [&order, &scorer](std::size_t n) {
      const auto from = n * kScoredAtOnce;
      for (auto i = from; i < std::min(order.size(), from + kScoredAtOnce); ++i)
        scorer.score(*order[i]);
    };
  };
  share((order.size() + kScoredAtOnce - 1) / kScoredAtOnce, some(here), some(there));
}

void Searcher::share(std::size_t count, const Part& here, const Part& there) {
  constexpr std::size_t kWorthSharing = 3;
  if (count >= kWorthSharing && helper_ && helper_->present())
    return helper_->share(count, here, there);
  for (std::size_t n = 0; n < count; ++n) here(n);
}

}  // namespace reef::search
