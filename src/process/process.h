// Children of the daemon: each has its own session, process group and pipes. Whoever starts one
// stops it. Loop thread only.
//
// Between the daemon and each child runs a keeper, a tiny program of its own (keeper/keeper.cpp),
// which adopts whatever the child leaves behind. When the Child is destroyed or the daemon dies for
// any reason, it kills them all, also those that left the group or became daemons.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"

namespace reef::process {

// The limits the kernel sets for a child; what_is_missing() names those this kernel cannot set.
// docs/sandbox.md tells exactly what each member covers.
struct Sandbox {
  bool read_only = false;   // nothing may be written, made or removed, except in `writable`
  bool no_network = false;  // no sockets, except connected pairs
  std::vector<std::filesystem::path> writable = {};  // these, and what is in them; they must exist
};

struct Command {
  std::vector<std::string> argv;   // argv[0] is looked up in PATH of `environment`
  std::filesystem::path cwd = {};  // empty: the daemon's
  // The whole environment of the child; nothing is inherited.
  std::map<std::string, std::string> environment = {};
  bool keep_stdin = false;    // false: it reads /dev/null
  bool merge_output = false;  // stderr goes where stdout goes
  std::optional<Sandbox> sandbox = {};
  std::optional<unsigned> umask = {};  // none: the daemon's
};

struct Exit {
  int code = 0;    // when it ended by itself
  int signal = 0;  // 0: none
};

// Destroying it kills the child and everything it started (SIGKILL); all are reaped in any case.
// None of them outlives the daemon, however that ends.
class Child {
 public:
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The child's pid, which is also the number of its group and session.
  int pid() const;
  // Some bytes of stdout or stderr; nullopt at the end, which comes when every process that holds
  // the pipe is gone. Cancellable. One reader each.
  Task<Result<std::optional<std::string>>> read_output();
  Task<Result<std::optional<std::string>>> read_errors();
  // Writes all bytes. Fails when the child has closed its stdin. One writer.
  Task<Status> write_input(std::string bytes);
  void close_input();
  // Waits for the child itself; its processes in the background run on until this is destroyed.
  // Cancelling the wait leaves the child running.
  Task<Exit> wait();
  // Signals the whole group; does nothing when it is gone.
  void signal_group(int number);

 private:
  friend Task<Result<std::unique_ptr<Child>>> start(Command command);
  struct State;
  explicit Child(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// Returns when the program runs. The error says what could not be run and why (no such program, no
// such folder, ...). A cancelled start leaves nothing running.
Task<Result<std::unique_ptr<Child>>> start(Command command);

// Names the limits of the sandbox that this kernel cannot set, in words for the user; empty when it
// can set all.
// everything.
std::string what_is_missing(const Sandbox& sandbox);

}  // namespace reef::process
