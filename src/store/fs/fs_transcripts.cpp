#include "store/fs/fs_transcripts.h"

#include <atomic>
#include <fcntl.h>
#include <thread>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/helper.h"
#include "base/log.h"
#include "base/task_group.h"
#include "session/reader.h"
#include "store/fs/tree.h"

namespace reef::store {
namespace {

constexpr std::string_view kFile = "/session.jsonl";
constexpr std::string_view kNewFile = "/session.jsonl.new";
constexpr std::string_view kTornSuffix = ".torn";
// Holds the time at which a session came into the trash: one line, ISO 8601.
constexpr std::string_view kTrashedAt = "/trashed-at";
constexpr std::string_view kGoing = ".going-";
// How many pieces are read one after the other, and on how many threads.
constexpr std::size_t kRangesPerShare = 4;
constexpr std::size_t kSharesMax = 2;
// Before more than this is read, the file is asked how long it is.
constexpr std::uint64_t kUnaskedBytesMax = 256U << 10;

// Keeps a torn tail beside the transcript; appends, so that a second one does not replace the
// first.
Status set_aside(Files& files, const std::string& file, std::string_view torn) {
  const auto path = file + std::string(kTornSuffix);
  auto fd = open_patiently(files, path, Files::Open::append);
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

namespace {

session::ByteSource source_of(Files& files, int fd, std::uint64_t size) {
  return session::ByteSource{size, [&files, fd](std::uint64_t offset, std::uint64_t count) {
                               return read_range(files, fd, offset, count);
                             }};
}

// The bytes after the last newline.
Result<std::string> read_last_line(Files& files, int fd, std::uint64_t size) {
  constexpr std::uint64_t kBlockBytes = 64U << 10;
  std::string tail;
  while (size > 0) {
    const auto count = std::min(size, kBlockBytes);
    REEF_TRY(auto block, read_range(files, fd, size - count, count));
    if (block.size() != count) return Error(Errc::io, "the file became shorter while it was read");
    const auto newline = block.rfind('\n');
    if (newline != std::string::npos) return block.substr(newline + 1) + tail;
    tail.insert(0, block);
    size -= count;
  }
  return tail;
}

// Ends the file with a whole line and returns its size.
Result<std::uint64_t> mend_end(Files& files, const std::string& file, int fd, std::uint64_t size) {
  REEF_TRY(const auto tail, read_last_line(files, fd, size));
  if (tail.empty()) return size;
  if (session::read_transcript(tail).tail_is_entry) {
    auto done = write_all(files, fd, "\n");
    if (done) done = files.sync(fd);
    if (!done) {
      undo_append(files, file, fd, size, 1);
      return std::move(done).error().with("mend the last line of " + file);
    }
    log::warn("{}: the last line had no newline; added", file);
    return size + 1;
  }
  // A line that another program is writing looks torn for a moment.
  constexpr std::chrono::milliseconds kStillMin{20};
  std::this_thread::sleep_for(kStillMin);
  const auto later = files.stat(fd);
  if (!later || later->size != size)
    return Error(Errc::busy, "another program is writing to " + file);
  const auto start = size - tail.size();
  auto cut = set_aside(files, file, tail);
  const auto now = files.stat(fd);
  if (cut && (!now || now->size != size))
    cut = Error(Errc::busy, "another program is writing to it");
  if (cut) cut = files.truncate(fd, start);
  if (cut) cut = files.sync(fd);
  if (!cut) return std::move(cut).error().with("set aside the torn last line of " + file);
  log::warn("{}: a torn last line of {} bytes was moved to session.jsonl{}", file, tail.size(),
            kTornSuffix);
  return start;
}

}  // namespace

Result<session::Tail> open_transcript(Files& files, const std::string& file) {
  REEF_TRY(const Fd fd, open_patiently(files, file, Files::Open::append));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  REEF_TRY(const auto size, mend_end(files, file, fd.get(), stat.size));
  auto tail = session::read_tail(source_of(files, fd.get(), size));
  if (!tail) return std::move(tail).error().with("read " + file);
  return tail;
}

namespace {

// Syncs a folder, its files and the folders in it.
Status sync_tree(Files& files, const std::string& folder, int depth_max) {
  REEF_TRY(const auto names, files.list(folder));
  for (const auto& name : names) {
    const auto path = folder + "/" + name;
    REEF_TRY(const Fd fd, files.open(path, Files::Open::read));
    REEF_TRY(const auto stat, files.stat(fd.get()));
    if (!stat.directory) {
      REEF_CHECK(files.sync(fd.get()));
    } else if (depth_max > 0) {
      REEF_CHECK(sync_tree(files, path, depth_max - 1));
    }
  }
  return files.sync_directory(folder);
}

Status sync_all(Files& files, const std::vector<session::Incoming>& sessions) {
  // A few are synced by themselves; for many, one sync of the file system is cheaper.
  constexpr std::size_t kFew = 4;
  constexpr int kSessionDepthMax = 8;
  if (sessions.size() <= kFew) {
    for (const auto& session : sessions)
      REEF_CHECK(sync_tree(files, session.folder, kSessionDepthMax));
    return Ok{};
  }
  REEF_TRY(const Fd fd, files.open(sessions.front().folder, Files::Open::read));
  return files.sync_filesystem(fd.get());
}

}  // namespace

std::vector<Status> take_in_folders(Files& files, const std::string& directory,
                                    const std::vector<session::Incoming>& sessions) {
  if (sessions.empty()) return {};
  if (const auto synced = sync_all(files, sessions); !synced)
    return std::vector<Status>(sessions.size(), synced);
  std::vector<Status> out;
  for (const auto& [id, folder] : sessions) {
    const auto target = directory + "/" + id.text();
    if (files.stat_path(target)) {
      out.push_back(Error(Errc::conflict, fmt::format("session '{}' exists", id.text())));
    } else {
      out.push_back(files.rename(folder, target));
    }
  }
  if (const auto synced = files.sync_directory(directory); !synced)
    for (auto& one : out)
      if (one) one = synced;
  return out;
}

FsTranscripts::FsTranscripts(Files& files, Pool& pool, std::string home, std::size_t watches_max)
    : files_(files),
      pool_(pool),
      home_(std::move(home)),
      sessions_(open_sessions()),
      appends_(files, pool),
      watches_max_(watches_max) {}

Fd FsTranscripts::open_sessions() const {
  return Fd(::open((home_ + "/sessions").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::string FsTranscripts::folder(const session::SessionId& id) const {
  return home_ + "/sessions/" + id.text();
}

std::string FsTranscripts::file(const session::SessionId& id) const {
  return folder(id).append(kFile);
}

std::string FsTranscripts::trash_folder(const session::SessionId& id) const {
  return home_ + "/trash/" + id.text();
}

Task<Result<std::vector<session::Stored>>> FsTranscripts::list() {
  // Only the first list cleans up: later, a session without its file may be one that is being made.
  const bool first = !std::exchange(listed_, true);
  auto work = [this, first]() -> Result<std::vector<session::Stored>> {
    REEF_TRY(const auto transcripts,
             files_.stat_inner(home_ + "/sessions", std::string(kFile.substr(1))));
    std::vector<session::Stored> out;
    out.reserve(transcripts.size());
    for (const auto& [name, stat] : transcripts) {
      auto id = session::SessionId::parse(name);
      if (!id) continue;
      if (stat) {
        out.push_back(session::Stored{*std::move(id), stat->size});
      } else if (stat.error().code == Errc::not_found) {
        if (!first) continue;
        // A crash cut this create short: nothing in it was ever acknowledged.
        static_cast<void>(files_.remove(folder(*id) + std::string(kNewFile)).ok());
        static_cast<void>(files_.remove(folder(*id)).ok());
      } else {
        log::warn("{}", stat.error().what);
      }
    }
    return out;
  };
  // The directory may be another than before.
  auto look = [&] { return std::pair(open_sessions(), work()); };
  auto [directory, stored] = co_await pool_.run(look);
  sessions_ = std::move(directory);
  co_return std::move(stored);
}

Task<Status> FsTranscripts::create(session::SessionId id, std::string bytes) {
  auto change = own_change(id);
  auto work = [&] { return create_transcript(files_, folder(id), bytes); };
  auto done = co_await pool_.run(work);
  if (done) change.made(bytes.size());
  co_return done;
}

Task<std::vector<Status>> FsTranscripts::take_in(std::vector<session::Incoming> sessions) {
  std::vector<SessionFolders::OwnChange> changes;
  for (const auto& session : sessions) changes.push_back(own_change(session.id));
  auto work = [&] { return take_in_folders(files_, home_ + "/sessions", sessions); };
  co_return co_await pool_.run(work);
}

Result<std::string> FsTranscripts::read_file(const std::string& path, std::uint64_t from,
                                             std::uint64_t size) {
  REEF_TRY(const Fd fd, files_.open(path, Files::Open::read));
  REEF_TRY(const auto stat, files_.stat(fd.get()));
  if (from >= stat.size) return std::string();
  return read_range(files_, fd.get(), from, std::min(size, stat.size - from));
}

Result<std::string> FsTranscripts::read_piece(const session::Range& range) {
  return read_file(file(range.id), range.from, range.size);
}

Task<Result<std::string>> FsTranscripts::read(session::SessionId id, std::uint64_t from,
                                              std::uint64_t size) {
  auto work = [&] { return read_piece(session::Range{id, from, size}); };
  co_return co_await pool_.run(work);
}

Task<std::vector<Result<std::string>>> FsTranscripts::read_ranges(
    std::vector<session::Range> ranges) {
  std::vector<Result<std::string>> out;
  if (ranges.empty()) co_return out;
  auto work = [&] {
    out.reserve(ranges.size());
    for (const auto& range : ranges) out.push_back(read_piece(range));
    return true;
  };
  static_cast<void>(co_await pool_.run(work));
  co_return out;
}

// The memory is not filled before it is read into: that would take as long as reading.
class FsTranscripts::Buffer {
 public:
  // The content so far may be lost.
  char* room(std::size_t size) {
    if (size > size_) {
      bytes_ = std::make_unique_for_overwrite<char[]>(size);
      size_ = size;
    }
    return bytes_.get();
  }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

Result<std::string_view> FsTranscripts::read_piece(const session::Range& range, Buffer& buffer) {
  REEF_TRY(const Fd fd, files_.open(file(range.id), Files::Open::read));
  auto size = range.size;
  if (size > kUnaskedBytesMax) {
    REEF_TRY(const auto stat, files_.stat(fd.get()));
    size = std::min(size, stat.size - std::min(stat.size, range.from));
  }
  auto* bytes = buffer.room(size);
  std::size_t have = 0;
  while (have < size) {
    const auto got = files_.read(fd.get(), range.from + have, bytes + have, size - have);
    if (!got && got.error().sys == EINTR) continue;
    if (!got) return got.error();
    if (*got == 0) break;
    have += *got;
  }
  return std::string_view(bytes, have);
}

Task<void> FsTranscripts::read_each(std::vector<session::Range> ranges, UsePiece use,
                                    std::function<void()> meanwhile, Helper* helper) {
  // Pieces in memory are read at once; those that may have to wait for a disk are left to threads.
  struct Reader {
    FsTranscripts& store;
    const std::vector<session::Range>& ranges;
    const UsePiece& use;
    Buffer buffer{};
    std::vector<std::size_t> cold{};
    void read(std::size_t i) {
      // When one piece is not in memory, the others hardly are.
      const auto piece = cold.empty() ? store.cached_piece(ranges[i], buffer) : std::nullopt;
      if (piece)
        use(i, *piece);
      else
        cold.push_back(i);
    }
  };
  Reader here{*this, ranges, use}, there{*this, ranges, use};
  if (helper && ranges.size() > kRangesPerShare) {
    helper->share(
        ranges.size(), [&](auto i) { here.read(i); }, [&](auto i) { there.read(i); }, meanwhile);
  } else {
    meanwhile();
    for (std::size_t i = 0; i < ranges.size(); ++i) here.read(i);
  }
  auto& cold = here.cold;
  cold.insert(cold.end(), there.cold.begin(), there.cold.end());
  if (cold.empty()) co_return;

  std::atomic<std::size_t> next_cold = 0;
  auto read = [&](std::size_t) {
    Buffer buffer;
    for (std::size_t n = next_cold++; n < cold.size(); n = next_cold++)
      use(cold[n], read_piece(ranges[cold[n]], buffer));
  };
  const auto shares = (cold.size() + kRangesPerShare - 1) / kRangesPerShare;
  co_await pool_.run_each(std::min(shares, kSharesMax), read, [] {});
}

std::optional<std::string_view> FsTranscripts::cached_piece(const session::Range& range,
                                                            Buffer& buffer) {
  if (range.size > kUnaskedBytesMax || !sessions_) return std::nullopt;
  auto* bytes = buffer.room(range.size);
  const auto got = files_.read_cached(sessions_.get(), range.id.text() + std::string(kFile),
                                      range.from, bytes, range.size);
  if (!got) return std::nullopt;
  return std::string_view(bytes, *got);
}

Task<Result<session::Tail>> FsTranscripts::open(session::SessionId id) {
  auto work = [&] { return open_transcript(files_, file(id)); };
  co_return co_await pool_.run(work);
}

Task<Status> FsTranscripts::append(session::SessionId id, std::uint64_t at, std::string bytes) {
  auto change = own_change(id);
  const auto length = at + bytes.size();
  auto done = co_await appends_.append(file(id), at, std::move(bytes));
  if (done) change.made(length);
  co_return done;
}

Result<session::Row> FsTranscripts::refresh_one(session::Refresh request) {
  const auto path = file(request.id);
  REEF_TRY(Fd fd, files_.open(path, Files::Open::read));
  REEF_TRY(auto stat, files_.stat(fd.get()));
  const bool mend = request.end == session::Refresh::End::mend;
  if (stat.size > 0) {
    REEF_TRY(const auto last, read_range(files_, fd.get(), stat.size - 1, 1));
    if (last != "\n" && mend) {
      // A crash tore the last line: mend it now, so that every line of every file can be read.
      REEF_TRY(fd, open_patiently(files_, path, Files::Open::append));
      REEF_TRY(stat.size, mend_end(files_, path, fd.get(), stat.size));
    } else if (last != "\n") {
      REEF_TRY(const auto begun, read_last_line(files_, fd.get(), stat.size));
      stat.size -= begun.size();
    }
  }
  if (stat.size == 0 && !mend) return Error(Errc::busy, path + " has no whole line yet");
  return session::refresh_row(source_of(files_, fd.get(), stat.size), std::move(request));
}

Task<std::vector<Result<session::Row>>> FsTranscripts::refresh(
    std::vector<session::Refresh> requests) {
  auto work = [&] {
    std::vector<Result<session::Row>> rows;
    rows.reserve(requests.size());
    for (auto& request : requests) rows.push_back(refresh_one(std::move(request)));
    return rows;
  };
  co_return co_await pool_.run(work);
}

Task<Status> FsTranscripts::rewrite(session::SessionId id, std::uint64_t at, std::string bytes,
                                    std::string kept_as) {
  auto change = own_change(id);
  auto work = [&]() -> Status {
    REEF_TRY(const auto old, read_all(files_, file(id)));
    if (old.size() != at) return Error(Errc::conflict, "it was changed meanwhile");
    auto kept = file(id) + "." + kept_as;
    for (int n = 2; files_.stat_path(kept); ++n)
      kept = fmt::format("{}.{}-{}", file(id), kept_as, n);
    REEF_CHECK(replace_atomically(files_, kept, old));
    return replace_atomically(files_, file(id), bytes);
  };
  auto done = co_await pool_.run(work);
  if (done) change.made(bytes.size());
  co_return done;
}

std::string FsTranscripts::path_of(const session::SessionId& id) const {
  return file(id);
}

Task<Status> FsTranscripts::trash(session::SessionId id, TimePoint now) {
  const auto change = own_change(id);
  auto work = [&]() -> Status {
    REEF_CHECK(make_directories(files_, home_ + "/trash"));
    if (files_.stat_path(trash_folder(id)))
      return Error(Errc::conflict, fmt::format("trash/{} exists already", id.text()));
    // A full disk must not keep anything out of the trash: changed_at() can tell the time, too.
    if (const auto noted = replace_atomically(files_, folder(id) + std::string(kTrashedAt),
                                              format_iso(now) + "\n");
        !noted)
      log::warn("session {}: the time of its removal is not kept: {}", id.text(),
                noted.error().what);
    REEF_CHECK(files_.rename(folder(id), trash_folder(id)));
    REEF_CHECK(files_.sync_directory(home_ + "/trash"));
    return files_.sync_directory(home_ + "/sessions");
  };
  co_return co_await pool_.run(work);
}

Task<Status> FsTranscripts::restore(session::SessionId id) {
  const auto change = own_change(id);
  auto work = [&]() -> Status {
    if (!files_.stat_path(trash_folder(id)))
      return Error(Errc::not_found, fmt::format("no session '{}' in the trash", id.text()));
    if (files_.stat_path(folder(id)))
      return Error(Errc::conflict, fmt::format("session '{}' exists", id.text()));
    REEF_CHECK(files_.rename(trash_folder(id), folder(id)));
    static_cast<void>(files_.remove(folder(id) + std::string(kTrashedAt)).ok());
    REEF_CHECK(files_.sync_directory(home_ + "/sessions"));
    return files_.sync_directory(home_ + "/trash");
  };
  co_return co_await pool_.run(work);
}

TimePoint FsTranscripts::trashed_at(const session::SessionId& id) {
  if (auto text = read_all(files_, trash_folder(id) + std::string(kTrashedAt))) {
    while (!text->empty() && text->back() == '\n') text->pop_back();
    if (const auto time = parse_iso(*text)) return *time;
  }
  return changed_at(trash_folder(id));
}

Task<Result<std::vector<session::Trashed>>> FsTranscripts::trashed() {
  auto work = [this]() -> Result<std::vector<session::Trashed>> {
    std::vector<session::Trashed> out;
    const auto names = files_.list(home_ + "/trash");
    if (!names && names.error().code == Errc::not_found) return out;
    if (!names) return names.error();
    for (const auto& name : *names) {
      if (auto id = session::SessionId::parse(name)) {
        const auto since = trashed_at(*id);
        out.push_back(session::Trashed{*std::move(id), since});
      } else if (name.starts_with(kGoing)) {
        // A crash interrupted this purge.
        const auto done = remove_tree(home_ + "/trash/" + name);
        if (!done) log::warn("{}", done.error().what);
      }
    }
    return out;
  };
  co_return co_await pool_.run(work);
}

Task<Status> FsTranscripts::purge(session::SessionId id) {
  auto work = [&]() -> Status {
    // A name that is no session id, so that nobody sees it half removed.
    auto aside = fmt::format("{}/trash/{}{}", home_, kGoing, id.text());
    for (int n = 2; files_.stat_path(aside); ++n)
      aside = fmt::format("{}/trash/{}{}-{}", home_, kGoing, id.text(), n);
    const auto moved = files_.rename(trash_folder(id), aside);
    if (!moved && moved.error().code == Errc::not_found)
      return Error(Errc::not_found, fmt::format("no session '{}' in the trash", id.text()));
    REEF_CHECK(moved);
    REEF_CHECK(files_.sync_directory(home_ + "/trash"));
    return remove_tree(aside);
  };
  co_return co_await pool_.run(work);
}

Task<std::vector<std::uint64_t>> FsTranscripts::measure(std::vector<session::SessionId> ids,
                                                        Place place) {
  auto work = [&] {
    std::vector<std::uint64_t> out;
    out.reserve(ids.size());
    for (const auto& id : ids)
      out.push_back(tree_bytes(place == Place::trash ? trash_folder(id) : folder(id)));
    return out;
  };
  co_return co_await pool_.run(work);
}

Task<Result<std::string>> FsTranscripts::read_trashed(session::SessionId id, std::uint64_t from,
                                                      std::uint64_t size) {
  auto work = [&] { return read_file(trash_folder(id).append(kFile), from, size); };
  co_return co_await pool_.run(work);
}

namespace {

class FsTranscriptWatch final : public session::Transcripts::Watch {
 public:
  FsTranscriptWatch(Executor loop, std::shared_ptr<SessionFolders> folders)
      : folders_(std::move(folders)), tasks_(std::move(loop), "watch") {
    tasks_.spawn(SessionFolders::run(folders_));
  }
  ~FsTranscriptWatch() override { folders_->end(); }

 private:
  std::shared_ptr<SessionFolders> folders_;
  TaskGroup tasks_;
};

}  // namespace

Result<std::unique_ptr<session::Transcripts::Watch>> FsTranscripts::watch(Executor loop,
                                                                          Hear hear) {
  auto folders = std::make_shared<SessionFolders>(SessionFolders::Needs{
      loop, files_, pool_, home_ + "/sessions", watches_max_, std::move(hear)});
  watching_ = folders;
  return std::unique_ptr<Watch>(
      std::make_unique<FsTranscriptWatch>(std::move(loop), std::move(folders)));
}

}  // namespace reef::store
