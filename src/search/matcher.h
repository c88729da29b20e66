// One clause of a query in one segment: which documents match, and what that is worth.
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

// What many terms find, read once for a whole search: documents in order, each with the most any of
// the terms is worth in it.
class Gathered {
 public:
  struct One {
    std::uint32_t document;
    float impact;
  };
  // Of a segment with so many documents; about so many postings will come.
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
    std::vector<float> by_document_;  // where that is less to go through than sorting
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
    float weight;  // of a related form less than of the word itself
  };

  // `weight` is the clause's idf times its own weight. Leaves of a phrase come in the order of its
  // words; the last word may have several.
  Matcher(const Clause& clause, float weight, std::vector<Leaf> leaves, const FieldScales& scales,
          Lengths lengths, std::shared_ptr<const Gathered> gathered = nullptr);

  bool empty() const { return leaves_.empty(); }  // what is gathered comes beside some
  // The first document at or after `target` that has the word, or all words of the phrase.
  std::uint32_t seek(std::uint32_t target);
  // Whether the document `seek` gave really matches: phrases are looked at here.
  bool confirm();
  // After both.
  float score();

  float bound() const { return bound_; }
  float bound(std::uint32_t from, std::uint32_t to);
  std::uint32_t next_at_least() const;

  // Writes the score of every document in [from, to) to scores[document - from], where it is larger
  // than what is there. f(document - from) is called for each. Not for phrases.
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

  // f(document, score) for every form of the word in every document; the largest of a document is
  // its score. Before anything else, and instead of it.
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

  // As visit, for a whole window that `norms` know, and many documents.
  void visit(std::uint32_t from, std::uint32_t to, const Norms& norms, float* scores);

 private:
  std::uint32_t seek_phrase(std::uint32_t target);
  // Of any of a phrase's last words.
  std::uint32_t seek_last(std::uint32_t target);
  bool read_positions();

  // The first gathered one at or after `target`, which never goes back; the end when there is none.
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
  std::size_t words_ = 1;  // of the phrase
  float weight_ = 0;
  float bound_ = 0;
  const FieldScales* scales_;
  Lengths lengths_;
  std::vector<Leaf> leaves_;
  std::shared_ptr<const Gathered> gathered_;
  std::size_t gathered_at_ = 0;
  std::uint32_t document_ = 0;
  std::array<std::uint32_t, kFieldsPerDocumentMax> counts_{};  // of the confirmed phrase
  std::vector<std::vector<std::uint32_t>> positions_;
};

}  // namespace reef::search
