// What the daemon is compared with: the least the kernel and the disk ask for the same work.
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "measure.h"
#include "process.h"

namespace reef::benchmarks {

// Another process that sends back what it is sent: blocking reads and writes on a Unix socket.
class Echo {
 public:
  static Result<Echo> start();
  // Writes the bytes, waits for as many.
  Status exchange(std::string_view bytes);
  int pid() const { return child_.pid(); }

 private:
  Echo(Fd fd, Child child) : child_(std::move(child)), fd_(std::move(fd)) {}
  Child child_;
  Fd fd_;
};

// A durable append of this size is what one entry of a transcript needs.
inline constexpr std::size_t kEntryBytes = 300;

// A file that is appended to and synced, as bare as it gets: it stays open.
class SyncedFile {
 public:
  // A new file in `directory`.
  static Result<SyncedFile> create(const std::string& directory);
  Status append();

 private:
  explicit SyncedFile(Fd fd) : fd_(std::move(fd)) {}
  PosixFiles files_;
  Fd fd_;
  std::string bytes_ = std::string(kEntryBytes, 'x');
};

// How long `threads` threads take for `appends` synced appends each, every thread to its own file.
// `each`, when given, gets the time of every append.
Result<Nanos> append_in_parallel(const std::string& directory, int threads, int appends,
                                 Samples* each = nullptr);

}  // namespace reef::benchmarks
