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
// Of the session: its best messages, each counting less than the one before.
constexpr std::size_t kSessionDepth = 8;
constexpr double kSessionDecay = 0.7;
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
  std::uint32_t matched = 0;
  search::Hit best;
};

double score_of(Group& group, std::span<const float> clause_weights) {
  std::sort(group.scores.rbegin(), group.scores.rend());
  double score = 0, share = 1;
  for (std::size_t i = 0; i < std::min(group.scores.size(), kSessionDepth); ++i) {
    score += share * group.scores[i];
    share *= kSessionDecay;
  }
  // A session in which every word of the question is said somewhere.
  for (std::size_t i = 0; i < clause_weights.size(); ++i)
    if ((group.matched >> i & 1U) != 0) score += double(clause_weights[i]);
  return score;
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

  std::map<std::uint32_t, Group> groups;
  for (const auto& [key, hit] : around) {
    if (hit.score <= 0) continue;
    auto& group = groups[hit.row.group];
    group.scores.push_back(double(hit.score));
    group.matched |= hit.matched;
    if (hits.contains(key) && (group.best.score <= 0 || search::better(hit, group.best)))
      group.best = hit;
  }
  const auto best = double(found.front().score);
  std::map<std::uint32_t, double> session_scores;
  for (auto& [number, group] : groups) {
    const auto score = score_of(group, searcher.clause_weights());
    session_scores[number] = score;
    out.groups.push_back(
        RankedGroup{number, score + 2 * kDate * best * date_fit(question, group.best), group.best});
  }

  const bool any_may_answer = all_optional(question.words);
  for (auto it = around.begin(); it != around.end(); ++it) {
    const auto& [key, hit] = *it;
    if (!hits.contains(key) && !(any_may_answer && passes(filter, hit))) continue;
    double score = double(hit.score);
    // Neighbours stand beside it in the map too, which is ordered by group and place.
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
    score += kSessionShare * session_scores[key.first];
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
