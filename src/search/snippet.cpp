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

// A word of the query.
struct Term {
  std::string text;
  std::size_t clause = 0;
  bool prefix = false;
  std::string stem;
};

// Which two letters the words of the query, or their forms, begin with: a stretch of a text in
// which none of these stand together has none of the words. Not all of those that do have one.
class Beginnings {
 public:
  void add(std::string_view word) {
    const auto first = static_cast<std::uint8_t>(word[0]);
    const bool plain = word.size() > 1 && is_plain(word[1]);
    const auto second = plain ? bit(word[1]) : ~std::uint32_t{0};
    after_[first] |= second;
    if (word[0] >= 'a' && word[0] <= 'z') after_[first - ('a' - 'A')] |= second;
  }

  // Where the stretch from `at` on ends, and whether it has to be looked at: also for letters that
  // fold, or fall away.
  std::pair<std::size_t, bool> stretch(std::string_view text, std::size_t at) const {
    std::uint32_t wanted = 0;
    std::uint32_t found = 0;
    for (; at < text.size(); ++at) {
      const auto c = static_cast<std::uint8_t>(text[at]);
      if (kSpaces[c]) break;
      found |= (wanted & bit(text[at])) | static_cast<std::uint32_t>(c >= 0x80 || c == '\'');
      wanted = after_[c];
    }
    // A word of one letter at the very end.
    return {at, found != 0 || wanted == ~std::uint32_t{0}};
  }

 private:
  static constexpr auto kSpaces = [] {
    std::array<bool, 256> out{};
    for (const unsigned c : {0x09U, 0x0AU, 0x0BU, 0x0CU, 0x0DU, 0x20U}) out[c] = true;
    return out;
  }();
  static bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
  // The same for a letter in either case.
  static std::uint32_t bit(char c) {
    return std::uint32_t{1} << (static_cast<std::uint8_t>(c) & 31U);
  }

  std::array<std::uint32_t, 256> after_{};
};

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

struct Snippets::Wanted {
  std::vector<Term> terms;
  Beginnings beginnings;

  // The clause this term of a text answers, or kClausesMax.
  std::size_t clause_of(std::string_view term, Stemmer& stemmer) const {
    std::string_view stem;
    bool stemmed = false;
    for (const auto& wanted : terms) {
      if (wanted.text == term || (wanted.prefix && term.starts_with(wanted.text)))
        return wanted.clause;
      if (wanted.stem.empty() || term.front() != wanted.stem.front()) continue;
      if (!stemmed && Stemmer::applies(term)) stem = stemmer.stem(term);
      stemmed = true;
      if (stem == wanted.stem) return wanted.clause;
    }
    return kClausesMax;
  }
};

Snippets::~Snippets() = default;

Snippets::Snippets(const Query& query) {
  auto wanted = std::make_unique<Wanted>();
  Stemmer stemmer;
  for (std::size_t c = 0; c < query.clauses.size() && c < kClausesMax; ++c) {
    const auto& clause = query.clauses[c];
    if (clause.occur == Clause::Occur::excluded) continue;
    for (const auto& text : clause.terms) {
      if (text.empty()) continue;
      auto& term = wanted->terms.emplace_back();
      term.text = text;
      term.clause = c;
      term.prefix = clause.kind == Clause::Kind::prefix;
      wanted->beginnings.add(text);
      if (!clause.forms || term.prefix || !Stemmer::applies(text)) continue;
      term.stem = stemmer.stem(text);
      // Stemming leaves two letters alone, but for "dying" and its like, and what no rule finds.
      wanted->beginnings.add(term.stem);
      if (term.stem.size() > 1 && term.stem[1] == 'i')
        wanted->beginnings.add(std::string{term.stem[0], 'y'});
      for (const auto& irregular : irregulars())
        if (irregular.form.front() == term.stem.front() &&
            irregular.base.front() == term.stem.front() &&
            stemmer.stem(irregular.base) == term.stem)
          wanted->beginnings.add(irregular.form);
    }
  }
  wanted_ = std::move(wanted);
}

namespace {

// What stands between spaces is looked at by itself: no word reaches over one.
template <class Wanted>
std::vector<Found> find_all(std::string_view text, const Wanted& wanted) {
  std::vector<Found> out;
  if (wanted.terms.empty()) return out;
  static thread_local Tokenizer tokenizer;
  static thread_local Stemmer stemmer;
  for (std::size_t at = 0; at < text.size();) {
    while (at < text.size() && is_space(text[at])) ++at;
    const auto [end, looked_at] = wanted.beginnings.stretch(text, at);
    if (looked_at) {
      const auto word = text.substr(at, end - at);
      for (const auto& token : tokenizer.tokenize(word)) {
        const auto clause = wanted.clause_of(tokenizer.term(token), stemmer);
        if (clause < kClausesMax)
          out.push_back({static_cast<std::uint32_t>(at) + token.begin,
                         static_cast<std::uint32_t>(at) + token.end, clause});
      }
    }
    at = end;
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

}  // namespace

Snippet make_snippet(std::string_view text, const Query& query, std::size_t bytes_max) {
  return Snippets(query).make(text, bytes_max);
}

Snippet Snippets::make(std::string_view text, std::size_t bytes_max) const {
  Snippet out;
  const auto found = find_all(text, *wanted_);
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
