#include "search/snippet.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "search/stemmer.h"
#include "search/tokenizer.h"

namespace reef::search {
namespace {

// At most this many bytes are given up to end at a space.
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

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_letter(char c) {
  return is_lower(static_cast<char>(c | 0x20));
}

// The first three letters of the query's words and of their forms. Where none of these occur, no
// wanted word begins; where one does, a wanted word may begin.
class Beginnings {
 public:
  // The first `sure` letters are the same in every form of the word.
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
    // Two letters are compared at once when two are known.
    Pair pair;
    pair.first.fill(static_cast<char>(letter(word[0])));
    pair.second.fill(static_cast<char>(known > 1 ? letter(word[1]) : 0));
    pair.any.fill(static_cast<char>(known > 1 ? 0 : 0xFF));
    if (std::find(pairs_.begin(), pairs_.end(), pair) == pairs_.end()) pairs_.push_back(pair);
  }

  // Returns the first place from `at` on where a wanted word may begin or where a character is
  // folded or dropped; the end of the text when there is none.
  std::size_t next(std::string_view text, std::size_t at) const {
#if defined(__SSE2__)
    if (pairs_.size() <= kPairsMax)
      for (; at + kStretch + kLetters <= text.size(); at += kStretch)
        for (auto places = places_in(text, at); places != 0; places &= places - 1) {
          const auto place = at + static_cast<std::size_t>(std::countr_zero(places));
          if (may_begin(text, place)) return place;
        }
#endif
    while (at < text.size() && !may_begin(text, at)) ++at;
    return at;
  }

 private:
  static constexpr std::size_t kLetters = 3;
  static constexpr unsigned kBits = 5;
  static constexpr std::uint32_t kLetterMask = (1U << kBits) - 1;
  static constexpr std::uint32_t kMask = (1U << (kBits * kLetters)) - 1;
  static bool is_plain(char c) { return is_lower(c) || (c >= '0' && c <= '9'); }
  // Maps both cases of a letter to the same number.
  static std::uint32_t letter(char c) { return static_cast<std::uint8_t>(c) & kLetterMask; }
  static bool folds(char c) { return static_cast<std::uint8_t>(c) >= 0x80 || c == '\''; }

  bool may_begin(std::string_view text, std::size_t at) const {
    if (folds(text[at])) return true;
    // A term does not begin inside a word.
    if (is_lower(text[at]) && at > 0 && is_letter(text[at - 1])) return false;
    std::uint32_t three = 0;
    for (auto i = at; i < at + kLetters; ++i)
      three = three << kBits | (i < text.size() ? letter(text[i]) : 0);
    return (starts_[three >> kBits] >> (three & kLetterMask) & 1U) != 0;
  }
#if defined(__SSE2__)
  // Sets a bit for each place of the stretch where the first two letters of a word occur and no
  // letter comes before them, or where a character is folded or dropped.
  std::uint32_t places_in(std::string_view text, std::size_t at) const {
    const auto load = [&](std::size_t from) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + from));
    };
    const auto low = _mm_set1_epi8(kLetterMask);
    const auto bytes = load(at);
    const auto before = at > 0 ? load(at - 1) : _mm_slli_si128(bytes, 1);
    const auto here = _mm_and_si128(bytes, low);
    const auto there = _mm_and_si128(load(at + 1), low);
    auto found = _mm_setzero_si128();
    const auto all = [](const Stretch& of) {
      return _mm_load_si128(reinterpret_cast<const __m128i*>(of.data()));
    };
    for (const auto& pair : pairs_) {
      const auto second = _mm_or_si128(_mm_cmpeq_epi8(there, all(pair.second)), all(pair.any));
      found = _mm_or_si128(found, _mm_and_si128(_mm_cmpeq_epi8(here, all(pair.first)), second));
    }
    const auto inside =
        _mm_and_si128(lower_in(bytes), lower_in(_mm_or_si128(before, _mm_set1_epi8(0x20))));
    found = _mm_andnot_si128(inside, found);
    // The sign bit marks bytes that are not ASCII.
    found = _mm_or_si128(_mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\''))), bytes);
    return static_cast<std::uint32_t>(_mm_movemask_epi8(found));
  }
  static __m128i lower_in(__m128i bytes) {
    const auto moved = _mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(0x80 - 'a')));
    return _mm_cmplt_epi8(moved, _mm_set1_epi8(static_cast<char>(0x80 + 26)));
  }
#endif

  // Indexed by the first two letters; one bit for each third letter.
  std::array<std::uint32_t, ((kMask) / 32) + 1> starts_{};
  // The first two letters, repeated so that a whole stretch is compared at once.
  static constexpr std::size_t kStretch = 16;
  using Stretch = std::array<char, kStretch>;
  struct alignas(kStretch) Pair {
    Stretch first, second, any;  // `any` is set where only the first letter is known
    bool operator==(const Pair&) const = default;
  };
  static constexpr std::size_t kPairsMax = 12;
  std::vector<Pair> pairs_;
};

bool is_gap(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

struct Snippets::Wanted {
  std::vector<Term> terms;
  Beginnings beginnings;
  bool compounds = false;  // some term may be a compound

  // Returns the clause that this term of a text answers, or kClausesMax.
  std::size_t clause_of(std::string_view term, Stemmer& stemmer) const {
    std::string_view stem;
    bool stemmed = false;
    for (const auto& wanted : terms) {
      if (wanted.text.front() != term.front() &&
          (wanted.stem.empty() || wanted.stem.front() != term.front()))
        continue;
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
      term.prefix =
          clause.kind == Clause::Kind::prefix || (clause.open && &text == &clause.terms.back());
      wanted->beginnings.add(text);
      wanted->compounds = wanted->compounds || term.prefix || !has_positions(text);
      if (!clause.forms || term.prefix || !Stemmer::applies(text)) continue;
      term.stem = stemmer.stem(text);
      term.beginnings = beginnings_of(term.stem);
      // Forms with another first letter are not marked.
      std::erase_if(term.beginnings,
                    [&](const auto& one) { return one.front() != term.stem.front(); });
      for (const auto& beginning : term.beginnings)
        wanted->beginnings.add(beginning, beginning.size());
    }
  }
  wanted_ = std::move(wanted);
}

namespace {

// A piece of text between spaces that the tokenizer would make one word of: plain letters, the
// first in either case, between marks.
struct PlainWord {
  std::size_t begin = 0;
  std::size_t size = 0;  // 0: it needs the tokenizer
};
PlainWord plain_word(std::string_view text) {
  const auto is_mark = [](char c) {
    return static_cast<std::uint8_t>(c) < 0x80 && !is_letter(c) && !(c >= '0' && c <= '9') &&
           c != '_';
  };
  PlainWord out;
  while (out.begin < text.size() && is_mark(text[out.begin])) ++out.begin;
  if (out.begin == text.size() || !is_letter(text[out.begin])) return out;
  auto end = out.begin + 1;
  while (end < text.size() && is_lower(text[end])) ++end;
  const auto size = end - out.begin;
  while (end < text.size() && is_mark(text[end])) ++end;
  // A single letter may be part of "c++" or "c#", which are words.
  const bool alone = size > 1 || end == out.begin + 1;
  if (end == text.size() && size <= kTermBytesMax && alone) out.size = size;
  return out;
}

bool is_run(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Returns the stretch that must be tokenized together when a word may begin at `at`: no word
// reaches over a space. Unless compounds are wanted, a run of letters, digits and underscores
// suffices when no folding character touches it.
Stretch stretch_around(std::string_view text, std::size_t at, std::size_t from, bool compounds) {
  const auto folds = [&](std::size_t i) {
    return static_cast<std::uint8_t>(text[i]) >= 0x80 || text[i] == '\'';
  };
  if (!compounds) {
    Stretch run{at, at};
    if (!is_run(text[at]) && !folds(at)) return run;
    while (run.begin > from && is_run(text[run.begin - 1])) --run.begin;
    while (run.end < text.size() && is_run(text[run.end])) ++run.end;
    const bool alone =
        (run.begin == from || !folds(run.begin - 1)) && (run.end == text.size() || !folds(run.end));
    if (run.end > run.begin && alone) return run;
  }
  Stretch out{at, at};
  while (out.begin > from && !is_gap(text[out.begin - 1])) --out.begin;
  while (out.end < text.size() && !is_gap(text[out.end])) ++out.end;
  return out;
}

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
    const auto at = wanted.beginnings.next(text, looked);
    if (at == text.size()) break;
    const auto [begin, end] = stretch_around(text, at, looked, wanted.compounds);
    looked = end + 1;
    const auto word = text.substr(begin, end - begin);
    if (const auto plain = plain_word(word); plain.size > 0) {
      word.copy(folded.data(), plain.size, plain.begin);
      folded[0] = static_cast<char>(folded[0] | 0x20);
      const auto from = begin + plain.begin;
      look({folded.data(), plain.size}, from, from + plain.size);
      continue;
    }
    for (const auto& token : tokenizer.tokenize(word))
      look(tokenizer.term(token), begin + token.begin, begin + token.end);
  }
  const auto earlier = [](const Found& a, const Found& b) { return a.begin < b.begin; };
  if (!std::is_sorted(out.begin(), out.end(), earlier))
    std::stable_sort(out.begin(), out.end(), earlier);
  return out;
}

// Returns the stretch of at most `bytes_max` bytes with the most different clauses, then the most
// matches.
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

Snippet Snippets::make(std::string_view text, std::size_t bytes_max) const {
  Snippet out;
  const auto found = find_all(text, *wanted_);
  std::size_t begin = 0;
  std::size_t end = text.size();
  if (text.size() > bytes_max) {
    std::pair<std::size_t, std::size_t> match{0, 0};
    if (!found.empty()) match = densest(found, bytes_max);
    // A third of the spare room goes before the match, the rest after it.
    const auto room = bytes_max - std::min(bytes_max, match.second - match.first);
    begin = match.first - std::min(match.first, room / 3);
    if (text.size() - begin < bytes_max) begin = text.size() - bytes_max;
    end = begin + bytes_max;
    while (begin > 0 && begin < end && inside_character(text, begin)) ++begin;
    while (end > begin && inside_character(text, end)) --end;
    if (begin > 0 && !is_gap(text[begin - 1]))
      for (auto at = begin; at < std::min(match.first, begin + kTidyBytesMax); ++at)
        if (is_gap(text[at])) {
          begin = at + 1;
          break;
        }
    if (end < text.size() && !is_gap(text[end]))
      for (auto at = end; at > std::max({match.second, begin, end - std::min(end, kTidyBytesMax)});
           --at)
        if (is_gap(text[at - 1])) {
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
