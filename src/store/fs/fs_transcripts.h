// Transcripts as files: <directory>/<id>/session.jsonl. Nothing is acknowledged before it is
// synced. Loop thread; the file work runs on the pool, so syncs of different sessions overlap.
#pragma once

#include "base/files.h"
#include "base/pool.h"
#include "session/transcripts.h"
#include "store/fs/appends.h"
#include "store/fs/session_folders.h"

namespace reef::store {

class FsTranscripts final : public session::Transcripts {
 public:
  // Keeps sessions/ and trash/ in `home`, where sessions/ must exist. `files` and `pool` must
  // outlive it. A watch takes at most so many of the kernel's; without any, all are looked at in
  // turn.
  FsTranscripts(Files& files, Pool& pool, std::string home, std::size_t watches_max = SIZE_MAX);

  Task<Result<std::vector<session::Stored>>> list() override;
  Task<Status> create(session::SessionId id, std::string bytes) override;
  Task<std::vector<Status>> take_in(std::vector<session::Incoming> sessions) override;
  Task<Result<std::string>> read(session::SessionId id, std::uint64_t from,
                                 std::uint64_t size) override;
  Task<std::vector<Result<std::string>>> read_ranges(std::vector<session::Range> ranges) override;
  Task<void> read_each(std::vector<session::Range> ranges, UsePiece use,
                       std::function<void()> meanwhile, Helper* helper) override;
  Task<Result<session::Tail>> open(session::SessionId id) override;
  Task<Status> append(session::SessionId id, std::uint64_t at, std::string bytes) override;
  Task<std::vector<Result<session::Row>>> refresh(std::vector<session::Refresh> requests) override;
  Task<Status> rewrite(session::SessionId id, std::uint64_t at, std::string bytes,
                       std::string kept_as) override;
  std::string path_of(const session::SessionId& id) const override;
  Task<Status> trash(session::SessionId id, TimePoint now) override;
  Task<Status> restore(session::SessionId id) override;
  Task<Result<std::vector<session::Trashed>>> trashed() override;
  Task<Status> purge(session::SessionId id) override;
  Task<std::vector<std::uint64_t>> measure(std::vector<session::SessionId> ids,
                                           Place place) override;
  Task<Result<std::string>> read_trashed(session::SessionId id, std::uint64_t from,
                                         std::uint64_t size) override;
  Result<std::unique_ptr<Watch>> watch(Executor loop, Hear hear) override;

  std::string folder(const session::SessionId& id) const;
  std::string file(const session::SessionId& id) const;

 private:
  Fd open_sessions() const;
  Result<session::Row> refresh_one(session::Refresh request);
  std::string trash_folder(const session::SessionId& id) const;
  TimePoint trashed_at(const session::SessionId& id);

  SessionFolders::OwnChange own_change(const session::SessionId& id) const {
    return {watching_, id};
  }
  Result<std::string> read_file(const std::string& path, std::uint64_t from, std::uint64_t size);
  Result<std::string> read_piece(const session::Range& range);
  // A buffer for pieces that are read one after the other.
  class Buffer;
  Result<std::string_view> read_piece(const session::Range& range, Buffer& buffer);
  // nullopt when a disk might have to be waited for.
  std::optional<std::string_view> cached_piece(const session::Range& range, Buffer& buffer);

  Files& files_;
  Pool& pool_;
  std::string home_;
  Fd sessions_;  // the directory; opened again by every list()
  bool listed_ = false;
  Appends appends_;
  const std::size_t watches_max_;
  std::weak_ptr<SessionFolders> watching_;
};

// The blocking halves, for the pool and for tests that count system calls.
Status create_transcript(Files& files, const std::string& folder, std::string_view bytes);
Result<session::Tail> open_transcript(Files& files, const std::string& file);
// Syncs everything in the folders, then moves them to `directory`.
std::vector<Status> take_in_folders(Files& files, const std::string& directory,
                                    const std::vector<session::Incoming>& sessions);

}  // namespace reef::store
