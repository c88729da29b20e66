// Threads for what blocks or burns CPU: disk syncs, directory scans, large parses. Work is a
// function over values handed in and out; it never touches state of the loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/task.h"

namespace reef {

class Pool {
 public:
  // Threads are started when work finds none idle, never more than `threads_max`.
  explicit Pool(std::size_t threads_max);
  ~Pool();  // finishes all queued work first
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Any thread.
  void post(std::function<void()> work);

  // Runs f on a pool thread and resumes on the caller's loop. Not cancellable: what has been handed
  // over runs to its end, so f may refer to the awaiting frame.
  template <class F>
  Task<std::invoke_result_t<F&>> run(F f) {
    using R = std::invoke_result_t<F&>;
    auto start = [this, &f](auto handler) {
      auto shared = std::make_shared<decltype(handler)>(std::move(handler));
      // The loop must not run dry while the pool still holds the handler.
      auto loop = boost::asio::prefer(boost::asio::get_associated_executor(*shared),
                                      boost::asio::execution::outstanding_work.tracked);
      post([&f, shared = std::move(shared), loop = std::move(loop)]() mutable {
        auto result = std::make_shared<R>(f());
        boost::asio::post(loop, [shared = std::move(shared), result = std::move(result)]() mutable {
          std::move (*shared)(std::move(*result));
        });
      });
    };
    co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(R)>(
        std::move(start), boost::asio::use_awaitable);
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reef
