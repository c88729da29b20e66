#include "store/fs/tree.h"

#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <dirent.h>
#include <fmt/format.h>

#include "base/files.h"

namespace reef::store {
namespace {

// Nobody nests so deep on purpose; every level costs a descriptor.
constexpr int kTreeDepthMax = 500;

std::vector<std::string> names_in(int directory) {
  struct Closer {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  std::vector<std::string> names;
  Fd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return names;
  const std::unique_ptr<DIR, Closer> dir(::fdopendir(own.get()));
  if (!dir) return names;
  own.release();
  while (const auto* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

std::uint64_t bytes_in(int parent, const char* name, int depth) {
  struct ::stat info = {};
  if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  if (S_ISREG(info.st_mode)) return static_cast<std::uint64_t>(info.st_size);
  if (!S_ISDIR(info.st_mode) || depth > kTreeDepthMax) return 0;
  const auto directory = open_directory(parent, name);
  if (!directory) return 0;
  std::uint64_t sum = 0;
  for (const auto& inner : names_in(directory.get()))
    sum += bytes_in(directory.get(), inner.c_str(), depth + 1);
  return sum;
}

// Some tools take away their own right to change what they made.
void make_writable(int parent, const char* name) {
  const Fd fd(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd) static_cast<void>(::chmod(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), 0700));
}

Status remove_in(int parent, const char* name, int depth) {
  if (::unlinkat(parent, name, 0) == 0 || errno == ENOENT) return Ok{};
  if (errno != EISDIR && errno != EPERM) return sys_error(errno, "remove " + std::string(name));
  if (depth > kTreeDepthMax)
    return Error(Errc::too_large, fmt::format("remove {}: nested too deep", name));
  make_writable(parent, name);
  const auto directory = open_directory(parent, name);
  if (!directory) {
    if (errno == ENOENT) return Ok{};
    return sys_error(errno, "remove " + std::string(name));
  }
  for (const auto& inner : names_in(directory.get()))
    REEF_CHECK(remove_in(directory.get(), inner.c_str(), depth + 1));
  if (::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return Ok{};
  return sys_error(errno, "remove " + std::string(name));
}

}  // namespace

Fd open_directory(int parent, const char* name) {
  return Fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::uint64_t tree_bytes(const std::string& folder) {
  return bytes_in(AT_FDCWD, folder.c_str(), 0);
}

TimePoint changed_at(const std::string& folder) {
  struct ::stat info = {};
  if (::lstat(folder.c_str(), &info) != 0) return SystemClock().now();
  return TimePoint(std::chrono::milliseconds(std::int64_t{info.st_ctim.tv_sec} * 1000 +
                                             info.st_ctim.tv_nsec / 1'000'000));
}

Status remove_tree(const std::string& folder) {
  auto done = remove_in(AT_FDCWD, folder.c_str(), 0);
  if (!done) return std::move(done).error().with(folder);
  return done;
}

}  // namespace reef::store
