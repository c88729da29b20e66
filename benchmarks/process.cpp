#include "process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sched.h>

#include "base/assert.h"
#include "talk.h"

namespace reef::benchmarks {
namespace {

constexpr int kInheritedFd = 3;
constexpr int kReadyMs = 60'000;
constexpr int kStopMs = 10'000;

volatile std::sig_atomic_t interrupted = 0;

std::string scratch_parent() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen && *chosen ? chosen : "/tmp";
}

std::string file_system_name(const std::string& path) {
  struct statfs info = {};
  if (::statfs(path.c_str(), &info) != 0) return "an unknown file system";
  switch (info.f_type) {
    case EXT4_SUPER_MAGIC:
      return "ext4";
    case XFS_SUPER_MAGIC:
      return "xfs";
    case BTRFS_SUPER_MAGIC:
      return "btrfs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlayfs";
    case TMPFS_MAGIC:
      return "tmpfs (a sync costs nothing here: set TMPDIR to a disk)";
    default:
      return fmt::format("file system {:#x}", static_cast<unsigned long>(info.f_type));
  }
}

// Runs in the child between fork and exec, so it makes only system calls. Never returns.
[[noreturn]] void become(char* const* arguments, int output, int inherited, int parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(125);
  if (::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0) ::_exit(126);
  if (inherited == kInheritedFd) {
    ::fcntl(inherited, F_SETFD, 0);
  } else if (inherited >= 0 && ::dup2(inherited, kInheritedFd) < 0) {
    ::_exit(126);
  }
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

}  // namespace

Result<Scratch> Scratch::make() {
  auto path = scratch_parent() + "/reef-bench-XXXXXX";
  if (!::mkdtemp(path.data())) return sys_error(errno, "make a directory " + path);
  return Scratch(std::move(path));
}

Scratch::~Scratch() {
  if (path_.empty()) return;
  std::error_code failed;
  std::filesystem::remove_all(path_, failed);
  if (failed) fmt::print(stderr, "reef-bench: remove {}: {}\n", path_, failed.message());
}

Result<Child> Child::start(const std::vector<std::string>& command, const std::string& output,
                           int inherited) {
  std::vector<char*> arguments;
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const Fd out(::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!out) return sys_error(errno, "open " + output);
  const auto parent = ::getpid();
  const auto pid = ::fork();
  if (pid < 0) return sys_error(errno, "start " + command.front());
  if (pid == 0) become(arguments.data(), out.get(), inherited, parent);
  return Child(pid);
}

int Child::wait() {
  REEF_ASSERT(pid_ != 0);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return status;
}

void Child::stop() {
  if (pid_ == 0) return;
  const Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  ::kill(pid_, SIGTERM);
  pollfd wait_for = {ended.get(), POLLIN, 0};
  if (::poll(&wait_for, 1, kStopMs) <= 0) {
    fmt::print(stderr, "reef-bench: process {} did not stop in {} ms and is killed\n", pid_,
               kStopMs);
    ::kill(pid_, SIGKILL);
  }
  static_cast<void>(wait());
}

Result<std::string> find_program(std::string_view name) {
  char self[4096];
  const auto length = ::readlink("/proc/self/exe", self, sizeof self);
  if (length <= 0) return sys_error(errno, "find this program");
  std::string path(self, static_cast<std::size_t>(length));
  path.replace(path.find_last_of('/') + 1, std::string::npos, name);
  if (::access(path.c_str(), X_OK) != 0) return sys_error(errno, "find the program " + path);
  return path;
}

Status make_home(const daemon::Home& home) {
  PosixFiles files;
  REEF_CHECK(make_directories(files, home.agents()));
  REEF_CHECK(replace_atomically(files, home.config(),
                                "[providers.s]\nkind = \"scripted\"\nscript = \"s.json\"\n"));
  REEF_CHECK(replace_atomically(files, fmt::format("{}/{}.toml", home.agents(), kAgent),
                                "model = \"s/x\"\n"));
  return replace_atomically(
      files, home.root + "/s.json",
      fmt::format(R"({{"replies": [{{"text": "{}", "chunks": 8}}]}})", kReplyText));
}

Result<RunningDaemon> start_daemon(const daemon::Home& home) {
  REEF_TRY(const auto program, find_program("reefd"));
  PosixFiles files;
  REEF_CHECK(make_directories(files, home.root));
  const auto output = home.root + "/output.txt";
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return sys_error(errno, "make a pipe");
  const Fd ready(ends[0]);
  Fd tell(ends[1]);

  const auto began = now();
  REEF_TRY(auto child, Child::start({program, "--home", home.root, "--ready-fd",
                                     fmt::format("{}", kInheritedFd)},
                                    output, tell.get()));
  tell.reset();
  pollfd wait_for = {ready.get(), POLLIN, 0};
  char word[16];
  const bool said =
      ::poll(&wait_for, 1, kReadyMs) > 0 && ::read(ready.get(), word, sizeof word) > 0;
  const auto start_up = now() - began;
  if (!said) {
    const auto words = read_all(files, output);
    return Error(Errc::unavailable, fmt::format("the daemon on {} did not become ready: {}",
                                                home.root, words ? *words : "it said nothing"));
  }
  return RunningDaemon{std::move(child), start_up};
}

Result<Resident> resident(int pid) {
  const auto path = fmt::format("/proc/{}/status", pid);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  if (!file) return sys_error(errno, "open " + path);
  Resident out;
  char line[256];
  while (std::fgets(line, sizeof line, file.get())) {
    long kib = 0;
    if (std::sscanf(line, "VmRSS: %ld kB", &kib) == 1) out.all_mib = double(kib) / 1024;
    if (std::sscanf(line, "VmHWM: %ld kB", &kib) == 1) out.peak_mib = double(kib) / 1024;
    if (std::sscanf(line, "RssAnon: %ld kB", &kib) == 1) out.anonymous_mib = double(kib) / 1024;
  }
  if (out.all_mib <= 0) return Error(Errc::io, path + " has no VmRSS");
  return out;
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

Status keep_on(int pid, const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const auto core : cores) CPU_SET(core, &set);
  if (::sched_setaffinity(pid, sizeof set, &set) != 0)
    return sys_error(errno, fmt::format("keep process {} on a core", pid));
  return Ok{};
}

void catch_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

Status check_interrupted() {
  if (interrupted) return Error(Errc::cancelled, "interrupted");
  return Ok{};
}

void raise_descriptor_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

std::string describe_machine() {
  utsname kernel = {};
  static_cast<void>(::uname(&kernel));
  double load = 0;
  static_cast<void>(::getloadavg(&load, 1));
  return fmt::format("reef {}, {} cores, Linux {}, {} on {}, load before {:.1f}", REEF_VERSION,
                     std::thread::hardware_concurrency(), kernel.release, scratch_parent(),
                     file_system_name(scratch_parent()), load);
}

}  // namespace reef::benchmarks
