#include "base/files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

#include <dirent.h>
#include <fmt/format.h>
#include <linux/openat2.h>

#include "base/side_by_side.h"

namespace reef {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() {
  return std::exchange(fd_, -1);
}

void Fd::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

namespace {

Status status_of(int returned, std::string_view what) {
  if (returned == 0) return Ok{};
  return sys_error(errno, what);
}

// The holder of a lease is told that it is wanted, and keeps it for 45 s if it does not listen.
template <class F>
Result<Fd> patiently(F open) {
  constexpr std::chrono::milliseconds kPatience{1'000};
  constexpr std::chrono::milliseconds kStepMax{50};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (std::chrono::milliseconds step{1};; step = std::min(step * 2, kStepMax)) {
    auto fd = open();
    if (fd || fd.error().code != Errc::busy || std::chrono::steady_clock::now() >= deadline)
      return fd;
    std::this_thread::sleep_for(step);
  }
}

Files::Stat to_stat(const struct ::stat& info) {
  Files::Stat out;
  out.size = static_cast<std::uint64_t>(info.st_size);
  out.modified_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  out.directory = S_ISDIR(info.st_mode);
  out.regular = S_ISREG(info.st_mode);
  return out;
}

}  // namespace

Result<Fd> PosixFiles::open(const std::string& path, Open how) {
  if (how != Open::read) return open_once(path, how);
  return patiently([&] { return open_once(path, how); });
}

Result<Fd> PosixFiles::open_once(const std::string& path, Open how) {
  int flags = O_CLOEXEC | O_NOCTTY;
  switch (how) {
    case Open::read:
      flags |= O_RDONLY | O_NONBLOCK;
      break;
    case Open::append:
      flags |= O_RDWR | O_APPEND | O_NONBLOCK;
      break;
    case Open::create:
      flags |= O_RDWR | O_APPEND | O_CREAT | O_EXCL;
      break;
    case Open::source:
      flags |= O_RDONLY | O_NONBLOCK | O_NOATIME;
      break;
    case Open::plain:
      flags |= O_RDONLY | O_NONBLOCK | O_NOATIME | O_NOFOLLOW;
      break;
  }
  Fd fd(::open(path.c_str(), flags, 0600));
  // Only the owner may read it without leaving a trace.
  if (!fd && (flags & O_NOATIME) != 0 && errno == EPERM)
    fd = Fd(::open(path.c_str(), flags & ~O_NOATIME, 0600));
  if (!fd && errno == EWOULDBLOCK)
    return Error(Errc::busy, "open " + path + ": another process holds a lease on it", EWOULDBLOCK);
  if (!fd) return sys_error(errno, "open " + path);
  return fd;
}

Result<std::size_t> PosixFiles::write(int fd, std::string_view bytes) {
  const auto written = ::write(fd, bytes.data(), bytes.size());
  if (written < 0) return sys_error(errno, "write");
  return static_cast<std::size_t>(written);
}

Result<std::size_t> PosixFiles::read(int fd, std::uint64_t offset, char* into, std::size_t size) {
  const auto got = ::pread(fd, into, size, static_cast<off_t>(offset));
  if (got < 0) return sys_error(errno, "read");
  return static_cast<std::size_t>(got);
}

std::optional<std::size_t> Files::read_cached(int, const std::string&, std::uint64_t, char*,
                                              std::size_t) {
  return std::nullopt;
}

std::optional<std::size_t> PosixFiles::read_cached(int directory, const std::string& path,
                                                   std::uint64_t offset, char* into,
                                                   std::size_t size) {
  struct ::open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  how.resolve = RESOLVE_CACHED;
  const Fd fd(static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
  if (!fd) return std::nullopt;
  std::size_t have = 0;
  while (have < size) {
    const struct ::iovec piece = {into + have, size - have};
    const auto got = ::preadv2(fd.get(), &piece, 1, static_cast<off_t>(offset + have), RWF_NOWAIT);
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

Result<Files::Stat> PosixFiles::stat(int fd) {
  struct ::stat info = {};
  if (::fstat(fd, &info) != 0) return sys_error(errno, "stat");
  return to_stat(info);
}

Result<Files::Stat> PosixFiles::stat_path(const std::string& path) {
  struct ::stat info = {};
  if (::stat(path.c_str(), &info) != 0) return sys_error(errno, "stat " + path);
  return to_stat(info);
}

Status PosixFiles::truncate(int fd, std::uint64_t size) {
  return status_of(::ftruncate(fd, static_cast<off_t>(size)), "truncate");
}
Status PosixFiles::sync(int fd) {
  return status_of(::fdatasync(fd), "sync");
}

Status PosixFiles::sync_filesystem(int fd) {
  return status_of(::syncfs(fd), "sync the file system");
}

Status PosixFiles::sync_directory(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return sys_error(errno, "open directory " + path);
  return status_of(::fsync(fd.get()), "sync directory " + path);
}

Status PosixFiles::make_directory(const std::string& path) {
  return status_of(::mkdir(path.c_str(), 0700), "make directory " + path);
}

Status PosixFiles::rename(const std::string& from, const std::string& to) {
  return status_of(::rename(from.c_str(), to.c_str()), "rename " + from + " to " + to);
}

Status PosixFiles::remove(const std::string& path) {
  return status_of(::remove(path.c_str()), "remove " + path);
}

namespace {

struct DirectoryCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Directory = std::unique_ptr<DIR, DirectoryCloser>;

Result<std::vector<std::string>> names_in(DIR* dir, const std::string& path) {
  std::vector<std::string> names;
  errno = 0;
  while (const auto* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return sys_error(errno, "list " + path);
  return names;
}

}  // namespace

Result<std::vector<std::string>> PosixFiles::list(const std::string& directory) {
  const Directory dir(::opendir(directory.c_str()));
  if (!dir) return sys_error(errno, "list " + directory);
  REEF_TRY(auto names, names_in(dir.get(), directory));
  std::sort(names.begin(), names.end());
  return names;
}

// Begins at the open directory: with many thousands, walking the whole path each time takes a
// quarter of the time. Two threads share it, because a start waits for it.
Result<std::vector<Files::Inner>> PosixFiles::stat_inner(const std::string& directory,
                                                         const std::string& inner) {
  constexpr std::size_t kAtOnce = 128;
  constexpr std::size_t kManyNames = 2048;
  const Directory dir(::opendir(directory.c_str()));
  if (!dir) return sys_error(errno, "list " + directory);
  REEF_TRY(auto names, names_in(dir.get(), directory));
  std::vector<Inner> out(names.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    std::string path;
    for (auto from = next.fetch_add(kAtOnce); from < out.size(); from = next.fetch_add(kAtOnce))
      for (auto i = from; i < std::min(from + kAtOnce, out.size()); ++i) {
        path.assign(names[i]).append("/").append(inner);
        struct ::stat info = {};
        if (::fstatat(::dirfd(dir.get()), path.c_str(), &info, 0) == 0)
          out[i].stat = to_stat(info);
        else
          out[i].stat = sys_error(errno, "stat " + directory + "/" + path);
        out[i].name = std::move(names[i]);
      }
  };
  const bool many = names.size() >= kManyNames && std::thread::hardware_concurrency() > 1;
  side_by_side(many ? 2 : 1, work);
  return out;
}

Result<std::vector<Files::Inner>> Files::stat_inner(const std::string& directory,
                                                    const std::string& inner) {
  REEF_TRY(auto names, list(directory));
  std::vector<Inner> out;
  out.reserve(names.size());
  for (auto& name : names) {
    auto stat = stat_path(directory + "/" + name + "/" + inner);
    out.push_back(Inner{std::move(name), std::move(stat)});
  }
  return out;
}

namespace {

// No transcript or file of ours comes near this; a sparse giant must not take the memory.
constexpr std::uint64_t kReadBytesMax = 4ULL << 30;

// Takes large pages for a large file where there are any: taking the small ones one by one lasts
// longer than reading.
std::string room_for(std::uint64_t size) {
  constexpr std::uintptr_t kLargePage = 2U << 20;
  std::string out;
  out.reserve(size);
  const auto at = reinterpret_cast<std::uintptr_t>(out.data());
  const auto begin = (at + kLargePage - 1) / kLargePage * kLargePage;
  const auto end = (at + size) / kLargePage * kLargePage;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  return out;
}

}  // namespace

std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<Fd> open_patiently(Files& files, const std::string& path, Files::Open how) {
  return patiently([&] { return files.open(path, how); });
}

Status write_all(Files& files, int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto written = files.write(fd, bytes);
    if (!written) {
      if (written.error().sys == EINTR) continue;
      return std::move(written).error();
    }
    bytes.remove_prefix(*written);
  }
  return Ok{};
}

Result<std::string> read_range(Files& files, int fd, std::uint64_t offset, std::uint64_t size) {
  if (size > kReadBytesMax)
    return Error(Errc::too_large, fmt::format("{} bytes are more than can be read at once", size));
  auto bytes = room_for(size);
  bytes.resize(size);
  std::size_t have = 0;
  while (have < bytes.size()) {
    auto got = files.read(fd, offset + have, bytes.data() + have, bytes.size() - have);
    if (!got) {
      if (got.error().sys == EINTR) continue;
      return std::move(got).error();
    }
    if (*got == 0) break;
    have += *got;
  }
  bytes.resize(have);
  return bytes;
}

Result<std::string> read_all(Files& files, const std::string& path) {
  REEF_TRY(const Fd fd, files.open(path, Files::Open::read));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  if (stat.directory) return Error(Errc::invalid, "read " + path + ": is a directory");
  auto bytes = read_range(files, fd.get(), 0, stat.size);
  if (!bytes) return std::move(bytes).error().with("read " + path);
  return bytes;
}

Status make_directories(Files& files, const std::string& path) {
  auto made = files.make_directory(path);
  if (made) return files.sync_directory(parent_of(path));
  if (made.error().code == Errc::conflict) {
    REEF_TRY(const Fd fd, files.open(path, Files::Open::read));
    REEF_TRY(const auto stat, files.stat(fd.get()));
    if (!stat.directory)
      return Error(Errc::conflict, "make directory " + path + ": a file is in its place");
    return Ok{};
  }
  if (made.error().code != Errc::not_found || parent_of(path).size() >= path.size()) return made;
  REEF_CHECK(make_directories(files, parent_of(path)));
  REEF_CHECK(files.make_directory(path));
  return files.sync_directory(parent_of(path));
}

Status replace_atomically(Files& files, const std::string& path, std::string_view bytes) {
  const std::string temp = path + ".tmp";
  static_cast<void>(files.remove(temp).ok());  // left by a crash; its absence is the usual case
  const auto attempt = [&]() -> Status {
    REEF_TRY(Fd fd, files.open(temp, Files::Open::create));
    REEF_CHECK(write_all(files, fd.get(), bytes));
    REEF_CHECK(files.sync(fd.get()));
    REEF_CHECK(files.rename(temp, path));
    return files.sync_directory(parent_of(path));
  };
  auto done = attempt();
  if (!done) {
    static_cast<void>(files.remove(temp).ok());
    return std::move(done).error().with("replace " + path);
  }
  return done;
}

}  // namespace reef
