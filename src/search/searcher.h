// Runs one query over segments and finds the best documents without scoring the others. Used for
// one search only; the segments must not change meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "search/build.h"
#include "search/matcher.h"
#include "search/query.h"
#include "search/rough.h"

namespace reef {
class Helper;
}

namespace reef::search {

// A set of groups, by number.
class GroupSet {
 public:
  void add(std::uint32_t group);
  bool has(std::uint32_t group) const {
    return group / 64 < bits_.size() && (bits_[group / 64] >> (group % 64) & 1) != 0;
  }
  const std::vector<std::uint32_t>& members() const { return members_; }

 private:
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> members_;  // in the order they were added
};

// The conditions that a document must meet; tested inside the search.
struct Filter {
  const GroupSet* groups = nullptr;  // null: all
  std::int64_t time_from_ms = std::numeric_limits<std::int64_t>::min();
  std::int64_t time_to_ms = std::numeric_limits<std::int64_t>::max();  // not included
  std::function<bool(const DocumentRow&)> accept;                      // asked last; null: all
};

struct Unit {
  const Source* source = nullptr;
  const Tombstones* deleted = nullptr;
  // These two are kept from search to search; null in memory.
  Norms* norms = nullptr;
  RoughShelf* rough = nullptr;
};

struct Hit {
  std::uint32_t unit = 0;      // segment and document: valid until the index changes
  std::uint32_t document = 0;  //
  float score = 0;
  std::uint32_t matched = 0;  // one bit per clause of the query
  DocumentRow row;
};

// Prefers higher scores, then newer documents, then the order of groups and keys.
bool better(const Hit& a, const Hit& b);

// Returns the most similar word with the same first letter, preferring one in many documents; empty
// when none is near.
std::string nearest_word(std::span<const Unit> units, std::string_view word);

class Searcher {
 public:
  Searcher(std::vector<Unit> units, Query query, std::span<const float> weights, Stemmer& stemmer);

  // Lets the Helper read a part of the postings when there are many. Filters are then called on
  // both threads.
  void use(Helper& helper) { helper_ = &helper; }

  // Returns the best `limit` documents, or the best document of each of `limit` groups.
  std::vector<Hit> best(const Filter& filter, std::size_t limit, bool one_per_group = false);
  // Returns the same documents in the order of segments and documents.
  std::vector<Hit> best_in_place(const Filter& filter, std::size_t limit);
  // Fills in score and matched of these documents, for example neighbours of a hit. They may be in
  // any order; filters and exclusions are ignored.
  void score(std::span<Hit> documents);
  // Does the same on one of several threads.
  class Scorer {
   public:
    explicit Scorer(const Searcher& searcher) : searcher_(searcher) {}
    void score(std::span<Hit> documents);
    void score(Hit& hit);  // quickest when the documents come in order

   private:
    const Searcher& searcher_;
    std::vector<Matcher> matchers_;
    std::uint32_t unit_ = UINT32_MAX;
    std::uint32_t document_ = 0;  // the last document scored
  };
  // Runs here(n) on this thread, or there(n) on the Helper's, for every n below `count`.
  using Part = std::function<void(std::size_t)>;
  void share(std::size_t count, const Part& here, const Part& there);
  // Tells whether any document has the clause or one of its forms.
  bool knows(std::size_t clause) const;
  // The query as it is searched; of a long one, only the clauses chosen.
  const Query& query() const { return query_; }
  // The postings of all clauses together, which is what reading all of them would cost.
  std::uint64_t postings() const;
  // The weight of each clause: its rarity times its own weight. Exclusions weigh nothing; there may
  // be more of them than fit.
  std::span<const float> clause_weights() const {
    return std::span(weights_).first(std::min(weights_.size(), kClausesMax));
  }

 private:
  struct Found {  // one term of a clause in a segment
    TermEntry entry;
    std::uint32_t memory_term = 0;
    std::uint32_t df = 0;
    float weight = 1;
    std::size_t word = 0;  // for a phrase: which of its words
  };
  class Top;
  struct Plan;
  class AnyOf;
  class RoughFirst;

  std::vector<Found> find(const Unit& unit, const Clause& clause);
  // Keeps one term of a prefix that has many; the documents of the others are gathered.
  std::shared_ptr<const Gathered> gather_rare(const Unit& unit, std::vector<Found>& found) const;
  void choose_clauses();
  static bool has_all_words(const Clause& clause, std::span<const Found> found);
  std::vector<Matcher> matchers(std::size_t unit, bool with_excluded) const;
  void run(const Filter& filter, Top& top);
  void run(std::uint32_t unit, const Filter& filter, Top& top);
  using Work = std::function<void(std::uint32_t begin, std::uint32_t end)>;
  // Returns the number of postings of each optional clause.
  std::vector<std::uint64_t> postings_of(const Plan& plan) const;
  bool worth_help(std::uint64_t postings) const;
  // Shares the documents between this thread and the Helper.
  void share(std::pair<std::uint32_t, std::uint32_t> range, const Work& here, const Work& there);
  void run_with_help(Plan& plan, Top& top);
  // Returns one view per optional clause; empty when none of the clauses has a Rough.
  std::vector<RoughView> roughs(const Plan& plan);
  void run_roughly(Plan& plan, std::span<const RoughView> views, Top& top);
  void run_all(Plan& plan, Top& top);
  void run_everything(Plan& plan, Top& top);
  std::vector<Unit> units_;
  Query query_;
  Stemmer* stemmer_;
  Helper* helper_ = nullptr;
  FieldScales scales_;
  std::vector<float> weights_;                          // per clause: idf times weight
  std::vector<std::vector<std::vector<Found>>> found_;  // unit, clause
  // The same indices; mostly null.
  std::vector<std::vector<std::shared_ptr<const Gathered>>> gathered_;
};

}  // namespace reef::search
