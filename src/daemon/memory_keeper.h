// Gives memory back to the system that was needed once: a giant transcript leaves a heap full of
// holes, which the allocator keeps. Looks a moment after something was done, and not at all while
// nothing is. Loop thread.
#pragma once

#include <functional>

#include "base/pool.h"
#include "base/task_group.h"

namespace reef::daemon {

class MemoryKeeper {
 public:
  // `let_go`: frees what is only kept in case; called before it looks. `busy`: work goes on in the
  // background, so there will be more to look at.
  MemoryKeeper(Executor loop, Pool& pool, std::function<void()> let_go, std::function<bool()> busy);

  // Something was done.
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
