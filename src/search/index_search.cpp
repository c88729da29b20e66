// Index: searching, neighbours and statistics.

#include <algorithm>
#include <tuple>

#include "search/index.h"
#include "search/spelling.h"

namespace reef::search {
namespace {

// A corrected word may not be the one that was meant, so it weighs less.
constexpr float kMendedWeight = 0.8F;

}  // namespace

Searcher Index::prepare(const Query& query) {
  return {units(), query, options_.weights, stemmer_};
}

std::vector<Unit> Index::units() {
  std::vector<Unit> units;
  for (auto* part : parts()) {
    if (part->source.file && !part->norms) {
      part->norms = std::make_unique<Norms>(part->source.lengths());
      if (part->source.size() >= options_.rough_documents_min)
        part->rough = std::make_unique<RoughShelf>();
    }
    units.push_back({&part->source, &part->deleted, part->norms.get(), part->rough.get()});
  }
  return units;
}

Searcher Index::prepare_mended(Query& query) {
  auto searcher = prepare(query);
  if (query.clauses.size() > kClausesMax) query.clauses = searcher.query().clauses;
  bool mended = false;
  for (std::size_t c = 0; c < query.clauses.size(); ++c) {
    auto& clause = query.clauses[c];
    if (clause.kind != Clause::Kind::word || clause.occur != Clause::Occur::optional ||
        !clause.forms || !Stemmer::applies(clause.terms[0]) ||
        mistakes_allowed(clause.terms[0]) == 0 || searcher.knows(c))
      continue;
    if (auto nearest = nearest_word(units(), clause.terms[0]); !nearest.empty()) {
      clause.terms[0] = std::move(nearest);
      clause.weight *= kMendedWeight;
      mended = true;
    }
  }
  if (mended) searcher = prepare(query);
  return searcher;
}

std::vector<Hit> Index::documents_of(std::uint32_t group) const {
  std::vector<Hit> out;
  std::uint32_t unit = 0;
  for_parts([&](const Part& part) {
    const auto add = [&](std::uint32_t document) {
      if (!part.deleted.has(document))
        out.push_back({.unit = unit, .document = document, .row = part.source.row(document)});
    };
    if (part.source.memory) {
      for (const auto document : part.source.memory->of_group(group)) add(document);
    } else {
      const auto [begin, end] = part.source.file->of_group(group);
      for (auto document = begin; document < end; ++document) add(document);
    }
    ++unit;
  });
  std::stable_sort(out.begin(), out.end(),
                   [](const Hit& a, const Hit& b) { return a.row.key < b.row.key; });
  return out;
}

const Index::Part& Index::part(std::uint32_t unit) const {
  if (unit < files_parts_.size()) return files_parts_[unit];
  unit -= static_cast<std::uint32_t>(files_parts_.size());
  if (unit < bulks_.size()) return bulks_[unit];
  return frozen_ && unit == bulks_.size() ? *frozen_ : memory_;
}

bool Index::alone(const Hit& hit) const {
  const auto has = [&](const Part& part) {
    if (part.source.memory) return !part.source.memory->of_group(hit.row.group).empty();
    return std::binary_search(part.groups.begin(), part.groups.end(), hit.row.group);
  };
  if (frozen_ && has(*frozen_)) return false;
  if (has(memory_) || std::any_of(bulks_.begin(), bulks_.end(), has)) return false;
  for (std::uint32_t unit = 0; unit < files_parts_.size(); ++unit)
    if (unit != hit.unit && has(files_parts_[unit])) return false;
  return true;
}

// A segment holds its documents in the order of groups and keys, so neighbours have neighbouring
// numbers.
std::vector<Hit> Index::around(std::span<const Hit> hits, std::size_t reach) const {
  const auto by_place = [](const Hit& a, const Hit& b) {
    return std::tie(a.row.group, a.row.key) < std::tie(b.row.group, b.row.key);
  };
  const auto by_document = [](const Hit& a, const Hit& b) {
    return std::tie(a.unit, a.document) < std::tie(b.unit, b.document);
  };
  std::vector<Hit> sorted;
  if (!std::is_sorted(hits.begin(), hits.end(), by_document)) {
    sorted.assign(hits.begin(), hits.end());
    std::sort(sorted.begin(), sorted.end(), by_document);
    hits = sorted;
  }
  std::vector<Hit> out;
  out.reserve(hits.size() * reach * 2);
  bool scattered = false;   // some group is spread over several segments
  std::uint32_t known = 0;  // documents of the segment below this number have been looked at
  std::vector<Hit> lower;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const auto& hit = hits[i];
    if (hit.unit >= files_parts_.size() || !alone(hit)) {
      scattered = true;
      for (const auto& one : neighbours(hit, reach, reach)) out.push_back(one);
      continue;
    }
    const auto& own = files_parts_[hit.unit];
    const auto& file = *own.source.file;
    const auto take = [&](std::uint32_t document, std::vector<Hit>& to, std::size_t& taken) {
      if (file.group(document) != hit.row.group) return false;
      if (own.deleted.has(document)) return true;
      const auto key = file.key(document);
      if (key == hit.row.key) return true;
      auto& one = to.emplace_back(Hit{.unit = hit.unit, .document = document});
      one.row.group = hit.row.group;
      one.row.key = key;
      return ++taken < reach;
    };
    if (i == 0 || hits[i - 1].unit != hit.unit) known = 0;
    lower.clear();
    std::size_t taken = 0;
    for (auto d = hit.document; d > known && take(d - 1, lower, taken); --d) {
    }
    out.insert(out.end(), lower.rbegin(), lower.rend());
    taken = 0;
    const auto next =
        i + 1 < hits.size() && hits[i + 1].unit == hit.unit ? hits[i + 1].document : UINT32_MAX;
    // Stops before the next hit, which takes its own neighbours.
    known = hit.document + 1;
    while (known < std::min(next, file.size()) && take(known, out, taken)) ++known;
    if (taken == reach) ++known;
  }
  if (!scattered && std::is_sorted(out.begin(), out.end(), by_place)) return out;
  std::sort(out.begin(), out.end(), by_document);
  const auto same = [](const Hit& a, const Hit& b) {
    return a.unit == b.unit && a.document == b.document;
  };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  std::erase_if(out, [&](const Hit& one) {
    return std::binary_search(hits.begin(), hits.end(), one, by_document);
  });
  std::sort(out.begin(), out.end(), by_place);
  return out;
}

std::vector<Hit> Index::neighbours(const Hit& hit, std::size_t before, std::size_t after) const {
  std::vector<Hit> lower;
  std::vector<Hit> higher;
  if (hit.unit < files_parts_.size() && alone(hit)) {
    const auto& own = files_parts_[hit.unit];
    const auto& file = *own.source.file;
    const auto take = [&](std::uint32_t document, std::vector<Hit>& to, std::size_t most) {
      if (to.size() == most || file.group(document) != hit.row.group) return false;
      if (!own.deleted.has(document) && file.key(document) != hit.row.key)
        to.push_back({.unit = hit.unit, .document = document, .row = file.row(document)});
      return true;
    };
    for (auto d = hit.document; d > 0 && take(d - 1, lower, before); --d) {
    }
    for (auto d = hit.document + 1; d < file.size() && take(d, higher, after); ++d) {
    }
    std::reverse(lower.begin(), lower.end());
    lower.insert(lower.end(), higher.begin(), higher.end());
    return lower;
  }
  std::uint32_t unit = 0;
  const auto wanted = hit.row.key;
  for_parts([&](const Part& part) {
    const auto add = [&](std::vector<Hit>& to, std::uint32_t document) {
      if (part.deleted.has(document)) return false;
      to.push_back({.unit = unit, .document = document, .row = part.source.row(document)});
      return true;
    };
    if (part.source.memory) {
      for (const auto document : part.source.memory->of_group(hit.row.group)) {
        const auto key = part.source.memory->row(document).key;
        if (key != wanted) add(key < wanted ? lower : higher, document);
      }
    } else {
      const auto& file = *part.source.file;
      const auto [begin, end] = file.of_group(hit.row.group);
      const auto middle = file.lower_bound(begin, end, wanted);
      std::size_t taken = 0;
      for (auto d = middle; d > begin && taken < before; --d) taken += add(lower, d - 1) ? 1 : 0;
      taken = 0;
      for (auto d = middle; d < end && taken < after; ++d)
        if (file.key(d) != wanted) taken += add(higher, d) ? 1 : 0;
    }
    ++unit;
  });
  const auto by_key = [](const Hit& a, const Hit& b) { return a.row.key < b.row.key; };
  std::stable_sort(lower.begin(), lower.end(), by_key);
  std::stable_sort(higher.begin(), higher.end(), by_key);
  if (lower.size() > before)
    lower.erase(lower.begin(), lower.end() - static_cast<std::ptrdiff_t>(before));
  if (higher.size() > after) higher.resize(after);
  lower.insert(lower.end(), higher.begin(), higher.end());
  return lower;
}

}  // namespace reef::search
