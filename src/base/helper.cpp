#include "base/helper.h"

#include <chrono>
#include <exception>
#include <system_error>

#include <pthread.h>
#include <sched.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace reef {
namespace {

// The thread goes to sleep when it waits longer than this for something to do; when dismissed, it
// goes at once. Waking it again in the middle of a search takes longer than most of what it could
// do.
constexpr std::chrono::microseconds kPatience{1000};
// How often it looks before it asks for the time and yields the core: the thread it waits for may
// need the core.
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

// How many cores this process may use: a container may be given one of many.
int core_count() {
  ::cpu_set_t cores;
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

}  // namespace

struct Helper::Job {
  const Work& there;
  std::size_t count;
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure{};  // of the helper

  void work(const Work& work) {
    for (auto n = next++; n < count; n = next++) work(n);
  }
};

Helper::~Helper() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  wanted_ = false;
  ++calls_;
  calls_.notify_one();
  thread_.join();
}

void Helper::run() {
  for (std::uint32_t seen = 0; !stopping_;) {
    calls_.wait(seen);
    seen = calls_;
    awake_ = true;
    attend();
    awake_ = false;
  }
}

void Helper::attend() {
  while (wanted_) {
    const bool in_time = wait_awake([this] { return !wanted_ || offered_.load() != nullptr; });
    if (auto* job = offered_.exchange(nullptr)) {
      try {
        job->work(job->there);
      } catch (...) {
        job->failure = std::current_exception();
        job->next = job->count;
      }
      ++done_;
      done_.notify_one();
    } else if (!in_time) {
      return;
    }
  }
}

void Helper::call() {
  static const bool alone = core_count() < 2;
  if (alone) return;
  wanted_ = true;
  if (awake_) return;
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      return;  // no thread to be had
    }
  }
  keep_off(::sched_getcpu());
  ++calls_;
  calls_.notify_one();
}

// On a virtual machine a sleeping core looks busy to the kernel, which would wake the helper on the
// core of the caller, where it helps nobody.
void Helper::keep_off(int core) {
  if (core < 0 || core == kept_off_) return;
  ::cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  CPU_CLR(static_cast<std::size_t>(core), &cores);
  if (CPU_COUNT(&cores) == 0) return;
  if (::pthread_setaffinity_np(thread_.native_handle(), sizeof cores, &cores) == 0)
    kept_off_ = core;
}

// Afterwards nobody works on the job.
void Helper::take_back(std::uint32_t done_before) {
  if (offered_.exchange(nullptr) != nullptr) return;
  if (!wait_awake([&] { return done_ != done_before; })) done_.wait(done_before);
}

void Helper::share(std::size_t count, const Work& here, const Work& there,
                   const std::function<void()>& first) {
  if (count < 2) {
    if (first) first();
    for (std::size_t n = 0; n < count; ++n) here(n);
    return;
  }
  call();  // again, if it went to sleep
  Job job{there, count};
  struct Closing {
    Helper& helper;
    Job& job;
    std::uint32_t done;
    ~Closing() {
      job.next = job.count;  // after an exception nobody goes on
      helper.take_back(done);
    }
  };
  {
    const Closing closing{*this, job, done_};
    offered_ = &job;
    if (first) first();
    job.work(here);
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace reef
