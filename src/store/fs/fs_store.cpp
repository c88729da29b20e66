#include "store/fs/fs_store.h"

#include <fmt/format.h>

#include "base/log.h"
#include "session/reader.h"

namespace reef::store {
namespace {

constexpr std::string_view kFile = "/session.jsonl";
constexpr std::string_view kNewFile = "/session.jsonl.new";
constexpr std::string_view kTornSuffix = ".torn";

std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Puts the file back to `at` bytes after a failed write or sync.
void undo(Files& files, const std::string& file, int fd, std::uint64_t at) {
  auto undone = files.truncate(fd, at);
  if (undone) undone = files.sync(fd);
  if (!undone)
    log::error("{}: could not undo a failed append ({}); it is repaired when next opened", file,
               undone.error().what);
}

// Keeps a torn tail beside the transcript; appends, so that a second one does not replace the
// first.
Status set_aside(Files& files, const std::string& file, std::string_view torn) {
  const auto path = file + std::string(kTornSuffix);
  auto fd = files.open(path, Files::Open::append);
  if (!fd && fd.error().code == Errc::not_found) fd = files.open(path, Files::Open::create);
  if (!fd) return std::move(fd).error();
  REEF_CHECK(write_all(files, fd->get(), torn));
  REEF_CHECK(write_all(files, fd->get(), "\n"));
  return files.sync(fd->get());
}

}  // namespace

Status create_transcript(Files& files, const std::string& folder, std::string_view bytes) {
  REEF_CHECK(files.make_directory(folder));
  const auto fresh = folder + std::string(kNewFile);
  const auto attempt = [&]() -> Status {
    REEF_TRY(const Fd fd, files.open(fresh, Files::Open::create));
    REEF_CHECK(write_all(files, fd.get(), bytes));
    REEF_CHECK(files.sync(fd.get()));
    // Renamed only when whole: a crash leaves a session that is there or one that never was.
    REEF_CHECK(files.rename(fresh, folder + std::string(kFile)));
    REEF_CHECK(files.sync_directory(folder));
    return files.sync_directory(parent_of(folder));
  };
  auto done = attempt();
  if (done) return done;
  static_cast<void>(files.remove(folder + std::string(kFile)).ok());
  static_cast<void>(files.remove(fresh).ok());
  if (const auto removed = files.remove(folder); !removed)
    log::warn("{}: left behind by a failed create: {}", folder, removed.error().what);
  return std::move(done).error().with("create " + folder);
}

Result<std::string> open_transcript(Files& files, const std::string& file) {
  REEF_TRY(const Fd fd, files.open(file, Files::Open::append));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  REEF_TRY(auto bytes, read_range(files, fd.get(), 0, stat.size));
  if (bytes.empty() || bytes.back() == '\n') return bytes;

  const auto last = bytes.find_last_of('\n');
  const auto start = last == std::string::npos ? 0 : last + 1;
  const auto tail = std::string_view(bytes).substr(start);
  if (session::read_transcript(tail).tail_is_entry) {
    log::warn("{}: the last line had no newline; added", file);
    const auto before = bytes.size();
    auto done = write_all(files, fd.get(), "\n");
    if (done) done = files.sync(fd.get());
    if (!done) {
      undo(files, file, fd.get(), before);
      return std::move(done).error().with("mend the last line of " + file);
    }
    bytes.push_back('\n');
    return bytes;
  }

  auto cut = set_aside(files, file, tail);
  if (cut) cut = files.truncate(fd.get(), start);
  if (cut) cut = files.sync(fd.get());
  if (!cut) return std::move(cut).error().with("set aside the torn last line of " + file);
  log::warn("{}: a torn last line of {} bytes was moved to session.jsonl{}", file, tail.size(),
            kTornSuffix);
  bytes.resize(start);
  return bytes;
}

Status append_transcript(Files& files, const std::string& file, std::uint64_t at,
                         std::string_view bytes) {
  REEF_TRY(const Fd fd, files.open(file, Files::Open::append));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  if (stat.size != at)
    return Error(Errc::conflict,
                 fmt::format("{} is {} bytes long, expected {}", file, stat.size, at));
  auto done = write_all(files, fd.get(), bytes);
  if (done) done = files.sync(fd.get());
  if (done) return done;
  undo(files, file, fd.get(), at);
  auto error = std::move(done).error();
  // Whatever the disk said, a retry at the same place is not what the caller should do.
  if (error.code == Errc::conflict) error.code = Errc::io;
  return std::move(error).with("append to " + file);
}

FsStore::FsStore(Files& files, Pool& pool, std::string directory)
    : files_(files), pool_(pool), directory_(std::move(directory)) {}

std::string FsStore::folder(const session::SessionId& id) const {
  return directory_ + "/" + id.text();
}

std::string FsStore::file(const session::SessionId& id) const {
  return folder(id) + std::string(kFile);
}

Task<Result<std::vector<session::SessionId>>> FsStore::list() {
  auto work = [this]() -> Result<std::vector<session::SessionId>> {
    REEF_TRY(const auto names, files_.list(directory_));
    std::vector<session::SessionId> ids;
    for (const auto& name : names) {
      auto id = session::SessionId::parse(name);
      if (!id) continue;
      const auto there = files_.open(file(*id), Files::Open::read);
      if (there || there.error().code != Errc::not_found) {
        ids.push_back(*std::move(id));
      } else {
        // A create that a crash cut short: nothing in it was ever acknowledged.
        static_cast<void>(files_.remove(folder(*id) + std::string(kNewFile)).ok());
        static_cast<void>(files_.remove(folder(*id)).ok());
      }
    }
    return ids;
  };
  co_return co_await pool_.run(work);
}

Task<Status> FsStore::create(session::SessionId id, std::string bytes) {
  auto work = [&] { return create_transcript(files_, folder(id), bytes); };
  co_return co_await pool_.run(work);
}

Task<Result<std::string>> FsStore::read(session::SessionId id) {
  auto work = [&] { return read_all(files_, file(id)); };
  co_return co_await pool_.run(work);
}

Task<Result<std::string>> FsStore::open(session::SessionId id) {
  auto work = [&] { return open_transcript(files_, file(id)); };
  co_return co_await pool_.run(work);
}

Task<Status> FsStore::append(session::SessionId id, std::uint64_t at, std::string bytes) {
  auto work = [&] { return append_transcript(files_, file(id), at, bytes); };
  co_return co_await pool_.run(work);
}

}  // namespace reef::store
