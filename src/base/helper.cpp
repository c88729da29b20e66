#include "base/helper.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace reef {
namespace {

// Who waits longer than this for something to do leaves.
constexpr std::chrono::microseconds kPatience{400};
// Looks before it is asked what time it is, and whether others need the core: the one who is waited
// for may be among them.
constexpr unsigned kLooks = 64;

void rest() {
#if defined(__SSE2__)
  _mm_pause();
#endif
}

// False when the patience ended.
template <class F>
bool wait_awake(const F& over) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (unsigned looks = 1; !over(); ++looks) {
    rest();
    if (looks % kLooks != 0) continue;
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

struct Job {
  const Helper::Work& there;
  std::size_t count;
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure{};  // of the helper

  void work(const Helper::Work& work) {
    for (auto n = next++; n < count; n = next++) work(n);
  }
};

}  // namespace

struct Helper::State {
  std::atomic<Job*> offered = nullptr;
  std::atomic<bool> called = false;
  std::atomic<bool> present = false;
  std::atomic<bool> over = false;
  std::atomic<std::uint32_t> done = 0;  // jobs the helper took and finished

  // On the pool's thread.
  void attend() {
    present = true;
    while (!over) {
      const bool in_time = wait_awake([this] { return over || offered.load() != nullptr; });
      if (auto* job = offered.exchange(nullptr)) {
        try {
          job->work(job->there);
        } catch (...) {
          job->failure = std::current_exception();
          job->next = job->count;
        }
        ++done;
        done.notify_one();
      } else if (!in_time) {
        break;
      }
    }
    present = false;
    called = false;
  }
  // The job is nobody's afterwards.
  void take_back(std::uint32_t done_before) {
    if (offered.exchange(nullptr) != nullptr) return;
    if (!wait_awake([&] { return done != done_before; })) done.wait(done_before);
  }
};

Helper::Helper(Pool& pool) : pool_(pool), state_(std::make_shared<State>()) {
  call();
}

Helper::~Helper() {
  state_->over = true;
}

bool Helper::present() const {
  return state_->present;
}

void Helper::call() {
  static const bool alone = std::thread::hardware_concurrency() < 2;
  if (alone || state_->called.exchange(true)) return;
  try {
    pool_.post([state = state_] { state->attend(); });
  } catch (const std::exception&) {
    state_->called = false;  // no thread to be had
  }
}

void Helper::share(std::size_t count, const Work& here, const Work& there,
                   const std::function<void()>& first) {
  if (count < 2) {
    if (first) first();
    for (std::size_t n = 0; n < count; ++n) here(n);
    return;
  }
  call();  // again, if it left
  Job job{there, count};
  const auto done = state_->done.load();
  state_->offered = &job;
  struct Closing {
    State& state;
    Job& job;
    std::uint32_t done;
    ~Closing() {
      job.next = job.count;  // after an exception nobody goes on
      state.take_back(done);
    }
  };
  {
    const Closing closing{*state_, job, done};
    if (first) first();
    job.work(here);
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace reef
