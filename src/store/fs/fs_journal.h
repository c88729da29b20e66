// A journal as a file. Loop thread; the file work runs on the pool.
#pragma once

#include <string>

#include "base/files.h"
#include "base/pool.h"
#include "session/journal.h"

namespace reef::store {

class FsJournal final : public session::Journal {
 public:
  enum class Durable : bool { no, yes };
  // Makes the file and the folder it is in when something is written. `files` and `pool` must
  // outlive it.
  FsJournal(Files& files, Pool& pool, std::string path, Durable durable);

  Task<Status> read(Use use) override;
  Task<Status> append(std::string bytes) override;
  Task<Status> replace(std::string bytes) override;

 private:
  Files& files_;
  Pool& pool_;
  const std::string path_;
  const Durable durable_;
};

// Where a home that is a folder has its catalog.
std::string catalog_of(const std::string& home);

}  // namespace reef::store
