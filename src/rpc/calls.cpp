#include "rpc/calls.h"

#include <algorithm>

namespace reef::rpc {

Call::Call(const Executor& loop, std::int64_t id, Patience patience)
    : id_(id), timeout_(patience.timeout), loop_(loop), changed_(loop) {
  const auto now = steady_now(loop_);
  deadline_ = timeout_.count() > 0 ? now + timeout_ : Moment::max();
  last_deadline_ = now + std::max(patience.max, timeout_);
}

void Call::settle(Outcome how) {
  if (answer_) return;
  answer_ = std::move(how);
  changed_.notify_all();
}

void Call::renew() {
  if (timeout_.count() > 0) deadline_ = std::min(steady_now(loop_) + timeout_, last_deadline_);
}

void Call::resume() {
  if (timeout_.count() > 0) deadline_ = std::max(deadline_, steady_now(loop_) + timeout_);
  changed_.notify_all();
}

Task<std::optional<Outcome>> Call::wait(std::function<bool()> paused) {
  while (!answer_) {
    const bool stands = paused && paused();
    if (!stands && steady_now(loop_) >= deadline_) co_return std::nullopt;
    if (stands || deadline_ == Moment::max()) {
      co_await changed_.wait();
    } else {
      static_cast<void>(co_await changed_.wait_until(deadline_));
    }
  }
  co_return answer_;
}

}  // namespace reef::rpc
