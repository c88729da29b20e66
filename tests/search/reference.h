// The scorer as search/scoring.h defines it, without any shortcut: it scores every document for
// every term.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "search/search.h"

namespace reef::search::test {

struct StoredText {
  DocumentRow row;
  std::vector<std::pair<std::uint8_t, std::string>> fields;
};

struct Expected {
  DocumentRow row;
  double score = 0;
};

class Reference {
 public:
  explicit Reference(std::vector<float> weights) : weights_(std::move(weights)) {}

  // A key belongs to one text for ever, also after the text was deleted.
  void add(StoredText text);
  // Takes over which documents the index holds, and which of them are marked as deleted.
  void set_stored(const Index& index);
  // All matching documents, best first.
  std::vector<Expected> search(const Query& query, const Filter& filter) const;

 private:
  struct Field {
    std::uint8_t field = 0;
    std::uint32_t words = 0;
    std::map<std::string, std::vector<std::uint32_t>> positions;
  };
  struct Document {
    DocumentRow row;
    std::vector<Field> fields;
  };
  struct Held {
    const Document* document = nullptr;
    bool deleted = false;
  };
  struct Wanted {
    const Clause* clause = nullptr;
    std::map<std::string, double> terms;  // satisfying terms and weights; empty for phrases
    double weight = 0;
  };
  Wanted wanted(const Clause& clause) const;
  double impact(const Document& document, const std::map<std::uint8_t, double>& counts) const;
  double score(const Document& document, const Wanted& wanted) const;

  std::vector<float> weights_;
  std::map<std::uint64_t, Document> documents_;  // by key
  std::vector<Held> held_;
  std::map<std::string, std::uint64_t> df_;
  Statistics statistics_;
};

}  // namespace reef::search::test
