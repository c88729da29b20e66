#include "search/snippet.h"

#include <algorithm>
#include <array>
#include <tuple>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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
  std::vector<std::string> beginnings;  // of words with this stem
};

// Which three letters the words of the query, or their forms, begin with: a stretch of a text in
// which none of these stand together has none of the words. Not all of those that do have one.
class Beginnings {
 public:
  // The first `sure` letters are the same in every form.
  void add(std::string_view word, std::size_t sure = kLetters) {
    sure = std::min({sure, word.size(), kLetters});
    std::size_t known = 1;
    while (known < sure && is_plain(word[known])) ++known;
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < known; ++i) first = first << kBits | letter(word[i]);
    const auto free_bits = static_cast<unsigned>((kLetters - known) * kBits);
    for (std::uint32_t rest = 0; rest < std::uint32_t{1} << free_bits; ++rest) {
      const auto all = first << free_bits | rest;
      starts_[all >> kBits] |= std::uint32_t{1} << (all & kLetterMask);
    }
    shortest_ = std::min(shortest_, known);
    // Two letters are compared at once where two are known.
    const Pair pair{letter(word[0]), letter(known > 1 ? word[1] : word[0])};
    if (known < 2) alone_ = true;
    if (std::find(pairs_.begin(), pairs_.end(), pair) == pairs_.end()) pairs_.push_back(pair);
  }

  // The first place from `at` on where a word may begin, or that folds or falls away; the end of
  // the text when there is none.
  std::size_t next(std::string_view text, std::size_t at) const {
#if defined(__SSE2__)
    if (!alone_ && pairs_.size() <= kPairsMax) {
      // One byte more is looked at, and a word that begins in the stretch is known two behind it.
      while (at + kStretch + kBack < text.size()) {
        if (may_begin(text.data() + at)) {
          const auto here = text.substr(0, at + kStretch + kBack);
          if (const auto found = next_by_letters(here, at); found < here.size()) return found;
        }
        at += kStretch;
      }
    }
#endif
    const auto found = next_by_letters(text, at);
    if (found < text.size()) return found;
    // A word of fewer letters at the very end.
    std::uint32_t last = 0;
    for (auto i = text.size() - std::min(kBack, text.size() - at); i < text.size(); ++i)
      last = (last << kBits | letter(text[i])) & kMask;
    for (auto missing = kLetters - shortest_; missing > 0; --missing) {
      last = (last << kBits) & kMask;
      if (begins(last)) return text.size() - std::min(kBack, text.size() - at);
    }
    return text.size();
  }

 private:
  static constexpr std::size_t kLetters = 3;
  static constexpr unsigned kBits = 5;
  static constexpr std::uint32_t kLetterMask = (1U << kBits) - 1;
  static constexpr std::uint32_t kMask = (1U << (kBits * kLetters)) - 1;
  static bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
  // The same for a letter in either case.
  static std::uint32_t letter(char c) { return static_cast<std::uint8_t>(c) & kLetterMask; }
  // So much of a word has been read when it is recognised.
  static constexpr std::size_t kBack = kLetters - 1;
  std::size_t next_by_letters(std::string_view text, std::size_t at) const {
    std::uint32_t last = 0;
    for (auto end = at; end < text.size(); ++end) {
      const auto c = static_cast<std::uint8_t>(text[end]);
      last = (last << kBits | letter(text[end])) & kMask;
      if (begins(last) || c >= 0x80 || c == '\'') return end - std::min(kBack, end - at);
    }
    return text.size();
  }
#if defined(__SSE2__)
  static constexpr std::size_t kStretch = 16;
  // False: nowhere in the stretch do the first two letters of a word stand together, and nothing
  // folds or falls away.
  bool may_begin(const char* stretch) const {
    const auto low = _mm_set1_epi8(kLetterMask);
    const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(stretch));
    const auto here = _mm_and_si128(bytes, low);
    const auto there =
        _mm_and_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(stretch + 1)), low);
    // The sign bit of what is not ASCII counts too.
    auto found = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\'')), bytes);
    for (const auto& [first, second] : pairs_)
      found = _mm_or_si128(
          found, _mm_and_si128(_mm_cmpeq_epi8(here, _mm_set1_epi8(static_cast<char>(first))),
                               _mm_cmpeq_epi8(there, _mm_set1_epi8(static_cast<char>(second)))));
    return _mm_movemask_epi8(found) != 0;
  }
#endif
  bool begins(std::uint32_t three) const {
    return (starts_[three >> kBits] >> (three & kLetterMask) & 1U) != 0;
  }

  // By the first two letters, a bit for each third.
  std::array<std::uint32_t, ((kMask) / 32) + 1> starts_{};
  std::size_t shortest_ = kLetters;
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  static constexpr std::size_t kPairsMax = 12;
  std::vector<Pair> pairs_;  // the first two letters
  bool alone_ = false;       // of some only one is known
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
      const auto begins = [&](const std::string& with) { return term.starts_with(with); };
      if (std::none_of(wanted.beginnings.begin(), wanted.beginnings.end(), begins)) continue;
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
      term.beginnings = beginnings_of(term.stem);
      // Words that begin differently are not looked at.
      std::erase_if(term.beginnings,
                    [&](const auto& one) { return one.front() != term.stem.front(); });
      for (const auto& beginning : term.beginnings)
        wanted->beginnings.add(beginning, beginning.size());
    }
  }
  wanted_ = std::move(wanted);
}

namespace {

// A word of plain letters as the tokenizer folds it; nothing: it has to be taken apart.
std::string_view plain_word(std::string_view text, std::array<char, kTermBytesMax>& folded) {
  if (text.empty() || text.size() > folded.size()) return {};
  const auto lower = [](char c) { return static_cast<char>(c | 0x20); };
  folded[0] = lower(text[0]);
  bool plain = folded[0] >= 'a' && folded[0] <= 'z';
  for (std::size_t i = 1; i < text.size(); ++i) {
    folded[i] = text[i];
    plain = plain && text[i] >= 'a' && text[i] <= 'z';
  }
  return plain ? std::string_view(folded.data(), text.size()) : std::string_view();
}

// What stands between spaces is looked at by itself: no word reaches over one.
template <class Wanted>
std::vector<Found> find_all(std::string_view text, const Wanted& wanted) {
  std::vector<Found> out;
  if (wanted.terms.empty()) return out;
  static thread_local Tokenizer tokenizer;
  static thread_local Stemmer stemmer;
  std::array<char, kTermBytesMax> folded;
  const auto look = [&](std::string_view term, std::size_t begin, std::size_t end) {
    if (const auto clause = wanted.clause_of(term, stemmer); clause < kClausesMax)
      out.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), clause});
  };
  for (std::size_t looked = 0; looked < text.size();) {
    auto at = wanted.beginnings.next(text, looked);
    while (at < text.size() && is_space(text[at])) ++at;
    auto end = at;
    while (at > looked && !is_space(text[at - 1])) --at;
    while (end < text.size() && !is_space(text[end])) ++end;
    looked = end;
    const auto word = text.substr(at, end - at);
    if (const auto plain = plain_word(word, folded); !plain.empty()) {
      look(plain, at, end);
      continue;
    }
    for (const auto& token : tokenizer.tokenize(word))
      look(tokenizer.term(token), at + token.begin, at + token.end);
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
