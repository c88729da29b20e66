// A journal in memory, with the contract of the file. Loop thread only.
#pragma once

#include "session/journal.h"

namespace reef::store {

class MemJournal final : public session::Journal {
 public:
  Task<Status> read(Use use) override { co_return use(session::source_of(bytes_)); }
  Task<Status> append(std::string bytes) override {
    bytes_ += bytes;
    co_return Ok{};
  }
  Task<Status> replace(std::string bytes) override {
    bytes_ = std::move(bytes);
    co_return Ok{};
  }

 private:
  std::string bytes_;
};

}  // namespace reef::store
