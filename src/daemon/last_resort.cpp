#include "daemon/last_resort.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

#include "base/log.h"

namespace reef::daemon {
namespace {

constexpr int kStopSignals[] = {SIGTERM, SIGINT};

// Signal handlers can reach only globals.
std::atomic<int> bell = -1;
struct sigaction before_term, before_int;

void ring_bell(int fd) {
  const std::uint64_t one = 1;
  static_cast<void>(::write(fd, &one, sizeof one) < 0);
}

struct sigaction& before(int signal) {
  return signal == SIGTERM ? before_term : before_int;
}

void on_signal(int signal) {
  const int saved = errno;
  if (const int fd = bell.load(); fd >= 0) ring_bell(fd);
  const auto handler = before(signal).sa_handler;
  if (handler != SIG_DFL && handler != SIG_IGN) handler(signal);
  errno = saved;
}

}  // namespace

LastResort::~LastResort() {
  if (hears_) {
    for (const int signal : kStopSignals) ::sigaction(signal, &before(signal), nullptr);
    bell = -1;
  }
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    reached_ = true;
  }
  changed_.notify_all();
  ring();
  thread_.join();
}

void LastResort::arm(std::chrono::milliseconds patience) {
  if (start(patience)) ring();
}

void LastResort::hear_signals(std::chrono::milliseconds patience) {
  if (hears_ || !start(patience)) return;
  hears_ = true;
  bell = bell_.get();
  for (const int signal : kStopSignals) {
    ::sigaction(signal, nullptr, &before(signal));
    auto ours = before(signal);
    if ((ours.sa_flags & SA_SIGINFO) != 0) continue;
    ours.sa_handler = on_signal;
    ::sigaction(signal, &ours, nullptr);
  }
}

bool LastResort::start(std::chrono::milliseconds patience) {
  if (thread_.joinable()) return true;
  bell_ = Fd(::eventfd(0, EFD_CLOEXEC));
  try {
    if (bell_.get() < 0) throw std::system_error(errno, std::generic_category());
    thread_ = std::thread([this, patience] { watch(patience); });
    return true;
  } catch (const std::system_error& error) {
    log::warn("stopping: nobody watches over the end: {}", error.what());
    return false;
  }
}

void LastResort::ring() const {
  ring_bell(bell_.get());
}

void LastResort::watch(std::chrono::milliseconds patience) {
  std::uint64_t rung = 0;
  while (::read(bell_.get(), &rung, sizeof rung) < 0 && errno == EINTR) {
  }
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, patience, [this] { return reached_; })) return;
  log::warn("stopped: something did not end within {} ms and was left", patience.count());
  // exit() is not safe here, because what hangs may be in the middle of anything.
  ::_exit(0);
}

}  // namespace reef::daemon
