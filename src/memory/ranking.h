// Ranks entries for a question: BM25 over name, aliases and content, notes and archives together.
// An Index never changes once made; any thread.
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
  // Reuses what `before` knows of unchanged entries; it may be nullptr.
  Index(const Contents& contents, const Index* before);
  ~Index();

  // Returns entries with any of the words, best first and the younger first among equals. A query
  // without words finds nothing.
  std::vector<Hit> search(std::string_view query, std::size_t limit) const;

 private:
  struct Document;

  std::vector<std::shared_ptr<const Document>> documents_;
  double average_length_ = 0;
};

}  // namespace reef::memory
