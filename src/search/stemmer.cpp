#include "search/stemmer.h"

#include <algorithm>
#include <map>
#include <utility>

#include <libstemmer.h>

#include "base/assert.h"

namespace reef::search {
namespace {

constexpr std::size_t kStemBytesMin = 2;
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

// Irregular forms and their base words, sorted by form.
struct Irregular {
  std::string_view form, base;
};
constexpr Irregular kIrregulars[] = {
    {"analyses", "analysis"},
    {"ate", "eat"},
    {"became", "become"},
    {"began", "begin"},
    {"begun", "begin"},
    {"bent", "bend"},
    {"best", "good"},
    {"better", "good"},
    {"bit", "bite"},
    {"bitten", "bite"},
    {"bled", "bleed"},
    {"blew", "blow"},
    {"blown", "blow"},
    {"bought", "buy"},
    {"bound", "bind"},
    {"bred", "breed"},
    {"broke", "break"},
    {"broken", "break"},
    {"brought", "bring"},
    {"built", "build"},
    {"came", "come"},
    {"caught", "catch"},
    {"children", "child"},
    {"chose", "choose"},
    {"chosen", "choose"},
    {"crises", "crisis"},
    {"criteria", "criterion"},
    {"data", "datum"},
    {"dealt", "deal"},
    {"drank", "drink"},
    {"drawn", "draw"},
    {"dreamt", "dream"},
    {"drew", "draw"},
    {"driven", "drive"},
    {"drove", "drive"},
    {"drunk", "drink"},
    {"dug", "dig"},
    {"eaten", "eat"},
    {"fallen", "fall"},
    {"farther", "far"},
    {"fed", "feed"},
    {"feet", "foot"},
    {"fell", "fall"},
    {"felt", "feel"},
    {"fled", "flee"},
    {"flew", "fly"},
    {"flown", "fly"},
    {"forgave", "forgive"},
    {"forgiven", "forgive"},
    {"forgot", "forget"},
    {"forgotten", "forget"},
    {"fought", "fight"},
    {"found", "find"},
    {"froze", "freeze"},
    {"frozen", "freeze"},
    {"further", "far"},
    {"gave", "give"},
    {"geese", "goose"},
    {"given", "give"},
    {"goes", "go"},
    {"gone", "go"},
    {"got", "get"},
    {"gotten", "get"},
    {"grew", "grow"},
    {"grown", "grow"},
    {"halves", "half"},
    {"heard", "hear"},
    {"held", "hold"},
    {"hid", "hide"},
    {"hidden", "hide"},
    {"hung", "hang"},
    {"indices", "index"},
    {"kept", "keep"},
    {"knew", "know"},
    {"knives", "knife"},
    {"known", "know"},
    {"learnt", "learn"},
    {"leaves", "leaf"},
    {"led", "lead"},
    {"left", "leave"},
    {"lent", "lend"},
    {"lives", "life"},
    {"lost", "lose"},
    {"made", "make"},
    {"matrices", "matrix"},
    {"meant", "mean"},
    {"men", "man"},
    {"met", "meet"},
    {"mice", "mouse"},
    {"paid", "pay"},
    {"people", "person"},
    {"phenomena", "phenomenon"},
    {"proven", "prove"},
    {"ran", "run"},
    {"rang", "ring"},
    {"ridden", "ride"},
    {"risen", "rise"},
    {"rode", "ride"},
    {"rose", "rise"},
    {"rung", "ring"},
    {"said", "say"},
    {"sang", "sing"},
    {"sank", "sink"},
    {"sat", "sit"},
    {"saw", "see"},
    {"seen", "see"},
    {"sent", "send"},
    {"shaken", "shake"},
    {"shone", "shine"},
    {"shook", "shake"},
    {"shot", "shoot"},
    {"shown", "show"},
    {"shrank", "shrink"},
    {"shrunk", "shrink"},
    {"slept", "sleep"},
    {"slid", "slide"},
    {"sold", "sell"},
    {"sought", "seek"},
    {"spent", "spend"},
    {"spoke", "speak"},
    {"spoken", "speak"},
    {"sprang", "spring"},
    {"sprung", "spring"},
    {"spun", "spin"},
    {"stole", "steal"},
    {"stolen", "steal"},
    {"stood", "stand"},
    {"struck", "strike"},
    {"stuck", "stick"},
    {"sung", "sing"},
    {"sunk", "sink"},
    {"swam", "swim"},
    {"swept", "sweep"},
    {"swore", "swear"},
    {"sworn", "swear"},
    {"swum", "swim"},
    {"swung", "swing"},
    {"taken", "take"},
    {"taught", "teach"},
    {"teeth", "tooth"},
    {"thought", "think"},
    {"threw", "throw"},
    {"thrown", "throw"},
    {"told", "tell"},
    {"took", "take"},
    {"tore", "tear"},
    {"torn", "tear"},
    {"understood", "understand"},
    {"vertices", "vertex"},
    {"went", "go"},
    {"wept", "weep"},
    {"wives", "wife"},
    {"woke", "wake"},
    {"woken", "wake"},
    {"wolves", "wolf"},
    {"women", "woman"},
    {"won", "win"},
    {"wore", "wear"},
    {"worn", "wear"},
    {"worse", "bad"},
    {"worst", "bad"},
    {"wound", "wind"},
    {"wove", "weave"},
    {"woven", "weave"},
    {"written", "write"},
    {"wrote", "write"},
};

std::string_view base_of(std::string_view term) {
  const auto* found = std::lower_bound(
      std::begin(kIrregulars), std::end(kIrregulars), term,
      [](const Irregular& irregular, std::string_view wanted) { return irregular.form < wanted; });
  return found != std::end(kIrregulars) && found->form == term ? found->base : term;
}

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
  term = base_of(term);
  const auto* stemmed = sb_stemmer_stem(stemmer_, reinterpret_cast<const sb_symbol*>(term.data()),
                                        static_cast<int>(term.size()));
  if (!stemmed) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(stemmed),
          static_cast<std::size_t>(sb_stemmer_length(stemmer_))};
}

namespace {

// Irregular forms, by the stem of their base word.
const std::multimap<std::string, std::string_view, std::less<>>& irregular_forms() {
  static const auto all = [] {
    std::multimap<std::string, std::string_view, std::less<>> out;
    Stemmer stemmer;
    for (const auto& irregular : kIrregulars)
      out.emplace(std::string(stemmer.stem(irregular.base)), irregular.form);
    return out;
  }();
  return all;
}

}  // namespace

// Stemming keeps the first three letters of a long stem and two of a short one, except for "dying"
// and the like and for irregular forms.
std::vector<std::string> beginnings_of(std::string_view stem) {
  std::vector<std::string> out;
  out.emplace_back(stem.substr(0, stem.size() > 3 ? 3 : 2));
  if (stem.size() > 1 && stem[1] == 'i') out.push_back({stem[0], 'y'});
  const auto [first, last] = irregular_forms().equal_range(stem);
  for (auto form = first; form != last; ++form) out.emplace_back(form->second);
  return out;
}

bool is_stop_word(std::string_view term) {
  return std::binary_search(std::begin(kStopWords), std::end(kStopWords), term);
}

}  // namespace reef::search
