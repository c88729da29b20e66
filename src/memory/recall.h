// Ranking entries for a question: BM25 over name, aliases and content, notes and archives together.
// An Index is made from contents and never changed; any thread.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "memory/crmem.h"

namespace reef::memory {

struct Hit {
  EntryPtr entry;
  double score = 0;
};

class Index {
 public:
  // What `before` knows of unchanged entries is used again; it may be nullptr.
  Index(const Contents& contents, const Index* before);
  ~Index();

  // Best first, those with any of the words; between equals the younger. No words, no hits.
  std::vector<Hit> search(std::string_view query, std::size_t limit) const;

 private:
  struct Document;

  std::vector<std::shared_ptr<const Document>> documents_;
  double average_length_ = 0;
};

}  // namespace reef::memory
