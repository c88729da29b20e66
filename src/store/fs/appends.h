// Durable appends to transcripts: alone, or many behind one sync of the file system.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/pool.h"
#include "base/task.h"

namespace reef::store {

// A few appends at a time get a sync each. When there are many, those that come while the disk is
// busy wait together and share one. Loop thread; the file work runs on the pool. The files must
// outlive the pool.
class Appends {
 public:
  Appends(Files& files, Pool& pool);
  ~Appends();

  // Like Store::append, for the file with this path. busy when another process keeps a lease on it
  // for longer than two seconds; no other append waits for that.
  Task<Status> append(std::string file, std::uint64_t at, std::string bytes);

 private:
  struct Batches;
  Task<Status> append_once(const std::string& file, std::uint64_t at, std::string& bytes);
  Task<Status> append_in_batch(const std::string& file, std::uint64_t at, std::string& bytes);

  Files& files_;
  Pool& pool_;
  std::size_t direct_ = 0;            // under way, each with a sync of its own
  std::shared_ptr<Batches> batches_;  // shared with the threads that write them
};

// The blocking halves, for the pool and for tests that count system calls.
Status append_transcript(Files& files, const std::string& file, std::uint64_t at,
                         std::string_view bytes);

// One append of a batch.
struct PendingAppend {
  std::string file;
  std::uint64_t at = 0;
  std::string bytes;
  std::optional<Status> outcome = std::nullopt;
};
// Does the same for several files with one sync; every one gets its outcome.
void append_transcripts(Files& files, std::vector<PendingAppend>& batch);

// Puts the file back to `at` bytes after a failed write or sync of `count` bytes. Bytes that
// another program has appended behind them must not be cut: then the fragment stays, and the reader
// passes over it.
void undo_append(Files& files, const std::string& file, int fd, std::uint64_t at,
                 std::uint64_t count);

}  // namespace reef::store
