// The program between the daemon and one child. It starts the child and tells how it ended. When
// the control socket closes, because nobody wants the child any more or the daemon is dead, it
// kills and reaps everything that came from the child. It is small and static: it starts in a
// fraction of a millisecond and holds nothing of the daemon's memory.
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>

#include "process/keeper/kernel.h"
#include "process/keeper/plan.h"
#include "process/keeper/sandbox.h"

namespace reef::process {
namespace {

void send(const Report& report) {
  // The daemon may be gone; reading the socket will show it.
  static_cast<void>(::send(kControlFd, &report, sizeof report, MSG_NOSIGNAL));
}

[[noreturn]] void give_up(Stage stage, int error, int which = 0) {
  Report report;
  report.stage = stage;
  report.error = error;
  report.which = which;
  send(report);
  ::_exit(1);
}

void receive(void* into, std::size_t size) {
  auto* bytes = static_cast<char*>(into);
  while (size > 0) {
    const auto got = ::recv(kControlFd, bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) ::_exit(1);
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
}

void* allocate(std::size_t bytes) {
  void* memory = ::malloc(bytes);
  if (memory == nullptr) give_up(Stage::keeper, ENOMEM);
  return memory;
}

// Returns a list of the next `count` strings, ended by a null pointer, and moves `text` past them.
char** take_strings(char*& text, std::uint32_t count) {
  auto** list = static_cast<char**>(allocate((std::size_t{count} + 1) * sizeof(char*)));
  for (std::uint32_t i = 0; i < count; ++i) {
    list[i] = text;
    text += ::strlen(text) + 1;
  }
  list[count] = nullptr;
  return list;
}

struct Failure {
  Stage stage = Stage::keeper;
  int error = 0;
};

// Runs in the child, which shares the keeper's memory until it becomes the program.
[[noreturn]] void become(const Plan& plan, const char* folder, char** arguments, int ruleset,
                         volatile Failure& failure) {
  const auto fail = [&](Stage stage, int error) {
    failure.stage = stage;
    failure.error = error;
    ::_exit(127);
  };
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  ::setsid();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (plan.umask >= 0) ::umask(static_cast<mode_t>(plan.umask));
  if (*folder != '\0' && ::chdir(folder) != 0) fail(Stage::folder, errno);
  if (plan.read_only != 0 || plan.no_network != 0) {
    if (const int error = give_up_privileges(); error != 0) fail(Stage::sandbox, error);
    if (const int error = put_on_landlock(ruleset); error != 0) fail(Stage::sandbox, error);
    if (const int error = put_on_seccomp(plan.landlock, plan.read_only != 0, plan.no_network != 0);
        error != 0)
      fail(Stage::sandbox, error);
  }
  ::execvp(arguments[0], arguments);
  fail(Stage::program, errno);
  ::_exit(127);
}

// The keeper adopts orphans, so everything that survived its own parent is found here.
void kill_children_of_keeper() {
  DIR* all = ::opendir("/proc");
  if (all == nullptr) return;
  const auto self = ::getpid();
  while (const dirent* entry = ::readdir(all)) {
    const int pid = ::atoi(entry->d_name);
    if (pid <= 0) continue;
    char path[64] = "/proc/";
    ::strcat(path, entry->d_name);
    ::strcat(path, "/stat");
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    char stat[512];
    const auto got = ::read(fd, stat, sizeof stat - 1);
    ::close(fd);
    if (got <= 0) continue;
    stat[got] = '\0';
    // The line is "pid (name) state parent ..."; the name may hold anything.
    const char* after = ::strrchr(stat, ')');
    if (after != nullptr && ::strlen(after) > 4 && ::atoi(after + 4) == self) ::kill(pid, SIGKILL);
  }
  ::closedir(all);
}

[[noreturn]] void end_all(pid_t child, int signals) {
  ::kill(-child, SIGKILL);
  for (;;) {
    pid_t reaped = 0;
    do {
      reaped = ::waitpid(-1, nullptr, WNOHANG);
    } while (reaped > 0);
    if (reaped < 0 && errno == ECHILD) ::_exit(0);
    kill_children_of_keeper();
    pollfd next = {signals, POLLIN, 0};
    constexpr int kAgainMs = 20;
    ::poll(&next, 1, kAgainMs);
    signalfd_siginfo ignored;
    static_cast<void>(::read(signals, &ignored, sizeof ignored));
  }
}

// Reaps until the child itself has ended, and reports that. The child stays a zombie, so that
// nobody else gets its number while the daemon may signal its group.
void reap(pid_t child, bool& ended) {
  while (!ended) {
    siginfo_t info;
    info.si_pid = 0;
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (info.si_pid != child) {
      ::waitpid(info.si_pid, nullptr, 0);
      continue;
    }
    Report report;
    report.kind = Report::Kind::exited;
    (info.si_code == CLD_EXITED ? report.code : report.signal) = info.si_status;
    send(report);
    ended = true;
  }
}

// Includes the two signals C libraries keep for themselves, which posix_spawn leaves ignored.
void reset_signals() {
  struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    std::uint64_t mask;
  } const fresh = {};
  for (int number = 1; number <= 64; ++number)
    ::syscall(SYS_rt_sigaction, number, &fresh, nullptr, sizeof fresh.mask);
}

int keep() {
  ::close_range(kControlFd + 1, ~0U, 0);
  reset_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  ::fcntl(kControlFd, F_SETFD, FD_CLOEXEC);

  Plan plan;
  receive(&plan, sizeof plan);
  auto* text = static_cast<char*>(allocate(std::size_t{plan.text_bytes} + 1));
  receive(text, plan.text_bytes);
  text[plan.text_bytes] = '\0';
  const char* folder = *take_strings(text, 1);
  char** arguments = take_strings(text, plan.arguments);
  ::environ = take_strings(text, plan.variables);  // PATH for execvp, and what the child gets
  char** writables = take_strings(text, plan.writables);

  int ruleset = -1;
  int which = -1;
  if (const int error = make_landlock(plan.landlock, plan.read_only != 0, plan.no_network != 0,
                                      writables, plan.writables, ruleset, which);
      error != 0)
    give_up(which < 0 ? Stage::sandbox : Stage::writable, error, which);

  sigset_t deaths;
  ::sigemptyset(&deaths);
  ::sigaddset(&deaths, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &deaths, nullptr);
  const int signals = ::signalfd(-1, &deaths, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) give_up(Stage::keeper, errno);

  // The child writes this and the keeper reads it, because vfork shares the memory.
  static volatile Failure failure;
  const pid_t child = ::vfork();
  if (child == 0) become(plan, folder, arguments, ruleset, failure);
  if (child < 0) give_up(Stage::keeper, errno);
  if (failure.error != 0) {
    ::waitpid(child, nullptr, 0);
    give_up(failure.stage, failure.error);
  }

  // The keeper lets go of the pipes, so that only the child holds them.
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < kControlFd; ++fd)
    if (null >= 0)
      ::dup2(null, fd);
    else
      ::close(fd);
  if (null > kControlFd) ::close(null);
  if (ruleset >= 0) ::close(ruleset);

  Report started;
  started.kind = Report::Kind::started;
  started.pid = child;
  send(started);

  bool ended = false;
  for (;;) {
    reap(child, ended);
    pollfd events[] = {{kControlFd, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(events, 2, -1) < 0 && errno != EINTR) end_all(child, signals);
    if (events[0].revents != 0) end_all(child, signals);
    signalfd_siginfo ignored;
    static_cast<void>(::read(signals, &ignored, sizeof ignored));
    // When the child has ended, the others are reaped at the end.
  }
}

}  // namespace
}  // namespace reef::process

int main() {
  return reef::process::keep();
}
