#include "store/fs/fs_folders.h"

#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dirent.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <openssl/evp.h>

#include "base/log.h"
#include "base/utf8.h"
#include "store/fs/tree.h"

namespace reef::store {
namespace {

constexpr std::size_t kCopyBytes = 1U << 20;
constexpr int kAttachmentDepthMax = 16;
constexpr unsigned kNamesMax = 100'000;

// The directory `name`, made when it is not there.
Result<Fd> make_directory(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0700) == 0) {
    if (::fsync(parent) != 0) return sys_error(errno, "sync the folder of " + name);
  } else if (errno != EEXIST) {
    return sys_error(errno, "make folder " + name);
  }
  auto fd = open_directory(parent, name.c_str());
  if (fd) return fd;
  if (errno == ELOOP || errno == ENOTDIR)
    return Error(Errc::conflict, fmt::format("{} is not a folder of its own", name));
  return sys_error(errno, "open folder " + name);
}

struct Found {
  Fd fd;
  session::FileInfo info;
};

Error no_file(std::string_view path) {
  return Error(Errc::not_found, fmt::format("no file '{}'", utf8::excerpt(path)));
}

// A plain file, reached without a link.
Result<Found> open_file(int session, const std::string& path) {
  REEF_TRY(const auto parts, session::split_file_path(path));
  Fd directory;
  int at = session;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    auto next = open_directory(at, parts[i].c_str());
    if (!next) {
      if (errno == ENOENT || errno == ELOOP || errno == ENOTDIR) return no_file(path);
      return sys_error(errno, "open " + utf8::excerpt(path));
    }
    directory = std::move(next);
    at = directory.get();
  }
  // Looked at before it is opened, because opening a device may do something.
  struct ::stat info = {};
  if (::fstatat(at, parts.back().c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return no_file(path);
    return sys_error(errno, "open " + utf8::excerpt(path));
  }
  if (!S_ISREG(info.st_mode))
    return Error(Errc::invalid, fmt::format("'{}' is not a plain file", utf8::excerpt(path)));
  Found found;
  found.fd = Fd(::openat(at, parts.back().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!found.fd || ::fstat(found.fd.get(), &info) != 0)
    return sys_error(errno, "open " + utf8::excerpt(path));
  if (!S_ISREG(info.st_mode))
    return Error(Errc::invalid, fmt::format("'{}' is not a plain file", utf8::excerpt(path)));
  found.info.path = path;
  found.info.bytes = static_cast<std::uint64_t>(info.st_size);
  found.info.modified = TimePoint(std::chrono::milliseconds(
      std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000));
  char head[session::kTypeBytes];
  const auto got = ::pread(found.fd.get(), head, sizeof head, 0);
  found.info.type = session::file_type(
      parts.back(), std::string_view(head, got > 0 ? static_cast<std::size_t>(got) : 0));
  return found;
}

struct DirCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

// Keeps the first `count` paths behind `after` in `paths`.
void collect(Fd directory, const std::string& prefix, const std::string& after, std::size_t count,
             int depth, std::set<std::string>& paths) {
  const std::unique_ptr<DIR, DirCloser> dir(::fdopendir(directory.get()));
  if (!dir) return;
  const int fd = directory.release();
  while (const auto* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct ::stat info = {};
    if (::fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    auto path = fmt::format("{}/{}", prefix, name);
    if (S_ISDIR(info.st_mode) && depth < kAttachmentDepthMax) {
      if (auto inner = open_directory(fd, entry->d_name))
        collect(std::move(inner), path, after, count, depth + 1, paths);
    } else if (S_ISREG(info.st_mode) && path > after) {
      if (paths.size() == count && path >= *paths.rbegin()) continue;
      paths.insert(std::move(path));
      if (paths.size() > count) paths.erase(std::prev(paths.end()));
    }
  }
}

class FsOpenedFile final : public session::OpenedFile {
 public:
  FsOpenedFile(Files& files, Pool& pool, Found found)
      : files_(files), pool_(pool), found_(std::move(found)) {}
  const session::FileInfo& info() const override { return found_.info; }
  Task<Result<std::string>> read(std::uint64_t from, std::uint64_t size) override {
    auto work = [&] { return read_range(files_, found_.fd.get(), from, size); };
    co_return co_await pool_.run(work);
  }

 private:
  Files& files_;
  Pool& pool_;
  Found found_;
};

Result<bool> same_bytes(Files& files, int a, int b, std::uint64_t size) {
  for (std::uint64_t at = 0; at < size; at += kCopyBytes) {
    REEF_TRY(const auto one,
             read_range(files, a, at, std::min<std::uint64_t>(kCopyBytes, size - at)));
    REEF_TRY(const auto two,
             read_range(files, b, at, std::min<std::uint64_t>(kCopyBytes, size - at)));
    if (one != two) return false;
  }
  return true;
}

}  // namespace

class FsNewFile final : public session::NewFile {
 public:
  FsNewFile(FsFolders& folders, std::string path, Fd fd)
      : folders_(folders), path_(std::move(path)), fd_(std::move(fd)), hash_(::EVP_MD_CTX_new()) {
    ::EVP_DigestInit_ex(hash_.get(), ::EVP_sha256(), nullptr);
  }
  ~FsNewFile() override {
    if (moved_) return;
    if (const auto gone = folders_.files_.remove(path_); !gone)
      log::warn("left behind: {}", gone.error().what);
  }

  Task<Status> write(std::string bytes) override {
    auto work = [&]() -> Status {
      if (auto done = write_all(folders_.files_, fd_.get(), bytes); !done) return done;
      ::EVP_DigestUpdate(hash_.get(), bytes.data(), bytes.size());
      bytes_ += bytes.size();
      return Ok{};
    };
    co_return co_await folders_.pool_.run(work);
  }

  Task<Result<Kept>> keep(session::SessionId id, std::string name) override {
    auto work = [&] { return keep_blocking(id, name); };
    co_return co_await folders_.pool_.run(work);
  }

 private:
  struct FreeHash {
    void operator()(EVP_MD_CTX* context) const { ::EVP_MD_CTX_free(context); }
  };

  std::string digest() {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned count = 0;
    ::EVP_DigestFinal_ex(hash_.get(), bytes, &count);
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
  }

  // The path of an attachment with the same bytes; empty when there is none.
  Result<std::string> twin(int session, int attachments) {
    std::set<std::string> paths;
    collect(open_directory(attachments, "."), std::string(session::kAttachmentsFolder), "",
            SIZE_MAX, kAttachmentDepthMax, paths);
    for (const auto& path : paths) {
      const auto other = open_file(session, path);
      if (!other || other->info.bytes != bytes_) continue;
      const auto same = same_bytes(folders_.files_, fd_.get(), other->fd.get(), bytes_);
      if (same && *same) return path;
    }
    return std::string();
  }

  Result<Kept> keep_blocking(const session::SessionId& id, const std::string& name) {
    REEF_CHECK(folders_.files_.sync(fd_.get()));
    REEF_TRY(const Fd session, folders_.open_session(id));
    REEF_TRY(const Fd attachments,
             make_directory(session.get(), std::string(session::kAttachmentsFolder)));
    Kept kept;
    kept.sha = digest();
    const std::lock_guard lock(folders_.keeping_);
    REEF_TRY(auto path, twin(session.get(), attachments.get()));
    if (path.empty()) {
      REEF_TRY(const auto taken, take_name(attachments.get(), name));
      path = fmt::format("{}/{}", session::kAttachmentsFolder, taken);
      kept.fresh = true;
      if (::fsync(attachments.get()) != 0) {
        const auto error = sys_error(errno, "sync " + path);
        ::unlinkat(attachments.get(), taken.c_str(), 0);
        return error;
      }
    }
    REEF_TRY(auto found, open_file(session.get(), path));
    kept.file = std::move(found.info);
    return kept;
  }

  // Moves the file to the first free name; never over another one.
  Result<std::string> take_name(int attachments, const std::string& original) {
    const auto wanted = session::file_name_from(original);
    for (unsigned n = 1; n < kNamesMax; ++n) {
      const auto name = session::numbered_file_name(wanted, n);
      if (::syscall(SYS_renameat2, AT_FDCWD, path_.c_str(), attachments, name.c_str(),
                    RENAME_NOREPLACE) == 0) {
        moved_ = true;
        return name;
      }
      if (errno != EEXIST) return sys_error(errno, "keep " + utf8::excerpt(name));
    }
    return Error(Errc::conflict, fmt::format("no free name like '{}'", utf8::excerpt(wanted)));
  }

  FsFolders& folders_;
  std::string path_;
  Fd fd_;
  std::unique_ptr<EVP_MD_CTX, FreeHash> hash_;
  std::uint64_t bytes_ = 0;
  bool moved_ = false;
};

FsFolders::FsFolders(Files& files, Pool& pool, std::string home)
    : files_(files), pool_(pool), home_(std::move(home)) {}

void FsFolders::clean() {
  if (const auto done = remove_tree(incoming()); !done) log::warn("{}", done.error().what);
}

Result<Fd> FsFolders::open_session(const session::SessionId& id) const {
  Fd fd(::open((home_ + "/sessions/" + id.text()).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) return fd;
  if (errno == ENOENT) return Error(Errc::not_found, fmt::format("no session '{}'", id.text()));
  return sys_error(errno, "open the folder of session " + id.text());
}

Task<Result<session::FilePage>> FsFolders::list(session::SessionId id, std::string folder,
                                                std::size_t limit, std::string cursor) {
  auto work = [&]() -> Result<session::FilePage> {
    if (!folder.empty()) REEF_CHECK(session::check_folder(folder));
    REEF_TRY(const Fd session, open_session(id));
    std::set<std::string> paths;
    for (const auto name : session::session_folders()) {
      if (!folder.empty() && name != folder) continue;
      if (auto directory = open_directory(session.get(), std::string(name).c_str()))
        collect(std::move(directory), std::string(name), cursor, limit + 1, 0, paths);
    }
    session::FilePage page;
    const bool more = paths.size() > limit;
    if (more) paths.erase(std::prev(paths.end()));
    if (more && !paths.empty()) page.cursor = *paths.rbegin();
    for (const auto& path : paths)
      if (auto found = open_file(session.get(), path)) page.files.push_back(std::move(found->info));
    return page;
  };
  co_return co_await pool_.run(work);
}

Task<Result<std::shared_ptr<session::OpenedFile>>> FsFolders::open(session::SessionId id,
                                                                   std::string path) {
  auto work = [&]() -> Result<std::shared_ptr<session::OpenedFile>> {
    REEF_TRY(const Fd session, open_session(id));
    REEF_TRY(auto found, open_file(session.get(), path));
    return std::shared_ptr<session::OpenedFile>(
        std::make_shared<FsOpenedFile>(files_, pool_, std::move(found)));
  };
  co_return co_await pool_.run(work);
}

Task<Result<std::unique_ptr<session::NewFile>>> FsFolders::receive() {
  const auto path = fmt::format("{}/{}", incoming(), ++last_incoming_);
  auto work = [&]() -> Result<std::unique_ptr<session::NewFile>> {
    REEF_CHECK(make_directories(files_, incoming()));
    REEF_TRY(Fd fd, files_.open(path, Files::Open::create));
    return std::unique_ptr<session::NewFile>(
        std::make_unique<FsNewFile>(*this, path, std::move(fd)));
  };
  co_return co_await pool_.run(work);
}

Task<Status> FsFolders::remove(session::SessionId id, std::string path) {
  auto work = [&]() -> Status {
    REEF_TRY(const auto parts, session::split_file_path(path));
    REEF_TRY(const Fd session, open_session(id));
    Fd directory;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      directory = open_directory(directory ? directory.get() : session.get(), parts[i].c_str());
      if (!directory) return no_file(path);
    }
    if (::unlinkat(directory.get(), parts.back().c_str(), 0) != 0)
      return sys_error(errno, "remove " + utf8::excerpt(path));
    return Ok{};
  };
  co_return co_await pool_.run(work);
}

Status FsFolders::copy_one(int from, int to, const std::string& path) {
  const auto source = open_file(from, path);
  if (!source && source.error().code == Errc::not_found) return Ok{};
  if (!source) return source.error();
  REEF_TRY(const auto parts, session::split_file_path(path));
  Fd directory;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    REEF_TRY(auto next, make_directory(directory ? directory.get() : to, parts[i]));
    directory = std::move(next);
  }
  const Fd target(::openat(directory.get(), parts.back().c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target) return sys_error(errno, "copy " + utf8::excerpt(path));
  for (std::uint64_t at = 0;;) {
    REEF_TRY(const auto piece, read_range(files_, source->fd.get(), at, kCopyBytes));
    REEF_CHECK(write_all(files_, target.get(), piece));
    at += piece.size();
    if (piece.size() < kCopyBytes) break;
  }
  REEF_CHECK(files_.sync(target.get()));
  if (::fsync(directory.get()) != 0) return sys_error(errno, "sync the folder of a copy");
  return Ok{};
}

Task<Status> FsFolders::copy(session::SessionId from, session::SessionId to,
                             std::vector<std::string> paths) {
  auto work = [&]() -> Status {
    REEF_TRY(const Fd source, open_session(from));
    REEF_TRY(const Fd target, open_session(to));
    for (const auto& path : paths) REEF_CHECK(copy_one(source.get(), target.get(), path));
    return Ok{};
  };
  co_return co_await pool_.run(work);
}

}  // namespace reef::store
