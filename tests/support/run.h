// Runs coroutines in tests: no sleeping, no threads of its own, a watchdog instead of a hang.
#pragma once

#include <chrono>
#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/result.h"
#include "base/task.h"

namespace reef::test {

inline constexpr std::chrono::seconds kPatience{30};

// Drives the loop until `done`; false when patience ran out first.
bool drive(boost::asio::io_context& io, const bool& done);

// Runs the task to its end. One that does not end fails the test and throws.
inline void run(boost::asio::io_context& io, Task<void> task) {
  std::exception_ptr failure;
  bool done = false;
  boost::asio::co_spawn(io, std::move(task), [&](std::exception_ptr error) {
    failure = error;
    done = true;
  });
  if (!drive(io, done)) throw std::runtime_error("the task did not end in time");
  if (failure) std::rethrow_exception(failure);
}

template <class T>
Task<void> store_result(Task<T> task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}

// The same, with the task's result.
template <class T>
T run(boost::asio::io_context& io, Task<T> task) {
  std::optional<T> result;
  run(io, store_result(std::move(task), result));
  return std::move(*result);
}

// Drives the loop until `done()`; fails the test and returns false when patience ran out first.
// It looks again and again for what comes from outside of the loop, such as the end of a process.
template <class F>
bool run_until(boost::asio::io_context& io, F done) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      ADD_FAILURE() << "what the test waits for did not come";
      return false;
    }
    io.restart();
    io.run_one_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Runs what is ready, and nothing that would have to wait.
void run_ready(boost::asio::io_context& io);

// The value, or a failed test that says why.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error("unexpected error: " + result.error().what);
  return *std::move(result);
}

}  // namespace reef::test
