// What the group `search` measures beside the engine alone.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "corpus.h"
#include "measure.h"

namespace reef::benchmarks {

// Opens the index, asks what stands in the file beside it, and prints how long that took and what
// is resident then. Returns an exit code. Runs in a process of its own.
int search_here(const std::string& directory);

inline constexpr std::size_t kStarts = 5;

// The daemon on transcripts, asked over its socket: 20 hits with their windows.
struct DaemonSearches {
  Samples inside;    // the daemon, windows included, asked one question after the other
  Samples received;  // from the request to the last byte of the answer at the other end
  // The same at a client that makes objects of every answer before it asks again.
  Samples inside_unhurried;
  Samples as_objects;
  Nanos rebuild{0};  // from the start without an index to the first answer
  Nanos restart{0};  // with one: the median of kStarts
  Nanos slowest_restart{0};
  double text_mib = 0;
  double index_mib = 0;
  double resident_mib = 0;   // after a rebuild and all queries
  double anonymous_mib = 0;  // of that, without pages of files
  double resident_restarted_mib = 0;
};
Result<DaemonSearches> measure_daemon(const Corpus& corpus, const std::string& scratch,
                                      const std::vector<std::string>& queries);

}  // namespace reef::benchmarks
