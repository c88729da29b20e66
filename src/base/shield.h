// Keeps a task that must not stop half-way from seeing its caller's cancellation.
#pragma once

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
  auto result = co_await std::move(task);
  co_await boost::asio::this_coro::throw_if_cancelled(before);
  co_return result;
}

}  // namespace reef
