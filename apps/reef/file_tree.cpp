#include "file_tree.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/assert.h"
#include "exchange/exchange.h"

namespace reef::cli {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// No file that is written has this name. It is the same for every file of a tree, because only one
// is open.
std::string part_name() {
  return fmt::format(".reef-{}.part", ::getpid());
}

}  // namespace

FileTree::FileTree(std::string root, Fd folder, Existing existing)
    : root_(std::move(root)), folder_(std::move(folder)), existing_(existing) {}

FileTree::~FileTree() {
  if (file_) ::unlinkat(parent_.get(), part_name().c_str(), 0);
}

Result<FileTree> FileTree::open(const std::string& root, Existing existing) {
  PosixFiles files;
  REEF_CHECK(make_directories(files, root));
  Fd folder(::open(root.c_str(), kFolder));
  if (!folder) return sys_error(errno, "open " + root);
  return FileTree(root, std::move(folder), existing);
}

Error FileTree::wrong(int number, std::string_view what) const {
  return sys_error(number, fmt::format("{} {}/{}", what, root_, path_));
}

Status FileTree::begin(const std::string& path) {
  REEF_ASSERT(!file_);
  REEF_CHECK(exchange::check_path(path));
  path_ = path;
  parent_ = Fd(::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0));
  if (!parent_) return wrong(errno, "open");
  std::string_view rest = path;
  for (auto slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
    const std::string name(rest.substr(0, slash));
    rest.remove_prefix(slash + 1);
    if (::mkdirat(parent_.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
      return wrong(errno, "make the folder of");
    Fd next(::openat(parent_.get(), name.c_str(), kFolder | O_NOFOLLOW));
    if (!next) return wrong(errno, "open the folder of");
    parent_ = std::move(next);
  }
  name_ = rest;
  struct ::stat info = {};
  const bool there = ::fstatat(parent_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && (existing_ == Existing::refuse || S_ISDIR(info.st_mode)))
    return Error(Errc::conflict,
                 fmt::format("{}/{} exists{}", root_, path_,
                             S_ISDIR(info.st_mode) ? " and is a folder" : "; --force replaces it"));
  static_cast<void>(::unlinkat(parent_.get(), part_name().c_str(), 0));
  file_ = Fd(::openat(parent_.get(), part_name().c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) return wrong(errno, "write");
  return Ok{};
}

Status FileTree::write(std::string_view bytes) {
  REEF_ASSERT(static_cast<bool>(file_));
  auto written = write_all(files_, file_.get(), bytes);
  if (!written) return std::move(written).error().with(fmt::format("{}/{}", root_, path_));
  return written;
}

Status FileTree::end() {
  REEF_ASSERT(static_cast<bool>(file_));
  const auto part = part_name();
  const bool replace = existing_ == Existing::replace;
  const int done = ::renameat2(parent_.get(), part.c_str(), parent_.get(), name_.c_str(),
                               replace ? 0 : RENAME_NOREPLACE);
  if (done != 0) return wrong(errno, "write");
  file_.reset();
  return Ok{};
}

}  // namespace reef::cli
