// Gives memory that is no longer needed back to the system: a giant transcript leaves holes in the
// heap, which the allocator keeps. Checks a moment after work was done, and never while nothing
// happens. Loop thread.
#pragma once

#include <functional>

#include "base/pool.h"
#include "base/task_group.h"

namespace reef::daemon {

class MemoryKeeper {
 public:
  // `let_go` frees caches and is called before each check. `busy` says that work goes on in the
  // background, so another check will follow.
  MemoryKeeper(Executor loop, Pool& pool, std::function<void()> let_go, std::function<bool()> busy);

  // Call when work was done.
  void note();
  Task<void> stop();

 private:
  Task<void> look_later();

  Pool& pool_;
  std::function<void()> let_go_;
  std::function<bool()> busy_;
  bool waiting_ = false;
  bool again_ = false;
  TaskGroup tasks_;
};

}  // namespace reef::daemon
