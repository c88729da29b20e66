// Processes under measurement: a scratch directory, a child, the daemon, and their resources.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "daemon/home.h"
#include "measure.h"

namespace reef::benchmarks {

// A new directory under $TMPDIR or /tmp, removed with its contents.
class Scratch {
 public:
  static Result<Scratch> make();
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  const std::string& path() const { return path_; }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Owns a child process: at the end of its scope it asks the child to stop and waits for its exit.
// The child also stops when this program dies.
class Child {
 public:
  // `inherited`, unless negative, becomes descriptor 3 in the child; the child's output goes to
  // `output`.
  static Result<Child> start(const std::vector<std::string>& command, const std::string& output,
                             int inherited = -1);
  explicit Child(int pid) : pid_(pid) {}
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Child& operator=(Child&&) = delete;
  ~Child() { stop(); }

  int pid() const { return pid_; }
  // Waits until it ends by itself; returns 0 if all went well. Call it once.
  int wait();
  // Sends SIGTERM, and SIGKILL after ten seconds.
  void stop();

 private:
  int pid_ = 0;  // 0 when there is no child
};

// Gives a home an agent that answers from a script; see talk.h.
Status make_home(const daemon::Home& home);

// Finds a program next to this one, or this one itself.
Result<std::string> find_program(std::string_view name);

struct RunningDaemon {
  Child process;
  Nanos start_up;  // from before the fork until clients can connect
};
// Starts the reefd next to this program.
Result<RunningDaemon> start_daemon(const daemon::Home& home);

struct Resident {
  double all_mib = 0;        // VmRSS
  double anonymous_mib = 0;  // RssAnon: excludes the pages of the program and its libraries
  double peak_mib = 0;       // VmHWM: the peak
};
Result<Resident> resident(int pid);

// The cores that this program may use.
std::vector<int> usable_cores();
// Binds the first thread of a process to these cores; pid 0 is the calling thread.
Status keep_on(int pid, const std::vector<int>& cores);

// From now on SIGINT, SIGTERM and SIGHUP end a measurement and not the program, so that daemons are
// stopped and scratch directories removed; SIGPIPE is ignored.
void catch_signals();
// Fails with cancelled after such a signal. Every long loop calls it.
Status check_interrupted();

void raise_descriptor_limit();
// Returns one line: cores, kernel, file system.
std::string describe_machine();

}  // namespace reef::benchmarks
