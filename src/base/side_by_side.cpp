#include "base/side_by_side.h"

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace reef {

void side_by_side(std::size_t threads, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < threads) others.emplace_back(guarded);
    } catch (const std::system_error&) {
      // No more threads can be had: those that exist do the work.
    }
    guarded();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace reef
