// Peers of the daemon in comparisons: the least that the kernel and the disk need for the same
// work.
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "measure.h"
#include "process.h"

namespace reef::benchmarks {

// A process that echoes its input, with blocking reads and writes on a Unix socket.
class Echo {
 public:
  static Result<Echo> start();
  // Writes the bytes and waits for as many.
  Status exchange(std::string_view bytes);
  int pid() const { return child_.pid(); }

 private:
  Echo(Fd fd, Child child) : child_(std::move(child)), fd_(std::move(fd)) {}
  Child child_;
  Fd fd_;
};

// The size of a durable append for one entry of a transcript.
inline constexpr std::size_t kEntryBytes = 300;

// The simplest durable file: it stays open, is appended to and synced.
class SyncedFile {
 public:
  // Creates a new file in `directory`.
  static Result<SyncedFile> create(const std::string& directory);
  Status append();

 private:
  explicit SyncedFile(Fd fd) : fd_(std::move(fd)) {}
  PosixFiles files_;
  Fd fd_;
  std::string bytes_ = std::string(kEntryBytes, 'x');
};

// Measures how long `threads` threads take for `appends` synced appends each, every thread to its
// own file. `each`, if given, gets the time of every append.
Result<Nanos> append_in_parallel(const std::string& directory, int threads, int appends,
                                 Samples* each = nullptr);

}  // namespace reef::benchmarks
