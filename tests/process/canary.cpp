#include "process/canary.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sched.h>

#include "base/task_group.h"
#include "process/children.h"
#include "support/run.h"

namespace reef::test {
namespace {

namespace fs = std::filesystem;

Fd listening_tcp(int& port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(fd.get(), 100) != 0)
    throw std::runtime_error("no TCP on loopback");
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return fd;
}

Fd bound_unix(const std::string& path, int type) {
  Fd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("no Unix socket at " + path);
  if (type == SOCK_STREAM) ::listen(fd.get(), 100);
  return fd;
}

int accepted(int listener) {
  int count = 0;
  for (; Fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)); ++count) {
  }
  return count;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Limits, priority and processors of a process, and whether it is alive.
std::string state_of(int pid) {
  const auto stat = first_line(fmt::format("/proc/{}/stat", pid));
  const auto after = stat.rfind(')');
  rlimit files{};
  ::prlimit(pid, RLIMIT_NOFILE, nullptr, &files);
  cpu_set_t processors;
  CPU_ZERO(&processors);
  ::sched_getaffinity(pid, sizeof processors, &processors);
  return fmt::format("{} nice {} files {} processors {} oom {}",
                     after == std::string::npos || stat[after + 2] == 'Z' ? "dead" : "alive",
                     ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid)), files.rlim_cur,
                     CPU_COUNT(&processors),
                     first_line(fmt::format("/proc/{}/oom_score_adj", pid)));
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

Canary::Canary(boost::asio::io_context& io) : io_(io) {
  tcp_ = listening_tcp(port_);
  stream_ = bound_unix(dir_ / "stream", SOCK_STREAM);
  datagrams_ = bound_unix(dir_ / "datagrams", SOCK_DGRAM);
  make_tree();
  restore();
}

void Canary::make_tree() {
  const auto made = run_command(io_, [this] {
    auto command = shell_command(R"(set -e
mkdir -p template/work/dir template/work/bin template/work/globs template/home template/outside
cd template
printf '[user]\nname = me\nemail = me@localhost\n[init]\ndefaultBranch = main\n' > home/.gitconfig
cd work
printf 'kept\nand more\n' > keep.txt
echo 1:2 > a.txt; echo b > b.txt; echo inner > dir/inner.txt; echo x > ../outside/x.txt
printf '#!/bin/sh\n: > new.txt\n' > bin/ls
echo 'touch new.txt' > evil.sh
echo 'w new.txt' > evil.sed
echo 'BEGIN { print "x" > "new.txt" }' > evil.awk
touch ./globs/-delete
printf 'all:\n\ttouch new.txt\n' > Makefile
seq 1 40000 > big.txt
echo fresh > fresh.txt; tar cf evil.tar fresh.txt; rm fresh.txt
chmod +x bin/ls evil.sh
ln -s keep.txt link.txt
ln -s ../outside outlink
git init -q --template= . ; git add keep.txt ; git commit -qm first; echo changed >> keep.txt
)");
    command.cwd = dir_.path();
    command.environment["HOME"] = dir_ / "template/home";
    command.merge_output = true;
    return command;
  }());
  if (made.exit.code != 0) throw std::runtime_error("no tree: " + made.output);
}

// Makes only touched files anew, because copying the whole tree some hundred times is slow.
void Canary::restore() {
  const fs::path root(dir_ / "root");
  const fs::path original(dir_ / "template");
  constexpr auto kAll = fs::copy_options::recursive | fs::copy_options::copy_symlinks;
  if (before_.empty()) fs::copy(original, root, kAll);
  auto now = files();
  for (const auto& [name, what] : now) {
    const auto was = before_.find(name);
    const bool folder = fs::is_directory(fs::symlink_status(root / name));
    const bool known = fs::is_directory(fs::symlink_status(original / name));
    if (!before_.empty() && (was == before_.end() || was->second != what) && !(folder && known))
      fs::remove_all(root / name);
  }
  for (const auto& [name, what] : before_)
    if (!name.starts_with(":") && !fs::exists(fs::symlink_status(root / name)))
      fs::copy(original / name, root / name, kAll);
  const bool hurt = before_.empty() || state_of(victim_->pid()) != before_.at(":victim");
  if (hurt) {
    process::Command sleeper;
    sleeper.argv = {"sleep", "10000"};
    victim_ = value_of(test::run(io_, process::start(std::move(sleeper))));
  }
  before_ = state();
}

Canary::State Canary::files() const {
  State found;
  for (const auto& entry : fs::recursive_directory_iterator(dir_ / "root")) {
    struct stat info {};
    ::lstat(entry.path().c_str(), &info);
    char attributes[256];
    const auto named = ::listxattr(entry.path().c_str(), attributes, sizeof attributes);
    std::string content;
    if (entry.is_symlink())
      content = fs::read_symlink(entry.path()).native();
    else if (entry.is_regular_file())
      content = std::to_string(std::hash<std::string>()(read_file(entry.path().native())));
    found[entry.path().lexically_relative(dir_ / "root").native()] =
        fmt::format("{:o} {} {} {}.{} {} {}", info.st_mode, info.st_uid, info.st_size,
                    info.st_mtim.tv_sec, info.st_mtim.tv_nsec, named, content);
  }
  return found;
}

Canary::State Canary::state() {
  auto found = files();
  char machine[256] = "";
  ::gethostname(machine, sizeof machine - 1);
  found[":victim"] = state_of(victim_->pid());
  found[":machine"] = fmt::format("{} {} {} {}", machine, first_line("/proc/sys/vm/swappiness"),
                                  ::time(nullptr) > 1'700'000'000,
                                  std::hash<std::string>()(read_file("/proc/self/mountinfo")));
  char byte = 0;
  int datagrams = 0;
  while (::recv(datagrams_.get(), &byte, 1, MSG_DONTWAIT) >= 0) ++datagrams;
  found[":connections"] =
      fmt::format("{} {} {}", accepted(tcp_.get()), accepted(stream_.get()), datagrams);
  return found;
}

std::string Canary::touched() {
  const auto after = state();
  std::string changed;
  for (const auto& [name, what] : after)
    if (const auto was = before_.find(name); was == before_.end() || was->second != what)
      changed += name + ": " + what + "\n";
  for (const auto& [name, what] : before_)
    if (!after.contains(name)) changed += name + " is gone\n";
  return changed;
}

// A signal may take a moment to show.
std::string Canary::touched_soon() {
  for (int tries = 0; tries < 100; ++tries) {
    if (auto found = touched(); !found.empty()) return found;
    ::usleep(10'000);
  }
  return {};
}

// Processes left in the background may hold the output open, so the end of the command counts.
Task<void> Canary::run_task(process::Command command, bool to_end, Outcome& outcome) {
  const auto child = value_of(co_await process::start(std::move(command)));
  TaskGroup reading(io_.get_executor(), "canary");
  struct Drain {
    static Task<void> all(process::Child& child, std::string& into) {
      for (;;) {
        const auto some = value_of(co_await child.read_output());
        if (!some) co_return;
        into += *some;
      }
    }
  };
  reading.spawn(Drain::all(*child, outcome.output));
  boost::asio::steady_timer limit(io_, std::chrono::seconds(10));
  limit.async_wait([&child](boost::system::error_code cancelled) {
    if (!cancelled) child->signal_group(SIGKILL);
  });
  const auto exit = co_await child->wait();
  limit.cancel();
  outcome.code = exit.signal != 0 ? 128 + exit.signal : exit.code;
  if (!to_end) reading.cancel();
  co_await reading.join();
}

Canary::Outcome Canary::run(std::string command, std::optional<process::Sandbox> sandbox,
                            bool to_end) {
  replace_all(command, "@PORT@", std::to_string(port_));
  replace_all(command, "@SOCK@", dir_ / "stream");
  replace_all(command, "@DGRAM@", dir_ / "datagrams");
  replace_all(command, "@PID@", std::to_string(victim_->pid()));
  auto made = shell_command(command);
  made.environment["HOME"] = dir_ / "root/home";
  made.cwd = dir_ / "root/work";
  made.sandbox = std::move(sandbox);
  Outcome outcome;
  test::run(io_, run_task(std::move(made), to_end, outcome));
  return outcome;
}

}  // namespace reef::test
