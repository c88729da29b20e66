// Transcripts in memory, with the contract of the file store. Loop thread only.
#pragma once

#include <map>

#include "session/store.h"

namespace reef::store {

class MemStore final : public session::Store {
 public:
  Task<Result<std::vector<session::SessionId>>> list() override;
  Task<Status> create(session::SessionId id, std::string bytes) override;
  Task<Result<std::string>> read(session::SessionId id) override;
  Task<Result<std::string>> open(session::SessionId id) override;
  Task<Status> append(session::SessionId id, std::uint64_t at, std::string bytes) override;

  // As another program, or a disk, would: the bytes themselves.
  std::map<session::SessionId, std::string>& raw() { return transcripts_; }

 private:
  std::map<session::SessionId, std::string> transcripts_;
};

}  // namespace reef::store
