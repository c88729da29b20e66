// Keeps a task that must not stop half-way from seeing its caller's cancellation.
#pragma once

#include <exception>
#include <optional>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/task.h"

namespace reef {

// Runs `task` to its end even when the caller has been cancelled; the cancellation is seen at the
// caller's next await instead.
template <class T>
Task<T> shielded(Task<T> task) {
  const bool before = co_await boost::asio::this_coro::throw_if_cancelled();
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  std::optional<T> result;
  std::exception_ptr failure;
  try {
    result.emplace(co_await std::move(task));
  } catch (...) {
    failure = std::current_exception();
  }
  co_await boost::asio::this_coro::throw_if_cancelled(before);
  if (failure) std::rethrow_exception(failure);
  co_return *std::move(result);
}

}  // namespace reef
