// The folders of sessions as documents below sessions/<id>/. Loop thread; the work is the pool's.
#pragma once

#include <mutex>

#include "base/pool.h"
#include "session/documents.h"
#include "session/folders.h"

namespace reef::session {

class DocumentFolders final : public Folders {
 public:
  // Both must outlive it and what it hands out.
  DocumentFolders(Documents& documents, Pool& pool) : documents_(documents), pool_(pool) {}

  Task<Result<FilePage>> list(SessionId id, std::string folder, std::size_t limit,
                              std::string cursor) override;
  Task<Result<std::shared_ptr<OpenedFile>>> open(SessionId id, std::string path) override;
  Task<Result<std::unique_ptr<NewFile>>> receive() override;
  Task<Status> remove(SessionId id, std::string path) override;
  Task<Status> copy(SessionId from, SessionId to, std::vector<std::string> paths) override;

 private:
  friend class ReceivedFile;

  Documents& documents_;
  Pool& pool_;
  std::mutex keeping_;  // one file at a time looks for its twin and takes a name
};

}  // namespace reef::session
