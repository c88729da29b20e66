#include "daemon/last_resort.h"

#include <system_error>
#include <unistd.h>

#include "base/log.h"

namespace reef::daemon {

LastResort::~LastResort() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    reached_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LastResort::arm(std::chrono::milliseconds patience) {
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this, patience] { watch(patience); });
  } catch (const std::system_error& error) {
    log::warn("stopping: nobody watches over the end: {}", error.what());
  }
}

void LastResort::watch(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, patience, [this] { return reached_; })) return;
  log::warn("stopped: something did not end within {} ms and was left", patience.count());
  // Not exit(): what hangs may be in the middle of anything.
  ::_exit(0);
}

}  // namespace reef::daemon
