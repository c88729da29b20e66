// Work that its caller may leave: a kill must not wait for a server that does not answer or a disk
// that hangs. Work that was left is cancelled and ends when it can, so each errand owns all that it
// uses, except what outlives all errands. Loop thread only.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/notify.h"
#include "base/task_group.h"

namespace reef {

// Says that work under way should end; never taken back. Shared by those who say so and those who
// look.
class StopSign {
 public:
  explicit StopSign(Executor loop) : changed_(std::move(loop)) {}

  void set() {
    set_ = true;
    changed_.notify_all();
  }
  bool is_set() const { return set_; }
  // Makes the tasks that wait look again.
  void nudge() { changed_.notify_all(); }
  Task<void> wait() { return changed_.wait(); }

 private:
  bool set_ = false;
  Notify changed_;
};

class Errands {
 public:
  Errands(Executor loop, std::string name)
      : tasks_(std::make_shared<TaskGroup>(std::move(loop), std::move(name))) {}

  // Returns the task's value, or throws its exception. nullopt as soon as the sign is set or
  // `enough` says so. A caller that is cancelled while it waits leaves the errand, too.
  template <class T>
  Task<std::optional<T>> run(Task<T> task, std::shared_ptr<StopSign> sign,
                             std::function<bool()> enough = {}) {
    if (sign->is_set()) co_return std::nullopt;  // it is not even begun
    auto state = std::make_shared<State<T>>();
    const auto id = tasks_->spawn(carry(std::move(task), state, sign));
    struct Leaving {
      std::shared_ptr<TaskGroup> tasks;
      std::shared_ptr<State<T>> state;
      TaskGroup::Id id;
      ~Leaving() {
        if (!state->done) tasks->cancel(id);
      }
    } const leaving{tasks_, state, id};
    while (!state->done && !sign->is_set() && !(enough && enough())) co_await sign->wait();
    if (!state->done) co_return std::nullopt;
    if (state->failure) std::rethrow_exception(state->failure);
    co_return std::move(state->value);
  }

  // Returns when no errand is left; false when the patience ended first.
  Task<bool> settle(std::chrono::milliseconds patience) { return tasks_->join_within(patience); }

 private:
  template <class T>
  struct State {
    std::optional<T> value = {};
    std::exception_ptr failure = {};
    bool done = false;
  };

  template <class T>
  static Task<void> carry(Task<T> task, std::shared_ptr<State<T>> state,
                          std::shared_ptr<StopSign> sign) {
    try {
      // Asio 1.81 ends the program when a spawned coroutine is cancelled before it was suspended.
      co_await yield_to_loop();
      state->value.emplace(co_await std::move(task));
    } catch (...) {
      state->failure = std::current_exception();
    }
    state->done = true;
    sign->nudge();
  }

  std::shared_ptr<TaskGroup> tasks_;
};

}  // namespace reef
