#include "recall/ranking.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_set>

namespace reef::recall {
namespace {

// A session is ranked by more of its messages than a message is by its neighbours, so it takes more
// candidates.
constexpr std::size_t kCandidates = 120;
constexpr std::size_t kCandidatesOfSessions = 200;
// Words in this many messages tell little: fewer candidates will do, and each costs more.
constexpr std::uint64_t kCommonPostings = 12'000;
constexpr std::size_t kCommonCandidates = 80;
// One thread judges this many hits at a time.
constexpr std::size_t kJudgedAtOnce = 16;
// The message before a hit is more often its question than the one after it.
constexpr std::size_t kReach = 2;
constexpr double kBefore[kReach] = {0.5, 0.25};
constexpr double kAfter[kReach] = {0.35, 0.15};
// The best messages of a session count, each less than the one before, and so does every word of
// the question that occurs in the session.
constexpr std::size_t kSessionDepth = 8;
struct SessionWeights {
  double decay, coverage;
};
// The weights for ranking a session by its messages and their neighbours; and those for what a
// session adds to the score of each of its messages.
constexpr SessionWeights kAmongSessions = {0.4, 1};
constexpr SessionWeights kForMessages = {0.7, 2};
constexpr double kSessionShare = 0.2;
// A share of the best score, added when the question names the speaker.
constexpr double kSpeaker = 0.2;
// A factor for messages that only repeat the question or words said elsewhere.
constexpr float kEchoShare = 0.2F;
constexpr double kDate = 0.5;

struct Candidate {
  search::Hit hit;
  bool found = false;         // found by its own words, not as a neighbour
  std::uint32_t ordinal = 0;  // its number among the messages of its session
  double together = 0;        // score together with its neighbours
};

bool before(const search::Hit& a, const search::Hit& b) {
  return std::tie(a.row.group, a.row.key) < std::tie(b.row.group, b.row.key);
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

// The best scores of a session, best first.
class BestScores {
 public:
  void add(double score) {
    if (count_ == kSessionDepth && score <= scores_[count_ - 1]) return;
    auto at = count_ < kSessionDepth ? count_++ : count_ - 1;
    for (; at > 0 && scores_[at - 1] < score; --at) scores_[at] = scores_[at - 1];
    scores_[at] = score;
  }
  double together(double decay) const {
    double sum = 0, share = 1;
    for (std::size_t i = 0; i < count_; ++i) {
      sum += share * scores_[i];
      share *= decay;
    }
    return sum;
  }

 private:
  std::array<double, kSessionDepth> scores_;
  std::size_t count_ = 0;
};

double score_of(const BestScores& scores, std::uint32_t matched,
                std::span<const float> clause_weights, SessionWeights weights) {
  auto score = scores.together(weights.decay);
  for (std::size_t i = 0; i < clause_weights.size(); ++i)
    if ((matched >> i & 1U) != 0) score += weights.coverage * double(clause_weights[i]);
  return score;
}

// Returns the hits and their neighbours, each once and scored, by group and place.
std::vector<Candidate> candidates_of(const search::Index& index, search::Searcher::Scorer& scorer,
                                     std::span<const search::Hit> found) {
  auto rest = index.around(found, kReach);
  scorer.score(rest);
  std::vector<Candidate> out;
  out.reserve(found.size() + rest.size());
  auto one = found.begin();
  auto two = rest.begin();
  while (one != found.end() || two != rest.end()) {
    const bool first = two == rest.end() || (one != found.end() && before(*one, *two));
    const auto& hit = out.emplace_back(Candidate{first ? *one++ : *two++, first}).hit;
    out.back().ordinal = Place::of(hit.row.key).ordinal;
  }
  return out;
}

// Tells whether judging needs more of a candidate's row than its group and place.
bool needs_rows(const Question& question, const search::Filter& filter) {
  const search::Filter all;
  return question.date || !question.speakers.empty() || filter.accept ||
         filter.time_from_ms != all.time_from_ms || filter.time_to_ms != all.time_to_ms;
}

// A candidate that may be shown.
struct Shown {
  double score = 0;
  const search::Hit* hit = nullptr;
};

// Returns the best `wanted` in order. Rows break ties and are filled in only for these.
Ranking best_messages(const search::Index& index, std::vector<Shown> shown, std::size_t wanted) {
  const auto higher = [](const Shown& a, const Shown& b) { return a.score > b.score; };
  Ranking out;
  auto end = shown.end();
  out.more = wanted < shown.size();
  if (out.more) {
    const auto last = shown.begin() + static_cast<std::ptrdiff_t>(wanted);
    std::nth_element(shown.begin(), last, shown.end(), higher);
    end = std::partition(last, shown.end(),
                         [least = last->score](const Shown& one) { return one.score >= least; });
  }
  for (auto one = shown.begin(); one != end; ++one) {
    auto& ranked = out.hits.emplace_back(Ranked{*one->hit, one->score});
    index.fill_row(ranked.hit);
  }
  std::sort(out.hits.begin(), out.hits.end(), [](const Ranked& a, const Ranked& b) {
    return a.score != b.score ? a.score > b.score : search::better(a.hit, b.hit);
  });
  if (out.hits.size() > wanted) out.hits.resize(wanted);
  return out;
}

Ranking best_sessions(std::vector<Ranked> all, std::size_t wanted) {
  const bool more = all.size() > wanted;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(std::min(wanted, all.size()));
  std::partial_sort(all.begin(), first, all.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(b.score, b.hit.row.time_ms, a.hit.row.group) <
           std::tie(a.score, a.hit.row.time_ms, b.hit.row.group);
  });
  all.erase(first, all.end());
  return {std::move(all), more};
}

// Scores each candidate together with its neighbours, which are next to it in `all`.
void score_together(std::vector<Candidate>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& one = all[i];
    const auto group = one.hit.row.group;
    auto together = double(one.hit.score);
    for (auto j = i; j-- > 0;) {
      const auto& other = all[j];
      const auto apart = one.ordinal - other.ordinal;
      if (other.hit.row.group != group || apart > kReach) break;
      if (apart > 0) together += kBefore[apart - 1] * double(other.hit.score);
    }
    for (auto j = i + 1; j < all.size(); ++j) {
      const auto& other = all[j];
      const auto apart = other.ordinal - one.ordinal;
      if (other.hit.row.group != group || apart > kReach) break;
      if (apart > 0) together += kAfter[apart - 1] * double(other.hit.score);
    }
    one.together = together;
  }
}

// `worth` returns what a candidate adds to its session.
template <class Worth>
double session_score(std::span<const Candidate> session, std::span<const float> clause_weights,
                     SessionWeights weights, const Worth& worth) {
  BestScores scores;
  std::uint32_t matched = 0;
  for (const auto& one : session) {
    if (one.hit.score <= 0) continue;
    scores.add(worth(one));
    matched |= one.hit.matched;
  }
  return score_of(scores, matched, clause_weights, weights);
}

// Expects the candidates of each session next to each other.
template <class Use>
void each_session(std::span<const Candidate> all, const Use& use) {
  for (std::size_t from = 0; from < all.size();) {
    auto to = from + 1;
    while (to < all.size() && all[to].hit.row.group == all[from].hit.row.group) ++to;
    use(all.subspan(from, to - from));
    from = to;
  }
}

// The judgement on the candidates of some sessions.
struct Judged {
  std::vector<Candidate> all;  // owns the hits that `messages` points to
  std::vector<Shown> messages;
  std::vector<Ranked> sessions;
};

// Judges messages or sessions, one share of the hits at a time, on any thread.
struct Judge {
  const search::Index& index;
  const Question& question;
  const search::Filter& filter;
  std::span<const float> clause_weights;
  double best;  // the best score of all hits
  bool by_session;
  bool any_may_answer = all_optional(question.words);
  bool rows_count = needs_rows(question, filter);

  // `found` holds all hits of their sessions, by group and place.
  Judged operator()(std::span<const search::Hit> found, search::Searcher::Scorer& scorer) const {
    Judged out;
    out.all = candidates_of(index, scorer, found);
    for (auto& one : out.all) {
      if (one.found && echoes(one.hit.row.facets)) one.hit.score *= kEchoShare;
      if (!one.found && rows_count) index.fill_row(one.hit);
    }
    score_together(out.all);
    each_session(out.all, [&](std::span<const Candidate> session) {
      by_session ? judge_session(session, out.sessions) : judge_messages(session, out.messages);
    });
    return out;
  }

  void judge_messages(std::span<const Candidate> session, std::vector<Shown>& out) const {
    const auto share =
        kSessionShare * session_score(session, clause_weights, kForMessages,
                                      [](const auto& one) { return double(one.hit.score); });
    for (const auto& one : session) {
      if (!one.found && !(any_may_answer && passes(filter, one.hit))) continue;
      double score = one.together + share;
      if (names_speaker(question, one.hit)) score += kSpeaker * best;
      score += kDate * best * date_fit(question, one.hit);
      out.push_back({score, &one.hit});
    }
  }

  void judge_session(std::span<const Candidate> session, std::vector<Ranked>& out) const {
    const search::Hit* top = nullptr;
    for (const auto& one : session)
      if (one.found && one.hit.score > 0 && (!top || search::better(one.hit, *top))) top = &one.hit;
    if (!top) return;
    const auto score = session_score(session, clause_weights, kAmongSessions,
                                     [](const auto& one) { return one.together; });
    out.push_back({*top, score + 2 * kDate * best * date_fit(question, *top)});
  }
};

// Divides the hits into shares of about `usual`, with all hits of a session in one share.
std::vector<std::span<const search::Hit>> shares_of(std::span<const search::Hit> hits,
                                                    std::size_t usual) {
  std::vector<std::span<const search::Hit>> out;
  for (std::size_t from = 0; from < hits.size();) {
    auto to = std::min(from + usual, hits.size());
    while (to < hits.size() && hits[to].row.group == hits[to - 1].row.group) ++to;
    out.push_back(hits.subspan(from, to - from));
    from = to;
  }
  return out;
}

// Appends the remaining hits as the words alone rank them, so that a client can page to the very
// end.
void add_others(search::Searcher& searcher, const search::Filter& filter, std::size_t wanted,
                bool by_session, Ranking& out) {
  const auto name_of = [by_session](const search::Hit& hit) {
    return by_session ? std::uint64_t{hit.row.group}
                      : std::uint64_t{hit.unit} << 32 | std::uint64_t{hit.document};
  };
  std::unordered_set<std::uint64_t> known;
  for (const auto& one : out.hits) known.insert(name_of(one.hit));
  const auto least = out.hits.empty() ? 0 : out.hits.back().score;
  for (const auto& hit : searcher.best(filter, wanted + 1, by_session)) {
    if (known.contains(name_of(hit))) continue;
    out.more = out.hits.size() == wanted;
    if (out.more) return;
    out.hits.push_back({hit, std::min(least, double(hit.score))});
  }
}

// Returns everything that passes the filter, newest first.
Ranking newest(search::Searcher& searcher, const search::Filter& filter, std::size_t wanted,
               bool by_session) {
  Ranking out;
  auto hits = searcher.best(filter, wanted + 1, by_session);
  out.more = hits.size() > wanted;
  if (out.more) hits.pop_back();
  for (const auto& hit : hits) out.hits.push_back({hit, 0});
  return out;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

Ranking rank(const search::Index& index, search::Searcher& searcher, const Question& question,
             const search::Filter& filter, std::size_t wanted, bool by_session) {
  if (question.words.everything) return newest(searcher, filter, wanted, by_session);
  const bool common = searcher.postings() >= kCommonPostings;
  // The number must not depend on the page, so that each page goes on where the last one ended.
  const auto usual = common ? kCommonCandidates : by_session ? kCandidatesOfSessions : kCandidates;
  auto found = searcher.best_in_place(filter, usual);
  if (found.empty()) return {};
  const auto lower = [](const search::Hit& a, const search::Hit& b) { return a.score < b.score; };
  const Judge judge{.index = index,
                    .question = question,
                    .filter = filter,
                    .clause_weights = searcher.clause_weights(),
                    .best = double(std::max_element(found.begin(), found.end(), lower)->score),
                    .by_session = by_session};
  if (!std::is_sorted(found.begin(), found.end(), before))
    std::sort(found.begin(), found.end(), before);

  const auto shares = shares_of(found, kJudgedAtOnce);
  std::vector<Judged> judged(shares.size());
  const auto judge_with = [&](search::Searcher::Scorer& scorer) {
    return [&](std::size_t n) { judged[n] = judge(shares[n], scorer); };
  };
  search::Searcher::Scorer here(searcher), there(searcher);
  searcher.share(shares.size(), judge_with(here), judge_with(there));
  for (std::size_t n = 1; n < judged.size(); ++n) {
    append(judged[0].messages, judged[n].messages);
    append(judged[0].sessions, judged[n].sessions);
  }
  auto out = by_session ? best_sessions(std::move(judged[0].sessions), wanted)
                        : best_messages(index, std::move(judged[0].messages), wanted);
  if (!out.more && found.size() == usual) add_others(searcher, filter, wanted, by_session, out);
  return out;
}

}  // namespace reef::recall
