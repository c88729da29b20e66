#include "store/fs/fs_documents.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dirent.h>
#include <fmt/format.h>
#include <linux/fs.h>

#include "base/log.h"
#include "store/fs/fs_watch.h"
#include "store/fs/tree.h"

namespace reef::store {
namespace {

using session::DocumentInfo;
using session::Expected;
using session::Version;

constexpr std::uint64_t kPieceBytes = 1U << 20;
constexpr int kReadAttemptsMax = 5;
// A file system's clock ticks every few milliseconds: within a tick two changes look like one.
constexpr std::int64_t kYoungNs = 100'000'000;

std::string shown(std::string_view name) {
  return session::shown_name(name);
}

Error not_plain(std::string_view name) {
  return Error(Errc::invalid, fmt::format("'{}' is not a plain file", shown(name)));
}

Error changed_meanwhile(std::string_view name) {
  return Error(Errc::conflict, fmt::format("{} was changed meanwhile", shown(name)));
}

bool is_missing(int number) {
  return number == ENOENT || number == ENOTDIR;
}

TimePoint modified_of(std::int64_t nanoseconds) {
  return TimePoint(
      std::chrono::duration_cast<TimePoint::duration>(std::chrono::nanoseconds(nanoseconds)));
}

std::int64_t nanoseconds_of(const struct ::timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

DocumentInfo info_of(std::string name, const struct ::stat& info) {
  return {std::move(name), static_cast<std::uint64_t>(info.st_size),
          modified_of(nanoseconds_of(info.st_mtim)),
          info.st_uid == ::geteuid() || info.st_uid == 0};
}

// What tells one state of a file from another; empty while a further change might not show in it.
std::string hint_from(const struct ::stat& info) {
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const auto changed = nanoseconds_of(info.st_ctim);
  if (std::abs(now - changed) < kYoungNs) return {};
  return fmt::format("{} {} {} {}:{}", info.st_size, nanoseconds_of(info.st_mtim), changed,
                     info.st_dev, info.st_ino);
}

// The directory `name`, made when it is not there.
Result<Fd> make_own_directory(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0700) == 0) {
    if (::fsync(parent) != 0) return sys_error(errno, "sync the folder of " + shown(name));
  } else if (errno != EEXIST) {
    return sys_error(errno, "make folder " + shown(name));
  }
  auto fd = open_directory(parent, name.c_str());
  if (fd) return fd;
  if (errno == ELOOP || errno == ENOTDIR)
    return Error(Errc::conflict, fmt::format("{} is not a folder of its own", shown(name)));
  return sys_error(errno, "open folder " + shown(name));
}

struct ListingCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

// The first `count` names behind `after`.
class Listing {
 public:
  Listing(std::string after, std::size_t count, bool strict)
      : after_(std::move(after)), count_(count), strict_(strict) {}

  void visit(Fd directory, const std::string& prefix, std::size_t depth) {
    const std::unique_ptr<DIR, ListingCloser> dir(::fdopendir(directory.get()));
    if (!dir) return fail(prefix);
    const int fd = directory.release();
    for (;;) {
      errno = 0;
      const auto* entry = ::readdir(dir.get());
      if (!entry && errno != 0) fail(prefix);
      if (!entry) return;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct ::stat info = {};
      if (::fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      // A file may be linked to where links count; a folder could be linked into itself.
      if (S_ISLNK(info.st_mode) &&
          (strict_ || ::fstatat(fd, entry->d_name, &info, 0) != 0 || S_ISDIR(info.st_mode)))
        continue;
      auto path = prefix + std::string(name);
      if (S_ISDIR(info.st_mode)) {
        if (depth < session::kDocumentDepthMax)
          if (auto inner = open_directory(fd, entry->d_name))
            visit(std::move(inner), path + "/", depth + 1);
      } else if (S_ISREG(info.st_mode) && session::split_document_name(path)) {
        add(std::move(path), info);
      }
    }
  }

  // A part of what is there would look like all of it.
  Result<session::DocumentPage> page(std::size_t limit) {
    if (failed_) return *failed_;
    session::DocumentPage out;
    if (found_.size() > limit) {
      found_.resize(limit);
      if (!found_.empty()) out.cursor = found_.back().name;
    }
    out.documents = std::move(found_);
    return out;
  }

 private:
  void fail(const std::string& prefix) {
    if (!failed_) failed_ = sys_error(errno, "list " + shown(prefix));
  }

  void add(std::string name, const struct ::stat& info) {
    if (name <= after_) return;
    const auto by_name = [](const DocumentInfo& one, const std::string& other) {
      return one.name < other;
    };
    const auto at = std::lower_bound(found_.begin(), found_.end(), name, by_name);
    if (found_.size() == count_ && at == found_.end()) return;
    found_.insert(at, info_of(std::move(name), info));
    if (found_.size() > count_) found_.pop_back();
  }

  std::string after_;
  std::size_t count_;
  bool strict_;
  std::vector<DocumentInfo> found_;
  std::optional<Error> failed_;
};

class FsOpenDocument final : public session::OpenDocument {
 public:
  FsOpenDocument(Files& files, Fd fd, DocumentInfo info)
      : files_(files), fd_(std::move(fd)), info_(std::move(info)) {}
  const DocumentInfo& info() const override { return info_; }
  Result<std::string> read(std::uint64_t from, std::uint64_t size) override {
    auto bytes = read_range(files_, fd_.get(), from, size);
    if (!bytes) return std::move(bytes).error().with(shown(info_.name));
    return bytes;
  }

 private:
  Files& files_;
  Fd fd_;
  DocumentInfo info_;
};

}  // namespace

class FsNewDocument final : public session::NewDocument {
 public:
  FsNewDocument(FsDocuments& all, std::string path, Fd fd)
      : all_(all), path_(std::move(path)), fd_(std::move(fd)) {}
  ~FsNewDocument() override {
    if (kept_) return;
    if (const auto gone = all_.files_.remove(path_); !gone)
      log::warn("left behind: {}", gone.error().what);
  }

  Status write(std::string_view bytes) override {
    REEF_CHECK(write_all(all_.files_, fd_.get(), bytes));
    bytes_ += bytes.size();
    return Ok{};
  }
  std::uint64_t bytes() const override { return bytes_; }
  Result<std::string> read(std::uint64_t from, std::uint64_t size) override {
    return read_range(all_.files_, fd_.get(), from, size);
  }

  Result<DocumentInfo> keep(const std::string& name, const Expected& expected) override {
    REEF_TRY(const auto spot, all_.find(name, true));
    REEF_CHECK(all_.files_.sync(fd_.get()));
    REEF_TRY(const auto stat, all_.files_.stat(fd_.get()));
    const std::lock_guard lock(all_.lock_of(name));
    REEF_CHECK(all_.check(spot, name, expected));
    REEF_CHECK(all_.put(path_, nullptr, spot, name, expected));
    kept_ = true;
    return DocumentInfo{name, bytes_, modified_of(stat.modified_ns)};
  }

 private:
  FsDocuments& all_;
  std::string path_;
  Fd fd_;
  std::uint64_t bytes_ = 0;
  bool kept_ = false;
};

FsDocuments::FsDocuments(Files& files, std::string home) : files_(files), home_(std::move(home)) {}

void FsDocuments::clean() {
  if (const auto done = remove_tree(incoming()); !done) log::warn("{}", done.error().what);
}

std::mutex& FsDocuments::lock_of(const std::string& name) {
  return changing_[std::hash<std::string>()(name) % changing_.size()];
}

Result<Fd> FsDocuments::open_session(const std::string& id) const {
  Fd fd(::open((home_ + "/sessions/" + id).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) return fd;
  if (is_missing(errno)) return Error(Errc::not_found, fmt::format("no session '{}'", id));
  return sys_error(errno, "open the folder of session " + id);
}

Result<FsDocuments::Spot> FsDocuments::find(const std::string& name, bool make) {
  REEF_TRY(const auto parts, session::split_document_name(name));
  Spot spot;
  const auto id = session::session_of(parts);
  if (id.empty()) {
    spot.path = home_ + "/" + name;
    spot.parent = spot.path.substr(0, spot.path.find_last_of('/'));
    if (make) REEF_CHECK(make_directories(files_, spot.parent));
    return spot;
  }
  spot.strict = true;
  REEF_TRY(spot.folder, open_session(id));
  for (std::size_t i = 2; i + 1 < parts.size(); ++i) {
    if (make) {
      REEF_TRY(spot.folder, make_own_directory(spot.folder.get(), parts[i]));
      continue;
    }
    auto next = open_directory(spot.folder.get(), parts[i].c_str());
    if (!next) {
      if (is_missing(errno) || errno == ELOOP) return session::no_document(name);
      return sys_error(errno, "open " + shown(name));
    }
    spot.folder = std::move(next);
  }
  // The folder itself, wherever a rename takes its name meanwhile.
  spot.parent = fmt::format("/proc/self/fd/{}", spot.folder.get());
  spot.path = spot.parent + "/" + parts.back();
  return spot;
}

Result<FsDocuments::Seen> FsDocuments::open_at(const Spot& spot, const std::string& name) {
  // Looked at before it is opened: opening a device may do something.
  struct ::stat info = {};
  const auto looked =
      spot.strict ? ::lstat(spot.path.c_str(), &info) : ::stat(spot.path.c_str(), &info);
  if (looked != 0) {
    if (is_missing(errno)) return session::no_document(name);
    return sys_error(errno, "open " + shown(name));
  }
  if (!S_ISREG(info.st_mode)) return not_plain(name);
  auto fd = spot.strict ? open_patiently(files_, spot.path, Files::Open::plain)
                        : files_.open(spot.path, Files::Open::read);
  if (!fd) return std::move(fd).error();
  Seen seen{*std::move(fd), {}};
  REEF_TRY(seen.stat, files_.stat(seen.fd.get()));
  if (!seen.stat.regular) return not_plain(name);
  return seen;
}

bool FsDocuments::is_taken(const Spot& spot) {
  struct ::stat info = {};
  return ::lstat(spot.path.c_str(), &info) == 0;
}

Result<std::string> FsDocuments::hint_of(int fd) {
  struct ::stat info = {};
  if (::fstat(fd, &info) != 0) return sys_error(errno, "stat");
  return hint_from(info);
}

Result<std::optional<session::Document>> FsDocuments::read(const std::string& name,
                                                           std::uint64_t bytes_max) {
  auto spot = find(name, false);
  if (!spot && spot.error().code == Errc::not_found) return std::optional<session::Document>();
  if (!spot) return std::move(spot).error();
  for (int attempt = 0; attempt < kReadAttemptsMax; ++attempt) {
    auto seen = open_at(*spot, name);
    if (!seen && seen.error().code == Errc::not_found) return std::optional<session::Document>();
    if (!seen) return std::move(seen).error();
    if (seen->stat.size > bytes_max)
      return Error(Errc::too_large, fmt::format("{}: {} bytes are more than the {} it may have",
                                                shown(name), seen->stat.size, bytes_max));
    REEF_TRY(const auto before, hint_of(seen->fd.get()));
    auto bytes = read_range(files_, seen->fd.get(), 0, seen->stat.size);
    if (!bytes) return std::move(bytes).error().with("read " + shown(name));
    // Somebody wrote into it while it was read: neither the old nor the new.
    REEF_TRY(const auto after, files_.stat(seen->fd.get()));
    if (after.size != seen->stat.size || after.modified_ns != seen->stat.modified_ns ||
        bytes->size() != after.size)
      continue;
    auto version = Version::of(*bytes, before);
    return std::optional(session::Document{*std::move(bytes), std::move(version)});
  }
  return Error(Errc::busy, fmt::format("{} is being written all the time", shown(name)));
}

Status FsDocuments::check(const Spot& spot, const std::string& name, const Expected& expected) {
  if (std::holds_alternative<session::Whatever>(expected)) return Ok{};
  if (std::holds_alternative<session::Nothing>(expected)) {
    if (!is_taken(spot)) return Ok{};
    return Error(Errc::conflict, fmt::format("{} is there already", shown(name)));
  }
  const auto& version = std::get<Version>(expected);
  if (unchanged(name, version)) return Ok{};
  auto there = read(name, version.bytes());
  if (!there && there.error().code != Errc::too_large) return std::move(there).error();
  if (!there || !*there || (*there)->version != version) return changed_meanwhile(name);
  return Ok{};
}

Status FsDocuments::put_back(const Spot& spot, const Seen& before) {
  REEF_TRY(const auto temp, temp_for(spot));
  REEF_TRY(const Fd fd, files_.open(temp, Files::Open::create));
  for (std::uint64_t at = 0; at < before.stat.size;) {
    REEF_TRY(const auto piece, read_range(files_, before.fd.get(), at, kPieceBytes));
    if (piece.empty()) break;
    REEF_CHECK(write_all(files_, fd.get(), piece));
    at += piece.size();
  }
  REEF_CHECK(files_.sync(fd.get()));
  REEF_CHECK(files_.rename(temp, spot.path));
  return files_.sync_directory(spot.parent);
}

Result<std::string> FsDocuments::temp_for(const Spot& spot) {
  if (spot.strict) {
    REEF_CHECK(make_directories(files_, incoming()));
    return fmt::format("{}/{}", incoming(), ++last_incoming_);
  }
  auto temp = spot.path + ".tmp";
  static_cast<void>(files_.remove(temp).ok());  // left by a crash; its absence is the usual case
  return temp;
}

Status FsDocuments::put(const std::string& from, const Spot* source, const Spot& spot,
                        const std::string& name, const Expected& expected) {
  std::optional<Seen> before;
  if (std::holds_alternative<session::Nothing>(expected)) {
    // Not over what another program put there since it was looked.
    if (::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, spot.path.c_str(),
                  RENAME_NOREPLACE) != 0) {
      if (errno == EEXIST)
        return Error(Errc::conflict, fmt::format("{} is there already", shown(name)));
      // Some file systems do not know it.
      if (errno != EINVAL) return sys_error(errno, "write " + shown(name));
      REEF_CHECK(files_.rename(from, spot.path));
    }
  } else {
    auto seen = open_at(spot, name);
    if (seen) {
      before = *std::move(seen);
    } else if (seen.error().code != Errc::not_found) {
      return std::move(seen).error();
    }
    REEF_CHECK(files_.rename(from, spot.path));
  }
  auto done = files_.sync_directory(spot.parent);
  if (done && source && source->parent != spot.parent) done = files_.sync_directory(source->parent);
  if (done) return done;
  const auto undo = [&]() -> Status {
    if (!before || source) REEF_CHECK(files_.rename(spot.path, from));
    if (before) return put_back(spot, *before);
    static_cast<void>(files_.sync_directory(spot.parent).ok());
    return Ok{};
  };
  if (const auto undone = undo(); !undone)
    return std::move(done).error().with(
        fmt::format("{} could not be put back as it was ({})", shown(name), undone.error().what));
  return done;
}

Result<Version> FsDocuments::replace(const std::string& name, std::string_view bytes,
                                     const Expected& expected) {
  const std::lock_guard lock(lock_of(name));
  REEF_TRY(const auto spot, find(name, true));
  REEF_CHECK(check(spot, name, expected));
  REEF_TRY(const auto temp, temp_for(spot));
  const auto attempt = [&]() -> Result<Version> {
    REEF_TRY(const Fd fd, files_.open(temp, Files::Open::create));
    REEF_CHECK(write_all(files_, fd.get(), bytes));
    REEF_CHECK(files_.sync(fd.get()));
    REEF_CHECK(put(temp, nullptr, spot, name, expected));
    const auto hint = hint_of(fd.get());
    return Version::of(bytes, hint ? *hint : std::string());
  };
  auto done = attempt();
  if (!done) {
    static_cast<void>(files_.remove(temp).ok());
    return std::move(done).error().with("replace " + shown(name));
  }
  return done;
}

Status FsDocuments::remove(const std::string& name, const Expected& expected) {
  const std::lock_guard lock(lock_of(name));
  REEF_TRY(const auto spot, find(name, false));
  struct ::stat info = {};
  if (::lstat(spot.path.c_str(), &info) != 0) {
    if (is_missing(errno)) return session::no_document(name);
    return sys_error(errno, "remove " + shown(name));
  }
  if (S_ISDIR(info.st_mode)) return not_plain(name);
  REEF_CHECK(check(spot, name, expected));
  if (auto done = files_.remove(spot.path); !done)
    return std::move(done).error().with("remove " + shown(name));
  return files_.sync_directory(spot.parent);
}

Status FsDocuments::rename(const std::string& from, const std::string& to,
                           const Expected& expected) {
  auto& first = lock_of(from);
  auto& second = lock_of(to);
  std::unique_lock one(first, std::defer_lock);
  std::unique_lock two(second, std::defer_lock);
  if (&first == &second) {
    one.lock();
  } else {
    std::lock(one, two);
  }
  REEF_TRY(const auto source, find(from, false));
  // Only what is a document; a folder could be renamed as well.
  REEF_TRY(const auto there, open_at(source, from));
  REEF_TRY(const auto target, find(to, true));
  REEF_CHECK(check(target, to, expected));
  return put(source.path, &source, target, to, expected);
}

Result<session::DocumentPage> FsDocuments::list(const std::string& folder, std::size_t limit,
                                                const std::string& cursor) {
  REEF_TRY(const auto parts, session::split_document_folder(folder));
  const auto id = session::session_of(parts);
  Listing listing(cursor, std::min(limit, SIZE_MAX - 1) + 1, !id.empty());
  if (id.empty()) {
    Fd directory(::open((home_ + "/" + folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory && errno != ENOENT) return sys_error(errno, "list " + shown(folder));
    if (directory) listing.visit(std::move(directory), folder, parts.size());
    return listing.page(limit);
  }
  REEF_TRY(Fd at, open_session(id));
  for (std::size_t i = 2; i < parts.size() && at; ++i)
    at = open_directory(at.get(), parts[i].c_str());
  if (at) listing.visit(std::move(at), folder, parts.size());
  return listing.page(limit);
}

Result<std::shared_ptr<session::OpenDocument>> FsDocuments::open(const std::string& name) {
  REEF_TRY(const auto spot, find(name, false));
  REEF_TRY(auto seen, open_at(spot, name));
  struct ::stat stat = {};
  if (::fstat(seen.fd.get(), &stat) != 0) return sys_error(errno, "open " + shown(name));
  auto info = info_of(name, stat);
  return std::shared_ptr<session::OpenDocument>(
      std::make_shared<FsOpenDocument>(files_, std::move(seen.fd), std::move(info)));
}

Result<std::unique_ptr<session::NewDocument>> FsDocuments::receive() {
  const auto path = fmt::format("{}/{}", incoming(), ++last_incoming_);
  REEF_CHECK(make_directories(files_, incoming()));
  REEF_TRY(Fd fd, files_.open(path, Files::Open::create));
  return std::unique_ptr<session::NewDocument>(
      std::make_unique<FsNewDocument>(*this, path, std::move(fd)));
}

bool FsDocuments::unchanged(const std::string& name, const std::optional<Version>& seen) {
  const auto spot = find(name, false);
  if (!spot) return spot.error().code == Errc::not_found && !seen;
  if (!seen) return !is_taken(*spot);
  if (seen->hint().empty()) return false;
  struct ::stat info = {};
  const auto looked =
      spot->strict ? ::lstat(spot->path.c_str(), &info) : ::stat(spot->path.c_str(), &info);
  return looked == 0 && S_ISREG(info.st_mode) && hint_from(info) == seen->hint();
}

Result<std::unique_ptr<session::Documents::Watch>> FsDocuments::watch(Executor loop,
                                                                      std::string what,
                                                                      Changed changed) {
  std::string folder;
  if (what.ends_with('/')) {
    REEF_CHECK(session::split_document_folder(what));
    folder = what.substr(0, what.size() - 1);
  } else {
    REEF_CHECK(session::split_document_name(what));
    const auto slash = what.find_last_of('/');
    folder = slash == std::string::npos ? "" : what.substr(0, slash);
  }
  return FsWatch::begin(std::move(loop), home_, std::move(folder), std::move(what),
                        std::move(changed));
}

}  // namespace reef::store
