// A home that is a folder belongs to whoever has the lock on run/reefd.lock (flock). The file says
// who that is: a line with the pid, a line with the epoch. The kernel takes the lock away when the
// process ends, however it ends. Any thread.
#pragma once

#include <string>

#include "session/ownership.h"

namespace reef::store {

class FsOwnership final : public session::Ownership {
 public:
  // run/ must exist in the home when it is taken.
  explicit FsOwnership(std::string home) : home_(std::move(home)) {}

  Result<std::unique_ptr<session::Hold>> take() override;
  Result<std::optional<session::Holder>> holder() override;

 private:
  const std::string home_;
};

}  // namespace reef::store
