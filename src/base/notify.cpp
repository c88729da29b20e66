#include "base/notify.h"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace reef {
namespace asio = boost::asio;

Notify::Notify(Executor loop)
    : loop_(loop), never_(std::move(loop), std::chrono::steady_clock::time_point::max()) {}

Task<void> Notify::wait() {
  boost::system::error_code ignored;
  co_await never_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Task<bool> Notify::wait_until(std::chrono::steady_clock::time_point deadline) {
  const auto before = generation_;
  asio::steady_timer timer(loop_, deadline);
  timed_.push_back(&timer);
  struct Unregister {
    std::vector<asio::steady_timer*>& list;
    asio::steady_timer* timer;
    ~Unregister() { std::erase(list, timer); }
  } unregister{timed_, &timer};
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  co_return generation_ != before;
}

void Notify::notify_all() {
  ++generation_;
  never_.cancel();
  for (auto* timer : timed_) timer->cancel();
}

Task<void> sleep_for(std::chrono::steady_clock::duration duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  co_await timer.async_wait(asio::use_awaitable);
}

Task<void> yield_to_loop() {
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
}

}  // namespace reef
