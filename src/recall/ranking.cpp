#include "recall/ranking.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>

namespace reef::recall {
namespace {

constexpr std::size_t kCandidates = 200;
// What stands before a hit is more often its question than what follows.
constexpr std::size_t kReach = 2;
constexpr double kBefore[kReach] = {0.5, 0.25};
constexpr double kAfter[kReach] = {0.35, 0.15};
// Of a session count its best messages, each less than the one before, and every word of the
// question that is said somewhere in it.
constexpr std::size_t kSessionDepth = 8;
struct SessionWeights {
  double decay, coverage;
};
// For its place among sessions, by messages with what stands around them; and for what it adds to
// each of its messages.
constexpr SessionWeights kAmongSessions = {0.4, 1};
constexpr SessionWeights kForMessages = {0.7, 2};
constexpr double kSessionShare = 0.2;
// Shares of the best score, for what the question names beside words.
constexpr double kSpeaker = 0.2;
constexpr double kDate = 0.5;

struct Candidate {
  search::Hit hit;
  bool found = false;   // by its own words, not beside one that was
  double together = 0;  // with what stands around it
};

bool before(const search::Hit& a, const search::Hit& b) {
  return std::tie(a.row.group, a.row.key) < std::tie(b.row.group, b.row.key);
}
bool same(const search::Hit& a, const search::Hit& b) {
  return a.row.group == b.row.group && a.row.key == b.row.key;
}

std::size_t ordinal_of(const search::Hit& hit) {
  return Place::of(hit.row.key).ordinal;
}

bool all_optional(const search::Query& query) {
  return std::all_of(query.clauses.begin(), query.clauses.end(), [](const auto& clause) {
    return clause.occur == search::Clause::Occur::optional;
  });
}

bool passes(const search::Filter& filter, const search::Hit& hit) {
  return hit.row.time_ms >= filter.time_from_ms && hit.row.time_ms < filter.time_to_ms &&
         (!filter.accept || filter.accept(hit.row));
}

double date_fit(const Question& question, const search::Hit& hit) {
  if (!question.date) return 0;
  return fit(*question.date, TimePoint(std::chrono::milliseconds(hit.row.time_ms)));
}

bool names_speaker(const Question& question, const search::Hit& hit) {
  const auto speaker = speaker_in(hit.row.facets);
  return speaker != 0 && std::find(question.speakers.begin(), question.speakers.end(), speaker) !=
                             question.speakers.end();
}

struct Group {
  std::vector<double> scores;
  std::vector<double> together;  // with what stands around each
  std::uint32_t matched = 0;
  double for_messages = 0;
  search::Hit best;
};

double score_of(std::vector<double>& scores, std::uint32_t matched,
                std::span<const float> clause_weights, SessionWeights weights) {
  std::sort(scores.rbegin(), scores.rend());
  double score = 0, share = 1;
  for (std::size_t i = 0; i < std::min(scores.size(), kSessionDepth); ++i) {
    score += share * scores[i];
    share *= weights.decay;
  }
  for (std::size_t i = 0; i < clause_weights.size(); ++i)
    if ((matched >> i & 1U) != 0) score += weights.coverage * double(clause_weights[i]);
  return score;
}

// The hits and what stands around them, each once and scored, by group and place.
std::vector<Candidate> candidates_of(const search::Index& index, search::Searcher& searcher,
                                     std::vector<search::Hit> found) {
  std::vector<search::Hit> others;
  for (const auto& hit : found)
    for (auto& neighbour : index.neighbours(hit, kReach, kReach))
      others.push_back(std::move(neighbour));
  std::sort(found.begin(), found.end(), before);
  std::sort(others.begin(), others.end(), before);
  others.erase(std::unique(others.begin(), others.end(), same), others.end());
  std::vector<search::Hit> rest;
  std::set_difference(others.begin(), others.end(), found.begin(), found.end(),
                      std::back_inserter(rest), before);
  searcher.score(rest);
  std::vector<Candidate> out;
  out.reserve(found.size() + rest.size());
  auto one = found.begin();
  auto two = rest.begin();
  while (one != found.end() || two != rest.end()) {
    const bool first = two == rest.end() || (one != found.end() && before(*one, *two));
    out.push_back(Candidate{first ? *one++ : *two++, first, 0});
  }
  return out;
}

// What each says together with what stands around it, which stands beside it here too.
void score_together(std::vector<Candidate>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& one = all[i];
    const auto at = ordinal_of(one.hit);
    one.together = double(one.hit.score);
    for (auto j = i; j-- > 0;) {
      const auto& other = all[j].hit;
      if (other.row.group != one.hit.row.group || at - ordinal_of(other) > kReach) break;
      if (const auto apart = at - ordinal_of(other); apart > 0)
        one.together += kBefore[apart - 1] * double(other.score);
    }
    for (auto j = i + 1; j < all.size(); ++j) {
      const auto& other = all[j].hit;
      if (other.row.group != one.hit.row.group || ordinal_of(other) - at > kReach) break;
      if (const auto apart = ordinal_of(other) - at; apart > 0)
        one.together += kAfter[apart - 1] * double(other.score);
    }
  }
}

}  // namespace

Ranking rank(search::Index& index, const Question& question, const search::Filter& filter) {
  Ranking out;
  auto searcher = index.prepare(question.words);
  const auto found = searcher.best(filter, kCandidates, 0);
  if (found.empty()) return out;

  const auto best = double(found.front().score);
  auto all = candidates_of(index, searcher, found);
  score_together(all);

  std::unordered_map<std::uint32_t, Group> groups;
  for (const auto& one : all) {
    if (one.hit.score <= 0) continue;
    auto& group = groups[one.hit.row.group];
    group.scores.push_back(double(one.hit.score));
    group.together.push_back(one.together);
    group.matched |= one.hit.matched;
    if (one.found && (group.best.score <= 0 || search::better(one.hit, group.best)))
      group.best = one.hit;
  }
  const auto words = searcher.clause_weights();
  for (auto& [number, group] : groups) {
    group.for_messages = score_of(group.scores, group.matched, words, kForMessages);
    const auto score = score_of(group.together, group.matched, words, kAmongSessions);
    out.groups.push_back(
        RankedGroup{number, score + 2 * kDate * best * date_fit(question, group.best), group.best});
  }

  const bool any_may_answer = all_optional(question.words);
  for (const auto& one : all) {
    const auto& hit = one.hit;
    if (!one.found && !(any_may_answer && passes(filter, hit))) continue;
    const auto group = groups.find(hit.row.group);
    double score = one.together;
    if (group != groups.end()) score += kSessionShare * group->second.for_messages;
    if (names_speaker(question, hit)) score += kSpeaker * best;
    score += kDate * best * date_fit(question, hit);
    out.hits.push_back(Ranked{hit, score});
  }
  std::sort(out.hits.begin(), out.hits.end(), [](const Ranked& a, const Ranked& b) {
    if (a.score != b.score) return a.score > b.score;
    return search::better(a.hit, b.hit);
  });
  std::sort(out.groups.begin(), out.groups.end(), [](const RankedGroup& a, const RankedGroup& b) {
    return a.score != b.score ? a.score > b.score : a.group < b.group;
  });
  return out;
}

}  // namespace reef::recall
