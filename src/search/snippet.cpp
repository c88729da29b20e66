#include "search/snippet.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "search/stemmer.h"
#include "search/tokenizer.h"

namespace reef::search {
namespace {

// To end at a space, at most so many bytes are given up.
constexpr std::size_t kTidyBytesMax = 24;

struct Found {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::size_t clause = 0;
};

class Wanted {
 public:
  explicit Wanted(const Query& query) {
    for (std::size_t c = 0; c < query.clauses.size() && c < kClausesMax; ++c) {
      const auto& clause = query.clauses[c];
      if (clause.occur == Clause::Occur::excluded) continue;
      for (const auto& term : clause.terms) {
        Term wanted{.text = term, .clause = c, .prefix = clause.kind == Clause::Kind::prefix};
        if (clause.forms && !wanted.prefix && Stemmer::applies(term))
          wanted.stem = stemmer_.stem(term);
        terms_.push_back(std::move(wanted));
      }
    }
  }

  // The clause this term of a text answers, or kClausesMax.
  std::size_t clause_of(std::string_view term) {
    std::string_view stem;
    bool stemmed = false;
    for (const auto& wanted : terms_) {
      if (wanted.text == term || (wanted.prefix && term.starts_with(wanted.text)))
        return wanted.clause;
      if (wanted.stem.empty() || term.front() != wanted.stem.front()) continue;
      if (!stemmed && Stemmer::applies(term)) stem = stemmer_.stem(term);
      stemmed = true;
      if (stem == wanted.stem) return wanted.clause;
    }
    return kClausesMax;
  }

 private:
  struct Term {
    std::string text;
    std::size_t clause = 0;
    bool prefix = false;
    std::string stem;
  };
  Stemmer stemmer_;
  std::vector<Term> terms_;
};

std::vector<Found> find_all(std::string_view text, const Query& query) {
  std::vector<Found> out;
  Wanted wanted(query);
  Tokenizer tokenizer;
  for (const auto& token : tokenizer.tokenize(text)) {
    const auto clause = wanted.clause_of(tokenizer.term(token));
    if (clause < kClausesMax) out.push_back({token.begin, token.end, clause});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Found& a, const Found& b) { return a.begin < b.begin; });
  return out;
}

// The stretch of at most `bytes_max` bytes with the most different clauses, then the most matches.
std::pair<std::size_t, std::size_t> densest(const std::vector<Found>& found,
                                            std::size_t bytes_max) {
  std::array<std::size_t, kClausesMax> counts{};
  std::size_t different = 0;
  std::size_t first = 0;
  std::tuple<std::size_t, std::size_t> best{0, 0};
  std::pair<std::size_t, std::size_t> range{found[0].begin, found[0].end};
  for (std::size_t last = 0; last < found.size(); ++last) {
    if (counts[found[last].clause]++ == 0) ++different;
    while (first < last && found[last].end - found[first].begin > bytes_max) {
      if (--counts[found[first].clause] == 0) --different;
      ++first;
    }
    const std::tuple<std::size_t, std::size_t> here{different, last - first + 1};
    if (here > best) {
      best = here;
      range = {found[first].begin, found[last].end};
    }
  }
  return range;
}

bool inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<std::uint8_t>(text[at]) & 0xC0) == 0x80;
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

Snippet make_snippet(std::string_view text, const Query& query, std::size_t bytes_max) {
  Snippet out;
  const auto found = find_all(text, query);
  std::size_t begin = 0;
  std::size_t end = text.size();
  if (text.size() > bytes_max) {
    std::pair<std::size_t, std::size_t> match{0, 0};
    if (!found.empty()) match = densest(found, bytes_max);
    // A third of the room before the match, the rest behind it.
    const auto room = bytes_max - std::min(bytes_max, match.second - match.first);
    begin = match.first - std::min(match.first, room / 3);
    if (text.size() - begin < bytes_max) begin = text.size() - bytes_max;
    end = begin + bytes_max;
    while (begin > 0 && begin < end && inside_character(text, begin)) ++begin;
    while (end > begin && inside_character(text, end)) --end;
    if (begin > 0 && !is_space(text[begin - 1]))
      for (auto at = begin; at < std::min(match.first, begin + kTidyBytesMax); ++at)
        if (is_space(text[at])) {
          begin = at + 1;
          break;
        }
    if (end < text.size() && !is_space(text[end]))
      for (auto at = end; at > std::max({match.second, begin, end - std::min(end, kTidyBytesMax)});
           --at)
        if (is_space(text[at - 1])) {
          end = at - 1;
          break;
        }
  }
  out.text = text.substr(begin, end - begin);
  out.offset = begin;
  out.cut_before = begin > 0;
  out.cut_after = end < text.size();
  for (const auto& match : found) {
    if (match.begin < begin || match.end > end) continue;
    const auto from = static_cast<std::uint32_t>(match.begin - begin);
    const auto to = static_cast<std::uint32_t>(match.end - begin);
    if (!out.matches.empty() && from < out.matches.back().second)
      out.matches.back().second = std::max(out.matches.back().second, to);
    else
      out.matches.emplace_back(from, to);
  }
  return out;
}

}  // namespace reef::search
