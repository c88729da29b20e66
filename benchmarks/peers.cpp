#include "peers.h"

#include <atomic>
#include <cerrno>
#include <latch>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace reef::benchmarks {
namespace {

// Runs in the child and never returns.
[[noreturn]] void echo_until_closed(int fd) {
  ::signal(SIGTERM, SIG_DFL);
  char buffer[4096];
  for (;;) {
    const auto got = ::read(fd, buffer, sizeof buffer);
    if (got <= 0 || ::write(fd, buffer, static_cast<std::size_t>(got)) != got) ::_exit(0);
  }
}

}  // namespace

Result<Echo> Echo::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return sys_error(errno, "make a socket pair");
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const auto pid = ::fork();
  if (pid < 0) return sys_error(errno, "start the echo");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::close(ours.get());
    echo_until_closed(theirs.get());
  }
  return Echo(std::move(ours), Child(pid));
}

Status Echo::exchange(std::string_view bytes) {
  if (::write(fd_.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return sys_error(errno, "write to the echo");
  char buffer[4096];
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto got = ::read(fd_.get(), buffer, sizeof buffer);
    if (got <= 0) return sys_error(got == 0 ? ECONNRESET : errno, "read from the echo");
    have += static_cast<std::size_t>(got);
  }
  return Ok{};
}

Result<SyncedFile> SyncedFile::create(const std::string& directory) {
  static std::atomic<int> made = 0;
  PosixFiles files;
  const auto path = fmt::format("{}/synced-{}", directory, ++made);
  REEF_TRY(auto fd, files.open(path, Files::Open::create));
  return SyncedFile(std::move(fd));
}

Status SyncedFile::append() {
  REEF_CHECK(write_all(files_, fd_.get(), bytes_));
  return files_.sync(fd_.get());
}

Result<Nanos> append_in_parallel(const std::string& directory, int threads, int appends,
                                 Samples* each) {
  std::vector<SyncedFile> synced;
  for (int i = 0; i < threads; ++i) {
    REEF_TRY(auto file, SyncedFile::create(directory));
    // The first append also allocates the file's first block, which sessions have already.
    REEF_CHECK(file.append());
    synced.push_back(std::move(file));
  }
  std::atomic<bool> failed = false;
  std::vector<Samples> samples(synced.size());
  std::vector<std::thread> running;
  std::latch ready(threads + 1);  // starting the threads is not measured
  for (std::size_t i = 0; i < synced.size(); ++i)
    running.emplace_back([&file = synced[i], &mine = samples[i], &failed, &ready, appends] {
      ready.arrive_and_wait();
      for (int done = 0; done < appends && !failed; ++done) {
        const auto began = now();
        if (!file.append()) failed = true;
        mine.add(now() - began);
      }
    });
  ready.arrive_and_wait();
  const auto start = now();
  for (auto& thread : running) thread.join();
  const auto took = now() - start;
  if (failed) return Error(Errc::io, "a synced append in " + directory + " failed");
  if (each)
    for (const auto& mine : samples) each->add(mine);
  return took;
}

}  // namespace reef::benchmarks
