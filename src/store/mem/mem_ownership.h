// The ownership of a home in memory, with the contract of that of a folder. One thread.
#pragma once

#include "session/ownership.h"

namespace reef::store {

class MemOwnership final : public session::Ownership {
 public:
  Result<std::unique_ptr<session::Hold>> take() override;
  Result<std::optional<session::Holder>> holder() override;

  // Takes the home from whoever has it, as a machine does that holds another for dead.
  std::unique_ptr<session::Hold> seize();

 private:
  struct Held;
  class MemHold;
  class MemHoldWatch;

  std::shared_ptr<Held> held_;
  std::uint64_t last_epoch_ = 0;
};

}  // namespace reef::store
