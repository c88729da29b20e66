#include "support/daemon_process.h"

#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

namespace reef::test {
namespace {

constexpr int kReadyMs = 30'000;

}  // namespace

DaemonProcess::DaemonProcess(std::string home) : home_(std::move(home)) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const Fd ready(ends[0]);
  Fd theirs(ends[1]);
  const std::string program = std::string(REEF_BIN) + "/reefd";
  const auto ready_text = std::to_string(theirs.get());
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    ::fcntl(theirs.get(), F_SETFD, 0);
    ::execl(program.c_str(), "reefd", "--home", home_.c_str(), "--ready-fd", ready_text.c_str(),
            "--no-policy", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  theirs.reset();
  pollfd wait_for = {ready.get(), POLLIN, 0};
  char text[16];
  if (::poll(&wait_for, 1, kReadyMs) <= 0 || ::read(ready.get(), text, sizeof text) <= 0) {
    kill9();
    throw std::runtime_error("reefd did not become ready");
  }
}

DaemonProcess::~DaemonProcess() {
  kill9();
}

void DaemonProcess::signal(int number) const {
  ::kill(pid_, number);
}

void DaemonProcess::kill9() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  int ignored = 0;
  ::waitpid(pid_, &ignored, 0);
  pid_ = -1;
}

std::optional<int> DaemonProcess::wait_for_exit(std::chrono::milliseconds patience) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd wait_for = {process.get(), POLLIN, 0};
  if (::poll(&wait_for, 1, static_cast<int>(patience.count())) <= 0) return std::nullopt;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  if (!WIFEXITED(status)) return std::nullopt;
  return WEXITSTATUS(status);
}

std::uint64_t DaemonProcess::memory(const std::string& field) const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(field + ":")) continue;
    std::istringstream words(line.substr(field.size() + 1));
    std::uint64_t kilobytes = 0;
    words >> kilobytes;
    return kilobytes * 1024;
  }
  throw std::runtime_error("no " + field);
}

client::Endpoint DaemonProcess::endpoint() const {
  client::Endpoint endpoint;
  endpoint.unix_path = home_ + "/run/reefd.sock";
  return endpoint;
}

void add_scripted_agent(const std::string& home, const std::string& name,
                        const std::string& script_json) {
  std::string config;
  if (exists(home + "/config.toml")) config = read_file(home + "/config.toml");
  config += "\n[providers." + name + "]\nkind = \"scripted\"\nscript = \"" + name + ".json\"\n";
  write_file(home + "/config.toml", config);
  write_file(home + "/" + name + ".json", script_json);
  write_file(home + "/agents/" + name + ".toml", "model = \"" + name + "/m\"\n");
}

}  // namespace reef::test
