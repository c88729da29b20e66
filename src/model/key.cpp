#include "model/key.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace reef::model {
namespace {

constexpr std::size_t kKeyBytesMax = 16U << 10;

// Reads what the child writes until it closes its end; nullopt on timeout or a requested stop.
std::optional<std::string> read_until_closed(int fd, std::chrono::steady_clock::time_point until,
                                             const std::stop_token& stop) {
  const Fd asked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::stop_callback wake(stop, [&asked] {
    const std::uint64_t one = 1;
    static_cast<void>(::write(asked.get(), &one, sizeof one) < 0);
  });
  std::string out;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || stop.stop_requested()) return std::nullopt;
    pollfd waiting[] = {{fd, POLLIN, 0}, {asked.get(), POLLIN, 0}};
    const int ready = ::poll(waiting, 2, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return std::nullopt;
    if (ready <= 0 || waiting[0].revents == 0) continue;
    char buffer[4096];
    const auto got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return out;
    if (out.size() < kKeyBytesMax) out.append(buffer, static_cast<std::size_t>(got));
  }
}

Result<std::string> run_command(const std::string& command, std::chrono::milliseconds patience,
                                const std::stop_token& stop) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return sys_error(errno, "start the key's command");
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  // Its error output may contain the secret.
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  sigset_t defaults;
  sigfillset(&defaults);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  pid_t child = -1;
  std::string shell = "sh";
  std::string flag = "-c";
  std::string words = command;
  char* arguments[] = {shell.data(), flag.data(), words.data(), nullptr};
  const int failed = ::posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, ::environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return sys_error(failed, "start the key's command");
  writing = Fd();
  const auto output =
      read_until_closed(reading.get(), std::chrono::steady_clock::now() + patience, stop);
  // Kills what the command left in the background, too.
  ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!output && stop.stop_requested())
    return Error(Errc::cancelled, "the key's command was not waited for");
  if (!output)
    return Error(Errc::timeout,
                 fmt::format("the key's command did not end in {} ms", patience.count()));
  auto key = std::string(trim(std::string_view(*output).substr(0, output->find('\n'))));
  if (key.empty()) return Error(Errc::invalid, "the key's command printed nothing");
  return key;
}

}  // namespace

KeySource key_source_from(std::string_view text) {
  using Kind = KeySource::Kind;
  if (text.starts_with("env:")) return {Kind::environment, std::string(trim(text.substr(4)))};
  if (text.starts_with("cmd:")) return {Kind::command, std::string(trim(text.substr(4)))};
  auto words = std::string(trim(text));
  return {words.empty() ? Kind::none : Kind::words, std::move(words)};
}

std::string describe(const KeySource& source) {
  switch (source.kind) {
    case KeySource::Kind::none:
      return "none";
    case KeySource::Kind::words:
      return "set";
    case KeySource::Kind::environment:
      return "env:" + source.value;
    case KeySource::Kind::command:
      return "cmd";
  }
  return "none";
}

Result<std::string> read_key(const KeySource& source, std::chrono::milliseconds patience,
                             std::stop_token stop) {
  switch (source.kind) {
    case KeySource::Kind::none:
      return std::string();
    case KeySource::Kind::words:
      return source.value;
    case KeySource::Kind::environment: {
      const char* value = std::getenv(source.value.c_str());
      if (!value || !*value)
        return Error(Errc::not_found,
                     fmt::format("the variable {} is not set where the daemon runs", source.value));
      return std::string(trim(value));
    }
    case KeySource::Kind::command:
      return run_command(source.value, patience, stop);
  }
  return std::string();
}

}  // namespace reef::model
