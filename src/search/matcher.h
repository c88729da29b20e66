// One clause of a query in one segment: finds the documents that match and scores them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "search/cursor.h"
#include "search/norms.h"
#include "search/query.h"

namespace reef::search {

// The documents of many terms, read once for a whole search, in order. Each has the largest impact
// that any of the terms has in it.
class Gathered {
 public:
  struct One {
    std::uint32_t document;
    float impact;
  };
  // For a segment with `documents` documents; about `postings` postings will come.
  class Builder {
   public:
    Builder(std::uint32_t documents, std::uint64_t postings);
    void add(std::uint32_t document, float impact) {
      if (by_document_.empty())
        found_.push_back({document, impact});
      else
        by_document_[document] = std::max(by_document_[document], impact);
    }
    std::shared_ptr<const Gathered> finish();

   private:
    std::vector<float> by_document_;  // used when scanning it takes less time than sorting
    std::vector<One> found_;
  };

  std::span<const One> all() const { return all_; }
  float bound() const { return bound_; }

 private:
  std::vector<One> all_;
  float bound_ = 0;
};

class Matcher {
 public:
  struct Leaf {
    template <class... Of>
    explicit Leaf(float worth, Of&&... of) : cursor(std::forward<Of>(of)...), weight(worth) {}

    Cursor cursor;
    float weight;  // lower for a related form than for the word itself
  };

  // `weight` is the clause's idf times its own weight. The leaves of a phrase come in the order of
  // its words; only the last word may have several.
  Matcher(const Clause& clause, float weight, std::vector<Leaf> leaves, const FieldScales& scales,
          Lengths lengths, std::shared_ptr<const Gathered> gathered = nullptr);

  bool empty() const { return leaves_.empty(); }  // gathered terms always come beside a leaf
  // Moves to the first document at or after `target` that has the word, or all words of the phrase.
  std::uint32_t seek(std::uint32_t target);
  // Tells whether the document that `seek` returned really matches; this is where phrases are
  // checked.
  bool confirm();
  // Call it after both seek and confirm.
  float score();

  float bound() const { return bound_; }
  float bound(std::uint32_t from, std::uint32_t to);
  std::uint32_t next_at_least() const;

  // Raises scores[document - from] to the score of every matching document in [from, to) and calls
  // f(document - from) for each. Not for phrases.
  template <class F>
  void visit(std::uint32_t from, std::uint32_t to, float* scores, F&& f) {
    for (auto& leaf : leaves_) {
      const float weight = leaf.weight * weight_;
      leaf.cursor.visit(from, to, [&](const auto* documents, const auto* payloads, auto count) {
        for (std::uint32_t i = 0; i < count; ++i) {
          const float score = weight * scales_->impact(lengths_, documents[i], payloads[i]);
          auto& place = scores[documents[i] - from];
          place = place < score ? score : place;
          f(documents[i] - from);
        }
      });
    }
    visit_gathered(from, to, scores, f);
  }

  // Calls f(document, score) for every form of the word in every document; a document's score is
  // the largest of these. Must be the only call on this matcher.
  template <class F>
  void visit_all(std::uint32_t documents, F&& f) {
    for (auto& leaf : leaves_) {
      const float weight = leaf.weight * weight_;
      leaf.cursor.visit(0, documents, [&](const auto* found, const auto* payloads, auto count) {
        for (std::uint32_t i = 0; i < count; ++i)
          f(found[i], weight * scales_->impact(lengths_, found[i], payloads[i]));
      });
    }
    if (gathered_)
      for (const auto& one : gathered_->all()) f(one.document, weight_ * one.impact);
  }

  // Like the other visit, but for a whole window that `norms` knows, with many documents.
  void visit(std::uint32_t from, std::uint32_t to, const Norms& norms, float* scores);

 private:
  std::uint32_t seek_phrase(std::uint32_t target);
  // Moves to the next document that has one of a phrase's last words.
  std::uint32_t seek_last(std::uint32_t target);
  bool read_positions();

  // Returns the first gathered document at or after `target`, which never goes back; null at the
  // end.
  const Gathered::One* find_gathered(std::uint32_t target);

  template <class F>
  void visit_gathered(std::uint32_t from, std::uint32_t to, float* scores, F&& f) {
    if (!gathered_) return;
    const auto all = gathered_->all();
    const auto* end = all.data() + all.size();
    for (const auto* one = find_gathered(from); one != end && one->document < to; ++one) {
      auto& place = scores[one->document - from];
      place = std::max(place, weight_ * one->impact);
      f(one->document - from);
    }
  }

  bool phrase_ = false;
  std::size_t words_ = 1;  // in the phrase
  float weight_ = 0;
  float bound_ = 0;
  const FieldScales* scales_;
  Lengths lengths_;
  std::vector<Leaf> leaves_;
  std::shared_ptr<const Gathered> gathered_;
  std::size_t gathered_at_ = 0;
  std::uint32_t document_ = 0;
  std::array<std::uint32_t, kFieldsPerDocumentMax> counts_{};  // of the confirmed phrase, per field
  std::vector<std::vector<std::uint32_t>> positions_;
};

}  // namespace reef::search
