// The coroutine type. A parameter taken by reference must outlive the task; a task for
// TaskGroup::spawn takes values only.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace reef {

template <class T>
using Task = boost::asio::awaitable<T>;

using Executor = boost::asio::any_io_executor;

}  // namespace reef
