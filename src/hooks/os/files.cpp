#include "hooks/os/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/magic.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/files.h"
#include "base/utf8.h"

namespace reef::hooks::os {
namespace {

std::string name_of(const std::string& path) {
  return utf8::excerpt(path, 200);
}

std::string_view kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISLNK(mode)) return "a link that leads nowhere";
  return "a device";
}

Status check_regular(const std::string& path, const struct ::stat& info) {
  if (S_ISREG(info.st_mode)) return Ok{};
  if (S_ISDIR(info.st_mode))
    return Error(Errc::invalid,
                 fmt::format("{} is a folder; ls shows what is in it", name_of(path)));
  return Error(Errc::invalid,
               fmt::format("{} is {}, not a file", name_of(path), kind_of(info.st_mode)));
}

// Folders get the user's umask; the daemon's own is another.
Status make_folders(const std::string& folder, mode_t umask) {
  if (::mkdir(folder.c_str(), 0700) != 0) {
    const int failed = errno;
    struct ::stat info = {};
    if (failed == EEXIST && ::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
      return Ok{};
    if (failed != ENOENT || folder == "/")
      return sys_error(failed, "make the folder " + name_of(folder));
    REEF_CHECK(make_folders(parent_of(folder), umask));
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
      return sys_error(errno, "make the folder " + name_of(folder));
  }
  if (::chmod(folder.c_str(), 0777 & ~umask) != 0)
    return sys_error(errno, "make the folder " + name_of(folder));
  return Ok{};
}

// A file beside the one it will replace; removed unless it does.
class Draft {
 public:
  static Result<Draft> make(const std::string& path) {
    auto pattern = parent_of(path) + "/.reef-XXXXXX";
    const int fd = ::mkostemp(pattern.data(), O_CLOEXEC);
    if (fd < 0) return sys_error(errno, "write " + name_of(path));
    return Draft(Fd(fd), std::move(pattern));
  }
  Draft(Draft&& other) noexcept
      : fd_(std::move(other.fd_)), name_(std::exchange(other.name_, {})) {}
  Draft& operator=(Draft&&) = delete;
  ~Draft() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  int fd() const { return fd_.get(); }

  Status fill(std::string_view bytes, mode_t mode) const {
    PosixFiles files;
    REEF_CHECK(write_all(files, fd(), bytes));
    if (::fchmod(fd(), mode) != 0) return sys_error(errno, "set the mode");
    return files.sync(fd());
  }

  Status become(const std::string& path, unsigned flags) {
    if (::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, path.c_str(), flags) != 0)
      return sys_error(errno, "write " + name_of(path));
    name_.clear();
    PosixFiles files;
    return files.sync_directory(parent_of(path));
  }

 private:
  Draft(Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  Fd fd_;
  std::string name_;
};

}  // namespace

Result<Content> read_file(const std::string& path, std::uint64_t bytes_max) {
  // The file is checked before it is opened, because opening a device may do something.
  struct ::stat info = {};
  if (::lstat(path.c_str(), &info) != 0) return sys_error(errno, name_of(path));
  REEF_CHECK(check_regular(path, info));
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
  if (!fd) return sys_error(errno, name_of(path));
  if (::fstat(fd.get(), &info) != 0) return sys_error(errno, name_of(path));
  REEF_CHECK(check_regular(path, info));
  // Seen from the daemon, /proc would show things that are nobody's business, such as its
  // environment.
  struct ::statfs system = {};
  if (::fstatfs(fd.get(), &system) != 0) return sys_error(errno, name_of(path));
  if (system.f_type == PROC_SUPER_MAGIC)
    return Error(Errc::denied,
                 fmt::format("{} is made up by the kernel; look with bash", name_of(path)));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const auto refuse = [&](std::uint64_t bytes) {
    return Error(Errc::too_large,
                 fmt::format("{} has {} bytes; up to {} are read. bash can look at parts of it",
                             name_of(path), bytes, bytes_max));
  };
  if (size > bytes_max) return refuse(size);

  Content out;
  out.mode = info.st_mode & 07777;
  out.owner = info.st_uid;
  out.group = info.st_gid;
  out.names = info.st_nlink;
  out.device = info.st_dev;
  out.inode = info.st_ino;
  PosixFiles files;
  REEF_TRY(out.bytes, read_range(files, fd.get(), 0, bytes_max + 1));
  if (out.bytes.size() > bytes_max) return refuse(out.bytes.size());
  return out;
}

std::string fingerprint(std::string_view bytes) {
  const auto hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Status create_file(const std::string& path, std::string_view bytes, mode_t umask) {
  REEF_CHECK(make_folders(parent_of(path), umask));
  struct ::stat info = {};
  if (::lstat(path.c_str(), &info) == 0) {
    REEF_CHECK(check_regular(path, info));
    return Error(Errc::conflict, name_of(path) + " is there already");
  }
  REEF_TRY(auto draft, Draft::make(path));
  REEF_CHECK(draft.fill(bytes, 0666 & ~umask));
  return draft.become(path, RENAME_NOREPLACE);
}

Status replace_file(const std::string& path, const Content& read, std::string_view bytes) {
  if (read.names > 1)
    return Error(Errc::conflict,
                 fmt::format("{} has {} names (hard links); replacing it would part them",
                             name_of(path), read.names));
  REEF_TRY(auto draft, Draft::make(path));
  struct ::stat fresh = {};
  if (::fstat(draft.fd(), &fresh) != 0) return sys_error(errno, "write " + name_of(path));
  const bool same_owner = fresh.st_uid == read.owner && fresh.st_gid == read.group;
  if (!same_owner && ::fchown(draft.fd(), read.owner, read.group) != 0)
    return sys_error(errno, name_of(path) + " belongs to another user, and would not any more");
  REEF_CHECK(draft.fill(bytes, read.mode));
  struct ::stat now = {};
  if (::lstat(path.c_str(), &now) != 0) return sys_error(errno, name_of(path));
  if (now.st_dev != read.device || now.st_ino != read.inode)
    return Error(Errc::conflict, name_of(path) + " was replaced by somebody else just now");
  return draft.become(path, 0);
}

}  // namespace reef::hooks::os
