// Session folders as directories. Every path is walked directory by directory, never through a
// link. Loop thread; the file work runs on the pool.
#pragma once

#include <mutex>

#include "base/files.h"
#include "base/pool.h"
#include "session/folders.h"

namespace reef::store {

class FsFolders final : public session::Folders {
 public:
  // Serves the sessions in `home`. `files` and `pool` must outlive it and what it hands out.
  FsFolders(Files& files, Pool& pool, std::string home);

  // Called at start: removes what a crash left of files on their way in.
  void clean();

  Task<Result<session::FilePage>> list(session::SessionId id, std::string folder, std::size_t limit,
                                       std::string cursor) override;
  Task<Result<std::shared_ptr<session::OpenedFile>>> open(session::SessionId id,
                                                          std::string path) override;
  Task<Result<std::unique_ptr<session::NewFile>>> receive() override;
  Task<Status> remove(session::SessionId id, std::string path) override;
  Task<Status> copy(session::SessionId from, session::SessionId to,
                    std::vector<std::string> paths) override;

 private:
  friend class FsNewFile;

  Result<Fd> open_session(const session::SessionId& id) const;
  // Not a session id, so no list shows it. On the disk of the sessions, so that a rename is enough.
  std::string incoming() const { return home_ + "/sessions/.incoming"; }
  Status copy_one(int from, int to, const std::string& path);

  Files& files_;
  Pool& pool_;
  std::string home_;
  std::uint64_t last_incoming_ = 0;
  std::mutex keeping_;  // held while a file looks for its twin and takes a name
};

}  // namespace reef::store
