// Owns background coroutines: nothing in Reef is detached. Loop thread only (Asio 1.81 delivers a
// cancellation by raw pointer, which is only safe there).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/task.h"

namespace reef {

class TaskGroup {
 public:
  // `name` appears in the log when a task ends by an exception.
  TaskGroup(Executor loop, std::string name);
  ~TaskGroup();  // cancels the tasks that are left; join() first if their end matters
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  using Id = std::uint64_t;
  Id spawn(Task<void> task);
  void cancel();
  // Cancels one of them; does nothing when it has ended.
  void cancel(Id id);
  // Returns when the last task has ended.
  Task<void> join();
  // The same; false when the patience ended first.
  Task<bool> join_within(std::chrono::milliseconds patience);
  std::size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace reef
