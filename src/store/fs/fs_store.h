// Transcripts as files: <directory>/<id>/session.jsonl. Nothing is acknowledged before it is
// synced. Loop thread; the file work runs on the pool, so syncs of different sessions overlap.
#pragma once

#include "base/files.h"
#include "base/pool.h"
#include "session/store.h"

namespace reef::store {

class FsStore final : public session::Store {
 public:
  // `directory` must exist. All three must outlive the store.
  FsStore(Files& files, Pool& pool, std::string directory);

  Task<Result<std::vector<session::SessionId>>> list() override;
  Task<Status> create(session::SessionId id, std::string bytes) override;
  Task<Result<std::string>> read(session::SessionId id) override;
  Task<Result<std::string>> open(session::SessionId id) override;
  Task<Status> append(session::SessionId id, std::uint64_t at, std::string bytes) override;

  std::string folder(const session::SessionId& id) const;
  std::string file(const session::SessionId& id) const;

 private:
  Files& files_;
  Pool& pool_;
  std::string directory_;
};

// The blocking halves, for the pool and for tests that count system calls.
Status create_transcript(Files& files, const std::string& folder, std::string_view bytes);
Result<std::string> open_transcript(Files& files, const std::string& file);
Status append_transcript(Files& files, const std::string& file, std::uint64_t at,
                         std::string_view bytes);

}  // namespace reef::store
