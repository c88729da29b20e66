#include "daemon/own_process.h"

#include <cstdio>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <malloc.h>

namespace reef::daemon {
namespace {

void raise_descriptor_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace

mode_t prepare_process() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);              // a limit on file sizes only fails the write
  const auto users_umask = ::umask(0077);  // for files agents write for the user
  // Keeps other processes of the same user, such as agents' commands, from reading our environment
  // and memory, which hold keys.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // A command that kills its keeper stays our descendant, and descendants may not act as the user.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // The pool's threads share a few heaps, because more would only keep unused memory. With fewer,
  // threads that read sessions at the start or search together would wait for each other.
  ::mallopt(M_ARENA_MAX, 8);
  // Large buffers are returned at once, so the heap does not keep room for the largest there ever
  // was.
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  // A search needs some hundred KiB for its answer; returning them to the system each time would
  // cost more than making the answer.
  ::mallopt(M_TRIM_THRESHOLD, 4 << 20);
  raise_descriptor_limit();
  return users_umask;
}

std::uint64_t resident_bytes() {
  unsigned long total = 0;
  unsigned long resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return std::uint64_t{resident} * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace reef::daemon
