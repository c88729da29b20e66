// The measurements of the group `search` beyond the engine alone.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "corpus.h"
#include "measure.h"

namespace reef::benchmarks {

// Opens the index, runs the queries in the file beside it, and prints the times and the resident
// memory. Returns an exit code. Runs in a separate process.
int search_here(const std::string& directory);

inline constexpr std::size_t kStarts = 5;

// The daemon on transcripts, queried over its socket: 20 hits with their windows.
struct DaemonSearches {
  Samples inside;    // time inside the daemon, windows included, with one query after the other
  Samples received;  // from the request to the last byte of the answer at the client
  // The same with a client that parses every answer before the next query.
  Samples inside_unhurried;
  Samples as_objects;
  Nanos rebuild{0};  // from a start without an index to the first answer
  Nanos restart{0};  // with an index: the median of kStarts
  Nanos slowest_restart{0};
  double text_mib = 0;
  double index_mib = 0;
  double resident_mib = 0;   // after a rebuild and all queries
  double anonymous_mib = 0;  // part of it, without pages of files
  double resident_restarted_mib = 0;
};
Result<DaemonSearches> measure_daemon(const Corpus& corpus, const std::string& scratch,
                                      const std::vector<std::string>& queries);

}  // namespace reef::benchmarks
