// Full-text engines people would take otherwise, on the same corpus and queries.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "corpus.h"
#include "measure.h"

namespace reef::benchmarks {

struct Rival {
  std::string name;
  Nanos build{0};  // all messages, in as few transactions as it likes
  double mib = 0;  // on disk
  Samples searches;
  Samples with_windows;  // and then the messages around each row, 1,024 bytes of each
  Samples with_marks;    // and what matches marked in each row; empty: it cannot
};

// Words joined by OR, ranked by BM25, 20 rows; English stemming. Texts are kept for windows.
// `scratch` is a directory.
Result<Rival> measure_sqlite(const Corpus& corpus, const std::string& scratch,
                             const std::vector<std::vector<std::string>>& queries);
Result<Rival> measure_xapian(const Corpus& corpus, const std::string& scratch,
                             const std::vector<std::vector<std::string>>& queries);

}  // namespace reef::benchmarks
