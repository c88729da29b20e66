#include "memory/ranking.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "base/utf8.h"
#include "search/stemmer.h"
#include "search/tokenizer.h"

namespace reef::memory {
namespace {

constexpr double kK1 = 1.2;
constexpr double kB = 0.75;

// Words are compared by hash; 64 bits suffice for any memory.
using Word = std::uint64_t;

// The tokenizer stops after some words, so it gets texts in pieces that it reads whole.
constexpr std::size_t kPieceBytes = 120U << 10;
static_assert(kPieceBytes / 2 < search::kWordsMax);

std::string_view next_piece(std::string_view& text) {
  auto piece = utf8::prefix(text, kPieceBytes);
  if (piece.size() < text.size())
    if (const auto blank = piece.find_last_of(" \n"); blank != std::string_view::npos && blank > 0)
      piece = piece.substr(0, blank);
  text.remove_prefix(piece.size());
  return piece;
}

// Splits text into words as the search over sessions does: folded, stemmed, identifiers whole and
// by part.
class Splitter {
 public:
  void add(std::string_view text) {
    while (!text.empty()) {
      for (const auto& token : tokenizer_.tokenize(next_piece(text))) words_.push_back(word(token));
      length_ += tokenizer_.words();
    }
  }
  // Leaves out stop words, unless there are no others.
  void add_query(std::string_view query) {
    std::vector<Word> rest;
    for (const auto& token : tokenizer_.tokenize(query))
      (search::is_stop_word(tokenizer_.term(token)) ? rest : words_).push_back(word(token));
    if (words_.empty()) words_ = std::move(rest);
  }

  std::vector<Word> sorted() {
    std::sort(words_.begin(), words_.end());
    return std::move(words_);
  }
  std::size_t length() const { return length_; }

 private:
  Word word(const search::Token& token) {
    auto term = tokenizer_.term(token);
    if (token.kind != search::Token::Kind::whole && search::Stemmer::applies(term))
      term = stemmer_.stem(term);
    return std::hash<std::string_view>()(term);
  }

  search::Tokenizer tokenizer_;
  search::Stemmer stemmer_;
  std::vector<Word> words_;
  std::size_t length_ = 0;
};

}  // namespace

struct Index::Document {
  struct Count {
    Word word;
    std::uint32_t times;
  };

  explicit Document(EntryPtr of) : entry(std::move(of)) {
    Splitter splitter;
    splitter.add(entry->name);
    for (const auto& alias : entry->aliases) splitter.add(alias);
    splitter.add(entry->content);
    length = static_cast<double>(splitter.length());
    for (const auto word : splitter.sorted()) {
      if (counts.empty() || counts.back().word != word) counts.push_back({word, 0});
      ++counts.back().times;
    }
    counts.shrink_to_fit();
  }

  double times(Word word) const {
    const auto at = std::lower_bound(counts.begin(), counts.end(), word,
                                     [](const Count& count, Word w) { return count.word < w; });
    return at != counts.end() && at->word == word ? at->times : 0;
  }

  EntryPtr entry;
  std::vector<Count> counts;  // sorted by word
  double length = 0;
};

Index::Index(const Contents& contents, const Index* before) {
  std::unordered_map<const Entry*, std::shared_ptr<const Document>> known;
  if (before)
    for (const auto& document : before->documents_) known.emplace(document->entry.get(), document);
  documents_.reserve(contents.entries.size());
  for (const auto& entry : contents.entries) {
    const auto found = known.find(entry.get());
    documents_.push_back(found == known.end() ? std::make_shared<const Document>(entry)
                                              : found->second);
    average_length_ += documents_.back()->length;
  }
  if (!documents_.empty()) average_length_ /= static_cast<double>(documents_.size());
}

Index::~Index() = default;

std::vector<Hit> Index::search(std::string_view query, std::size_t limit) const {
  Splitter splitter;
  splitter.add_query(query);
  auto words = splitter.sorted();
  words.erase(std::unique(words.begin(), words.end()), words.end());

  std::vector<Hit> hits(documents_.size());
  const auto total = static_cast<double>(documents_.size());
  for (const auto word : words) {
    double having = 0;
    for (const auto& document : documents_) having += document->times(word) > 0 ? 1 : 0;
    if (having == 0) continue;
    const double idf = std::log(1 + (total - having + 0.5) / (having + 0.5));
    for (std::size_t i = 0; i < documents_.size(); ++i) {
      const auto times = documents_[i]->times(word);
      const double norm = kK1 * (1 - kB + kB * documents_[i]->length / average_length_);
      if (times > 0) hits[i].score += idf * times * (kK1 + 1) / (times + norm);
    }
  }
  for (std::size_t i = 0; i < hits.size(); ++i) hits[i].entry = documents_[i]->entry;
  std::erase_if(hits, [](const Hit& hit) { return hit.score <= 0; });
  const auto better = [](const Hit& a, const Hit& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.entry->created_at != b.entry->created_at)
      return a.entry->created_at > b.entry->created_at;
    return a.entry->id > b.entry->id;
  };
  const auto kept = std::min(limit, hits.size());
  std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(kept), hits.end(),
                    better);
  hits.resize(kept);
  return hits;
}

}  // namespace reef::memory
