#include "store/fs/fs_ownership.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "store/fs/inotify.h"

namespace reef::store {
namespace {

// A child of the process that had the home has its descriptors until it is another program: when
// that process was killed just then, the lock is free a moment later.
constexpr std::chrono::milliseconds kPatienceWithTheDead{3'000};
// Somebody may just be asking whether the lock is free.
constexpr std::chrono::milliseconds kPatience{20};
constexpr std::chrono::milliseconds kPause{2};

// A greater one was not written by us.
constexpr long long kEpochMax = 1LL << 60;

std::string lock_of(const std::string& home) {
  return home + "/run/reefd.lock";
}

session::Holder read_holder(int fd) {
  char text[64] = {};
  const auto got = ::pread(fd, text, sizeof text - 1, 0);
  session::Holder out;
  if (got <= 0) return out;
  char* end = nullptr;
  out.pid = static_cast<int>(std::max(0L, std::strtol(text, &end, 10)));
  const auto epoch = std::strtoll(end, nullptr, 10);
  if (epoch > 0 && epoch < kEpochMax) out.epoch = static_cast<std::uint64_t>(epoch);
  return out;
}

// A zombie runs no more.
bool is_alive(int pid) {
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return false;
  char state = '?';
  if (std::FILE* stat = std::fopen(fmt::format("/proc/{}/stat", pid).c_str(), "re")) {
    if (std::fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) state = '?';
    std::fclose(stat);
  }
  return state != 'Z' && state != 'X';
}

// Whether the path still leads to the open file.
bool is_at(const std::string& path, int fd) {
  struct ::stat open = {};
  struct ::stat there = {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &there) == 0 &&
         open.st_ino == there.st_ino && open.st_dev == there.st_dev;
}

Status lock(int fd, const std::string& home) {
  const auto began = std::chrono::steady_clock::now();
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return sys_error(errno, "lock " + lock_of(home));
    const auto holder = read_holder(fd);
    const auto patience = is_alive(holder.pid) ? kPatience : kPatienceWithTheDead;
    if (std::chrono::steady_clock::now() - began > patience)
      return Error(Errc::conflict,
                   fmt::format("home {} is in use by another reefd, pid {}", home, holder.pid));
    std::this_thread::sleep_for(kPause);
  }
  return Ok{};
}

// Greater than the last one and, should that be lost, than any that was used before now. So the
// file need not be synced, which would take a third of the time in which a daemon starts.
std::uint64_t next_epoch(std::uint64_t last) {
  // Microseconds: nobody takes and loses a home faster.
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return std::max(last + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(1, now.count())));
}

// Written over what is there, which is longer or shorter by some bytes: a crash in between leaves
// two whole lines.
Status write_holder(int fd, const session::Holder& holder, const std::string& path) {
  const auto text = fmt::format("{}\n{}\n", holder.pid, holder.epoch);
  if (::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ::ftruncate(fd, static_cast<off_t>(text.size())) != 0)
    return sys_error(errno, "write " + path);
  return Ok{};
}

// Nobody can take the lock from us, but its file can be removed or replaced, and then another
// process locks another file.
class FsHoldWatch final : public session::Hold::Watch {
 public:
  FsHoldWatch(std::shared_ptr<const Fd> lock, std::string path, std::unique_ptr<Inotify> inotify,
              session::Hold::Lost lost)
      : state_(std::make_shared<State>(
            State{std::move(lock), std::move(path), std::move(inotify), std::move(lost)})) {
    look(state_);
  }
  ~FsHoldWatch() override {
    state_->lost = nullptr;
    state_->inotify->end();
  }

 private:
  struct State {
    std::shared_ptr<const Fd> lock;
    const std::string path;
    std::unique_ptr<Inotify> inotify;
    session::Hold::Lost lost;
  };

  static void look(const std::shared_ptr<State>& state) {
    state->inotify->wait([state] {
      if (!state->lost) return;
      state->inotify->read([](const Inotify::Event&) {});
      if (is_at(state->path, state->lock->get())) return look(state);
      std::exchange(state->lost, nullptr)(state->path + " was taken away");
    });
  }

  std::shared_ptr<State> state_;
};

class FsHold final : public session::Hold {
 public:
  FsHold(Fd lock, std::string path, std::uint64_t epoch)
      : lock_(std::make_shared<Fd>(std::move(lock))), path_(std::move(path)), epoch_(epoch) {}
  // A watch may live on.
  ~FsHold() override { ::flock(lock_->get(), LOCK_UN); }

  std::uint64_t epoch() const override { return epoch_; }

  Result<std::unique_ptr<Watch>> watch(Executor loop, Lost lost) override {
    REEF_TRY(auto inotify, Inotify::begin(loop));
    REEF_CHECK(inotify->add(path_, IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF));
    REEF_CHECK(inotify->add(parent_of(path_), IN_DELETE_SELF | IN_MOVE_SELF));
    if (!is_at(path_, lock_->get())) return Error(Errc::conflict, path_ + " was taken away");
    return std::unique_ptr<Watch>(
        std::make_unique<FsHoldWatch>(lock_, path_, std::move(inotify), std::move(lost)));
  }

 private:
  std::shared_ptr<Fd> lock_;
  const std::string path_;
  const std::uint64_t epoch_;
};

}  // namespace

Result<std::unique_ptr<session::Hold>> FsOwnership::take() {
  const auto path = lock_of(home_);
  for (;;) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd) return sys_error(errno, "open " + path);
    REEF_CHECK(lock(fd.get(), home_));
    // Somebody may have removed the file in between.
    if (!is_at(path, fd.get())) continue;
    const session::Holder us{::getpid(), next_epoch(read_holder(fd.get()).epoch)};
    REEF_CHECK(write_holder(fd.get(), us, path));
    return std::unique_ptr<session::Hold>(std::make_unique<FsHold>(std::move(fd), path, us.epoch));
  }
}

Result<std::optional<session::Holder>> FsOwnership::holder() {
  const auto path = lock_of(home_);
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::optional<session::Holder>();
  if (!fd) return sys_error(errno, "open " + path);
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return std::optional<session::Holder>();
  if (errno != EWOULDBLOCK) return sys_error(errno, "look at " + path);
  return std::optional(read_holder(fd.get()));
}

}  // namespace reef::store
