#include "search/reference.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace reef::search::test {
namespace {

constexpr double kFormWeight = 0.8;

double idf_of(double n, double df) {
  df = std::min(n, df);
  return std::log(1 + (n - df + 0.5) / (df + 0.5));
}

// Whether a term is word `i` of a phrase.
bool ends_phrase(const Clause& clause, std::size_t i, const std::string& term) {
  if (term == clause.terms[i]) return true;
  return clause.open && i + 1 == clause.terms.size() && has_positions(term) &&
         term.starts_with(clause.terms[i]);
}

}  // namespace

void Reference::add(StoredText text) {
  Document document{.row = text.row, .fields = {}};
  Tokenizer tokenizer;
  for (const auto& [field, words] : text.fields) {
    Field made{.field = field, .words = 0, .positions = {}};
    for (const auto& token : tokenizer.tokenize(words))
      made.positions[std::string(tokenizer.term(token))].push_back(token.position);
    made.words = tokenizer.words();
    document.fields.push_back(std::move(made));
  }
  documents_.emplace(text.row.key, std::move(document));
}

void Reference::set_stored(const Index& index) {
  held_.clear();
  df_.clear();
  statistics_ = {};
  index.visit_stored([&](const DocumentRow& row, bool deleted) {
    const auto found = documents_.find(row.key);
    ASSERT_NE(found, documents_.end());
    ASSERT_EQ(found->second.row.group, row.group);
    ASSERT_EQ(found->second.row.time_ms, row.time_ms);
    ASSERT_EQ(found->second.row.facets, row.facets);
    held_.push_back({&found->second, deleted});
  });
  for (const auto& [document, deleted] : held_) {
    statistics_.documents += 1;
    std::set<std::string> terms;
    for (const auto& field : document->fields) {
      statistics_.with_field[field.field] += 1;
      statistics_.words[field.field] += field.words;
      for (const auto& [term, positions] : field.positions) terms.insert(term);
    }
    for (const auto& term : terms) ++df_[term];
  }
}

Reference::Wanted Reference::wanted(const Clause& clause) const {
  Wanted out{.clause = &clause, .terms = {}};
  const auto n = static_cast<double>(statistics_.documents);
  if (clause.kind == Clause::Kind::phrase) {
    for (std::size_t i = 0; i < clause.terms.size(); ++i) {
      double count = 0;
      for (const auto& [term, df] : df_)
        if (ends_phrase(clause, i, term)) count += static_cast<double>(df);
      out.weight += idf_of(n, count);
    }
    out.weight *= static_cast<double>(clause.weight);
    return out;
  }
  const auto& text = clause.terms[0];
  Stemmer stemmer;
  std::string stem;
  if (clause.forms && clause.kind == Clause::Kind::word && Stemmer::applies(text))
    stem = stemmer.stem(text);
  double total = 0;
  for (const auto& [term, df] : df_) {
    if (term == text)
      out.terms[term] = 1;
    else if (clause.kind == Clause::Kind::prefix && term.starts_with(text))
      out.terms[term] = kFormWeight;
    else if (!stem.empty() && Stemmer::applies(term) && stemmer.stem(term) == stem)
      out.terms[term] = kFormWeight;
    else
      continue;
    total += static_cast<double>(df);
  }
  out.weight = idf_of(n, total) * static_cast<double>(clause.weight);
  return out;
}

double Reference::impact(const Document& document,
                         const std::map<std::uint8_t, double>& counts) const {
  double sum = 0;
  for (const auto& field : document.fields) {
    const auto found = counts.find(field.field);
    if (found == counts.end() || found->second == 0) continue;
    const auto tf = found->second;
    const double average = statistics_.words[field.field] == 0
                               ? 1
                               : static_cast<double>(statistics_.words[field.field]) /
                                     static_cast<double>(statistics_.with_field[field.field]);
    const double norm = 1.2 * (1 - 0.75 + 0.75 * field.words / average);
    sum += static_cast<double>(weights_[field.field]) * tf * 2.2 / (tf + norm);
  }
  return sum;
}

double Reference::score(const Document& document, const Wanted& wanted) const {
  const auto& clause = *wanted.clause;
  std::map<std::uint8_t, double> counts;
  if (clause.kind == Clause::Kind::phrase) {
    for (const auto& field : document.fields) {
      const auto first = field.positions.find(clause.terms[0]);
      if (first == field.positions.end()) continue;
      const std::set<std::uint32_t> starts(first->second.begin(), first->second.end());
      for (const auto start : starts) {
        bool all = true;
        for (std::size_t i = 1; i < clause.terms.size() && all; ++i) {
          all = std::any_of(field.positions.begin(), field.positions.end(), [&](const auto& next) {
            return ends_phrase(clause, i, next.first) &&
                   std::find(next.second.begin(), next.second.end(), start + i) !=
                       next.second.end();
          });
        }
        if (all) counts[field.field] += 1;
      }
    }
    return wanted.weight * impact(document, counts);
  }
  double best = 0;
  for (const auto& [term, weight] : wanted.terms) {
    counts.clear();
    for (const auto& field : document.fields)
      if (const auto found = field.positions.find(term); found != field.positions.end())
        counts[field.field] = static_cast<double>(found->second.size());
    if (!counts.empty()) best = std::max(best, weight * impact(document, counts));
  }
  return best * wanted.weight;
}

std::vector<Expected> Reference::search(const Query& query, const Filter& filter) const {
  std::vector<Expected> out;
  std::vector<Wanted> all;
  for (const auto& clause : query.clauses) all.push_back(wanted(clause));
  for (const auto& [document, deleted] : held_) {
    const auto& row = document->row;
    if (deleted || (filter.groups && !filter.groups->has(row.group)) ||
        row.time_ms < filter.time_from_ms || row.time_ms >= filter.time_to_ms ||
        (filter.accept && !filter.accept(row)))
      continue;
    double sum = 0;
    bool fits = true;
    for (const auto& one : all) {
      const auto& clause = *one.clause;
      const auto worth = score(*document, one);
      if (clause.occur == Clause::Occur::excluded)
        fits = fits && worth == 0;
      else
        sum += worth;
      if (clause.occur == Clause::Occur::required) fits = fits && worth > 0;
    }
    if (fits && sum > 0) out.push_back({row, sum});
  }
  std::sort(out.begin(), out.end(),
            [](const Expected& a, const Expected& b) { return a.score > b.score; });
  return out;
}

}  // namespace reef::search::test
