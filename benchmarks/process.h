// Processes under measurement: a scratch directory, a child, the daemon, and what they cost.
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

// A new directory under $TMPDIR or /tmp, removed with all that is in it.
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

// Owns a child process: asks it to stop and waits for its end when it goes out of scope. A child
// also stops when this program dies.
class Child {
 public:
  // `inherited`, when it is a descriptor, becomes number 3 in the child; its output goes to
  // `output`.
  static Result<Child> start(const std::vector<std::string>& command, const std::string& output,
                             int inherited = -1);
  explicit Child(int pid) : pid_(pid) {}
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Child& operator=(Child&&) = delete;
  ~Child() { stop(); }

  int pid() const { return pid_; }
  // Until it ends by itself; 0 when all went well. Once.
  int wait();
  // SIGTERM; SIGKILL when that has no effect for ten seconds.
  void stop();

 private:
  int pid_ = 0;  // 0: none
};

// Gives a home an agent that answers from a script, see talk.h.
Status make_home(const daemon::Home& home);

// A program that lies beside this one, or this one itself.
Result<std::string> find_program(std::string_view name);

struct RunningDaemon {
  Child process;
  Nanos start_up;  // from before the fork until it said that clients can connect
};
// The reefd that lies beside this program.
Result<RunningDaemon> start_daemon(const daemon::Home& home);

struct Resident {
  double all_mib = 0;        // VmRSS
  double anonymous_mib = 0;  // RssAnon: without the pages of the program and its libraries
  double peak_mib = 0;       // VmHWM: the most it ever was
};
Result<Resident> resident(int pid);

// The cores this program may use.
std::vector<int> usable_cores();
// Keeps the first thread of a process on these cores; pid 0 is the calling thread.
Status keep_on(int pid, const std::vector<int>& cores);

// From now on SIGINT, SIGTERM and SIGHUP end a measurement instead of the program, so that daemons
// are stopped and scratch directories removed; SIGPIPE does nothing.
void catch_signals();
// cancelled after one of them. Called in every long loop.
Status check_interrupted();

void raise_descriptor_limit();
// One line: cores, kernel, file system.
std::string describe_machine();

}  // namespace reef::benchmarks
