#include "search/stemmer.h"

#include <algorithm>
#include <utility>

#include <libstemmer.h>

#include "base/assert.h"

namespace reef::search {
namespace {

constexpr std::size_t kStemBytesMin = 3;
constexpr std::size_t kStemBytesMax = 24;

// Sorted.
constexpr std::string_view kStopWords[] = {
    "a",      "about",  "am",    "an",   "and",   "any",   "are",   "as",     "at",    "be",
    "been",   "being",  "but",   "by",   "can",   "cant",  "could", "did",    "didnt", "do",
    "does",   "doesnt", "doing", "done", "dont",  "for",   "from",  "had",    "has",   "have",
    "having", "he",     "her",   "hers", "him",   "his",   "how",   "i",      "if",    "in",
    "into",   "is",     "isnt",  "it",   "its",   "just",  "me",    "might",  "my",    "no",
    "nor",    "not",    "of",    "on",   "or",    "our",   "ours",  "please", "shall", "she",
    "should", "so",     "some",  "such", "than",  "that",  "the",   "their",  "them",  "then",
    "there",  "these",  "they",  "this", "those", "to",    "too",   "us",     "very",  "was",
    "wasnt",  "we",     "were",  "what", "when",  "where", "which", "while",  "who",   "whom",
    "whose",  "why",    "will",  "with", "would", "you",   "your",  "yours",
};

}  // namespace

Stemmer::Stemmer() : stemmer_(sb_stemmer_new("english", "UTF_8")) {
  REEF_ASSERT(stemmer_ != nullptr);
}

Stemmer::~Stemmer() {
  if (stemmer_) sb_stemmer_delete(stemmer_);
}

Stemmer::Stemmer(Stemmer&& other) noexcept : stemmer_(std::exchange(other.stemmer_, nullptr)) {}

Stemmer& Stemmer::operator=(Stemmer&& other) noexcept {
  std::swap(stemmer_, other.stemmer_);
  return *this;
}

bool Stemmer::applies(std::string_view term) {
  return term.size() >= kStemBytesMin && term.size() <= kStemBytesMax &&
         std::all_of(term.begin(), term.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

std::string_view Stemmer::stem(std::string_view term) {
  const auto* stemmed = sb_stemmer_stem(stemmer_, reinterpret_cast<const sb_symbol*>(term.data()),
                                        static_cast<int>(term.size()));
  if (!stemmed) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(stemmed),
          static_cast<std::size_t>(sb_stemmer_length(stemmer_))};
}

bool is_stop_word(std::string_view term) {
  return std::binary_search(std::begin(kStopWords), std::end(kStopWords), term);
}

}  // namespace reef::search
