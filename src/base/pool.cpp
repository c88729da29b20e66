#include "base/pool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace reef {

struct Pool::State {
  explicit State(std::size_t max) : threads_max(max) {}

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      ready.wait(lock, [this] { return stopping || !queue.empty(); });
      --idle;
      if (queue.empty()) return;
      auto job = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      job();
      job = nullptr;  // releases what it captured before the lock is taken
      lock.lock();
    }
  }

  const std::size_t threads_max;

  std::mutex mutex;  // protects all below
  std::condition_variable ready;
  std::deque<std::function<void()>> queue;
  std::vector<std::thread> threads;
  std::size_t idle = 0;
  bool stopping = false;
};

Pool::Pool(std::size_t threads_max) : state_(std::make_unique<State>(threads_max)) {}

Pool::~Pool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->ready.notify_all();
  for (auto& thread : state_->threads) thread.join();
}

void Pool::post(std::function<void()> work) {
  {
    const std::lock_guard lock(state_->mutex);
    // The thread comes first: when none can be made, nothing has been promised yet.
    if (state_->idle <= state_->queue.size() && state_->threads.size() < state_->threads_max)
      state_->threads.emplace_back([state = state_.get()] { state->work(); });
    state_->queue.push_back(std::move(work));
  }
  // Outside the lock, or the thread that wakes up would have to wait for it.
  state_->ready.notify_one();
}

}  // namespace reef
