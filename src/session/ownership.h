// Who owns a home: one process at a time may write to it. Two implementations (store/fs, store/mem)
// pass one test-suite, tests/store/ownership_contract_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/task.h"

namespace reef::session {

struct Holder {
  int pid = 0;              // on this machine; 0: it is elsewhere, or cannot be said
  std::uint64_t epoch = 0;  // 0: cannot be said
};

// That a home is ours, as long as this exists.
class Hold {
 public:
  virtual ~Hold() = default;  // gives the home up

  // Grows whenever the home is taken. Bytes that several machines can reach take nothing with an
  // older epoch than the latest, so that whoever lost the home without noticing cannot write to it.
  virtual std::uint64_t epoch() const = 0;

  // Ends what was begun when destroyed, on the loop.
  class Watch {
   public:
    virtual ~Watch() = default;
  };
  // Calls back on the loop, once, when the home is not ours any more: from then on nothing may be
  // written, and what comes next is to end. Loop thread. There is one watch at a time.
  using Lost = std::function<void(const std::string& why)>;
  virtual Result<std::unique_ptr<Watch>> watch(Executor loop, Lost lost) = 0;
};

// Both functions may block for some seconds: they are for the pool, and for those who have no loop.
class Ownership {
 public:
  virtual ~Ownership() = default;

  // conflict when another process has the home; the error says which.
  virtual Result<std::unique_ptr<Hold>> take() = 0;
  // nullopt: nobody has it.
  virtual Result<std::optional<Holder>> holder() = 0;
};

}  // namespace reef::session
