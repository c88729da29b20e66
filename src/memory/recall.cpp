#include "memory/recall.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "base/utf8.h"

namespace reef::memory {
namespace {

constexpr double kK1 = 1.2;
constexpr double kB = 0.75;

// Words are compared by their hashes: 64 bits are enough for any memory.
using Word = std::uint64_t;

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

void add_words(std::vector<Word>& out, std::string_view text) {
  const auto folded = utf8::lower_ascii(text);
  const std::string_view all(folded);
  for (std::size_t at = 0; at < all.size();) {
    if (!is_word_char(all[at])) {
      ++at;
      continue;
    }
    const auto start = at;
    while (at < all.size() && is_word_char(all[at])) ++at;
    out.push_back(std::hash<std::string_view>()(all.substr(start, at - start)));
  }
}

}  // namespace

struct Index::Document {
  struct Count {
    Word word;
    std::uint32_t times;
  };

  explicit Document(EntryPtr of) : entry(std::move(of)) {
    std::vector<Word> words;
    add_words(words, entry->name);
    for (const auto& alias : entry->aliases) add_words(words, alias);
    add_words(words, entry->content);
    length = static_cast<double>(words.size());
    std::sort(words.begin(), words.end());
    for (const auto word : words) {
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
  std::vector<Count> counts;  // by word
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
  std::vector<Word> words;
  add_words(words, query);
  std::sort(words.begin(), words.end());
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
