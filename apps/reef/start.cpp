// Starts reefd in the background for a client that found none.

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "context.h"

namespace reef::cli {
namespace {

constexpr int kReadyMs = 20'000;

// The reefd beside this program, else the one PATH finds.
std::string find_reefd() {
  char self[4096];
  const auto length = ::readlink("/proc/self/exe", self, sizeof self);
  if (length > 0) {
    std::string path(self, static_cast<std::size_t>(length));
    path.replace(path.find_last_of('/') + 1, std::string::npos, "reefd");
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "reefd";
}

// Runs in the child. Never returns.
[[noreturn]] void become_daemon(const std::string& program, const std::string& home, int ready,
                                int errors) {
  ::setsid();
  // After a second fork the daemon belongs to init and does not depend on this client.
  if (::fork() != 0) ::_exit(0);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  const auto ready_text = fmt::format("{}", ready);
  if (::chdir("/") != 0) ::_exit(126);
  ::execlp(program.c_str(), "reefd", "--home", home.c_str(), "--ready-fd", ready_text.c_str(),
           static_cast<char*>(nullptr));
  const auto why = sys_error(errno, "reefd: start " + program).what + "\n";
  static_cast<void>(::write(STDERR_FILENO, why.data(), why.size()) > 0);
  ::_exit(127);
}

Result<std::pair<Fd, Fd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return sys_error(errno, "make a pipe");
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

// The last line in which the daemon named itself, without its name.
std::string reason_in(const std::string& text) {
  constexpr std::string_view kMark = "reefd: ";
  const auto at = text.rfind(kMark);
  if (at == std::string::npos) return "it ended before it was ready";
  const auto line = text.substr(at + kMark.size());
  return line.substr(0, line.find('\n'));
}

}  // namespace

Status start_daemon(const daemon::Home& home) {
  REEF_TRY(auto ready, make_pipe());
  REEF_TRY(auto errors, make_pipe());
  const auto program = find_reefd();
  std::fprintf(stderr, "reef: starting the daemon on %s\n", home.root.c_str());

  const auto child = ::fork();
  if (child < 0) return sys_error(errno, "start the daemon");
  if (child == 0) {
    ::fcntl(ready.second.get(), F_SETFD, 0);
    become_daemon(program, home.root, ready.second.get(), errors.second.get());
  }
  ready.second.reset();
  errors.second.reset();
  int ignored = 0;
  while (::waitpid(child, &ignored, 0) < 0 && errno == EINTR) {
  }

  std::string said;
  for (;;) {
    pollfd wait_for[2] = {{ready.first.get(), POLLIN, 0}, {errors.first.get(), POLLIN, 0}};
    const int got = ::poll(wait_for, 2, kReadyMs);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error(Errc::timeout, "the daemon was not ready in 20 s");
    char buffer[4096];
    if (wait_for[1].revents != 0) {
      const auto count = ::read(errors.first.get(), buffer, sizeof buffer);
      if (count > 0) said.append(buffer, static_cast<std::size_t>(count));
      // No writer is left, so the daemon ended, unless it was ready and closed its stderr.
      if (count == 0 && wait_for[0].revents == 0)
        return Error(Errc::unavailable, "the daemon did not start: " + reason_in(said));
    }
    if (wait_for[0].revents != 0) {
      const auto count = ::read(ready.first.get(), buffer, sizeof buffer);
      if (count > 0) return Ok{};
      // It closed without being ready; the reason may still be on its way.
      for (;;) {
        const auto more = ::read(errors.first.get(), buffer, sizeof buffer);
        if (more <= 0) break;
        said.append(buffer, static_cast<std::size_t>(more));
      }
      return Error(Errc::unavailable, "the daemon did not start: " + reason_in(said));
    }
  }
}

}  // namespace reef::cli
