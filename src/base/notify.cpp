#include "base/notify.h"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace reef {
namespace asio = boost::asio;

Notify::Notify(Executor loop) : loop_(loop), never_(std::move(loop), Moment::max()) {}

Task<void> Notify::wait() {
  boost::system::error_code ignored;
  co_await never_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Task<bool> Notify::wait_until(Moment deadline) {
  const auto before = generation_;
  Alarm alarm(loop_);
  alarm.set(deadline);
  timed_.push_back(&alarm);
  struct Unregister {
    std::vector<Alarm*>& list;
    Alarm* alarm;
    ~Unregister() { std::erase(list, alarm); }
  } unregister{timed_, &alarm};
  boost::system::error_code ignored;
  co_await alarm.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  co_return generation_ != before;
}

Task<bool> Notify::wait_for(std::chrono::steady_clock::duration patience) {
  return wait_until(steady_now(loop_) + patience);
}

void Notify::notify_all() {
  ++generation_;
  never_.cancel();
  for (auto* alarm : timed_) alarm->cancel();
}

Task<void> sleep_for(std::chrono::steady_clock::duration duration) {
  Alarm alarm(co_await asio::this_coro::executor);
  alarm.set_after(duration);
  boost::system::error_code failed;
  co_await alarm.async_wait(asio::redirect_error(asio::use_awaitable, failed));
  if (failed && !alarm.rang()) throw boost::system::system_error(failed);
}

Task<void> yield_to_loop() {
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
}

}  // namespace reef
