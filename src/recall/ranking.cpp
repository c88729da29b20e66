#include "recall/ranking.h"

#include <algorithm>
#include <map>

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

using Key = std::pair<std::uint32_t, std::uint64_t>;  // group, key

Key key_of(const search::Hit& hit) {
  return {hit.row.group, hit.row.key};
}

std::size_t ordinal_of(const Key& key) {
  return Place::of(key.second).ordinal;
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

// What each says together with what stands around it. Neighbours stand beside each other in the map
// too, which is ordered by group and place.
std::map<Key, double> score_together(const std::map<Key, search::Hit>& around) {
  std::map<Key, double> out;
  for (auto it = around.begin(); it != around.end(); ++it) {
    const auto& [key, hit] = *it;
    double score = double(hit.score);
    const auto at = ordinal_of(key);
    for (auto other = it; other != around.begin();) {
      --other;
      if (other->first.first != key.first || at - ordinal_of(other->first) > kReach) break;
      if (const auto apart = at - ordinal_of(other->first); apart > 0)
        score += kBefore[apart - 1] * double(other->second.score);
    }
    for (auto other = std::next(it); other != around.end(); ++other) {
      if (other->first.first != key.first || ordinal_of(other->first) - at > kReach) break;
      if (const auto apart = ordinal_of(other->first) - at; apart > 0)
        score += kAfter[apart - 1] * double(other->second.score);
    }
    out.emplace_hint(out.end(), key, score);
  }
  return out;
}

}  // namespace

Ranking rank(search::Index& index, const Question& question, const search::Filter& filter) {
  Ranking out;
  auto searcher = index.prepare(question.words);
  const auto found = searcher.best(filter, kCandidates, 0);
  if (found.empty()) return out;

  // The hits and what stands around them, each once.
  std::map<Key, search::Hit> around;
  for (const auto& hit : found) around.emplace(key_of(hit), hit);
  const auto hits = around;
  std::vector<search::Hit> others;
  const auto look_around = [&](const search::Hit& hit) {
    for (const auto& neighbour : index.neighbours(hit, kReach, kReach))
      if (around.emplace(key_of(neighbour), neighbour).second) others.push_back(neighbour);
  };
  for (const auto& hit : found) look_around(hit);
  searcher.score(others);
  for (const auto& other : others) around[key_of(other)] = other;

  const auto together = score_together(around);
  std::map<std::uint32_t, Group> groups;
  for (const auto& [key, hit] : around) {
    if (hit.score <= 0) continue;
    auto& group = groups[hit.row.group];
    group.scores.push_back(double(hit.score));
    group.together.push_back(together.at(key));
    group.matched |= hit.matched;
    if (hits.contains(key) && (group.best.score <= 0 || search::better(hit, group.best)))
      group.best = hit;
  }
  const auto best = double(found.front().score);
  const auto words = searcher.clause_weights();
  std::map<std::uint32_t, double> for_messages;
  for (auto& [number, group] : groups) {
    for_messages[number] = score_of(group.scores, group.matched, words, kForMessages);
    const auto score = score_of(group.together, group.matched, words, kAmongSessions);
    out.groups.push_back(
        RankedGroup{number, score + 2 * kDate * best * date_fit(question, group.best), group.best});
  }

  const bool any_may_answer = all_optional(question.words);
  for (const auto& [key, hit] : around) {
    if (!hits.contains(key) && !(any_may_answer && passes(filter, hit))) continue;
    double score = together.at(key) + kSessionShare * for_messages[key.first];
    if (names_speaker(question, hit)) score += kSpeaker * best;
    score += kDate * best * date_fit(question, hit);
    out.hits.push_back(Ranked{hit, score});
  }
  const auto before = [](const auto& a, const auto& b) { return a.score > b.score; };
  std::sort(out.hits.begin(), out.hits.end(), [](const Ranked& a, const Ranked& b) {
    if (a.score != b.score) return a.score > b.score;
    return search::better(a.hit, b.hit);
  });
  std::stable_sort(out.groups.begin(), out.groups.end(), before);
  return out;
}

}  // namespace reef::recall
