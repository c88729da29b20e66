// Other full-text engines that people might use, on the same corpus and queries.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "corpus.h"
#include "measure.h"

namespace reef::benchmarks {

struct Rival {
  std::string name;
  Nanos build{0};  // for all messages, in as few transactions as the engine allows
  double mib = 0;  // on disk
  Samples searches;
  Samples with_windows;  // including 1,024 bytes of each message around each row
  Samples with_marks;    // including marked matches in each row; empty if not supported
};

// Words are joined by OR and ranked by BM25, with 20 rows and English stemming. Texts are kept for
// windows. `scratch` is a directory.
Result<Rival> measure_sqlite(const Corpus& corpus, const std::string& scratch,
                             const std::vector<std::vector<std::string>>& queries);
Result<Rival> measure_xapian(const Corpus& corpus, const std::string& scratch,
                             const std::vector<std::vector<std::string>>& queries);

}  // namespace reef::benchmarks
